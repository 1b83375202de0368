//===- Rival.cpp - see Rival.h ----------------------------------------------------------------===//
#include "bench/kernels/Rival.h"
#include <array>
#include <dnnl.hpp>
#include <optional>
#include <unordered_map>

using namespace dnnl;
using Tag = memory::format_tag;
using Type = memory::data_type;

namespace {

engine &cpu() {
  static engine instance(engine::kind::cpu, 0);
  return instance;
}

class PrimitiveRival : public dlc::bench::Rival {
public:
  void run(bool prepared) override {
    if (before && !prepared)
      before->run(queue);
    primitive.execute(queue, arguments);
    if (after)
      after->run(queue);
    queue.wait();
  }
  void result(float *target) override {
    memory plain(plainResult, cpu(), target);
    reorder(output, plain).execute(queue, output, plain);
    queue.wait();
  }
  std::string name() const override { return implementation; }

  /// Brings plain data into the layout that the primitive wants.
  memory import(const memory::desc &wanted, const memory::desc &plain, float *data) {
    memory from(plain, cpu(), data), to(wanted, cpu());
    reorder(from, to).execute(queue, from, to);
    queue.wait();
    return to;
  }

  /// The same of a filter, which lies as `stored`: each run brings it there.
  memory importFilter(const memory::desc &wanted, const memory::desc &stored,
                      const memory::desc &plain, float *data) {
    memory rowMajor = import(stored, plain, data);
    if (wanted == stored)
      return rowMajor;
    memory to(wanted, cpu());
    before.emplace(rowMajor, to);
    return to;
  }
  /// The same of a filter's gradient, on its way out; returns where the primitive writes it.
  memory exportFilter(const memory::desc &written, const memory::desc &stored) {
    memory from(written, cpu());
    output = from;
    if (written == stored)
      return from;
    output = memory(stored, cpu());
    after.emplace(from, output);
    return from;
  }

  struct Conversion {
    memory from, to;
    reorder primitive;
    Conversion(const memory &from, const memory &to) : from(from), to(to), primitive(from, to) {}
    void run(stream &queue) { primitive.execute(queue, from, to); }
  };

  stream queue{cpu()};
  primitive primitive;
  std::optional<Conversion> before, after; ///< of filters
  std::unordered_map<int, memory> arguments;
  memory output;
  memory::desc plainResult;
  std::string implementation;
};

} // namespace

static std::unique_ptr<PrimitiveRival> makeConvolution(const dlc::bench::Convolution &p,
                                                       dlc::bench::Direction direction, bool half,
                                                       float *source, float *other) {
  using dlc::bench::Direction;
  const memory::dims x{p.batch, p.inChannels, p.extent, p.extent},
      y{p.batch, p.outChannels, p.outExtent(), p.outExtent()}, stride{p.stride, p.stride},
      low{p.pad, p.pad}, high = low;
  memory::dims w{p.outChannels / p.groups, p.inChannels / p.groups, p.kernel, p.kernel};
  if (p.groups > 1)
    w.insert(w.begin(), p.groups);
  const Type type = half ? Type::bf16 : Type::f32;
  auto any = [type](const memory::dims &d) { return memory::desc(d, type, Tag::any); };
  const Tag filterTag = p.groups > 1 ? Tag::goihw : Tag::oihw;
  const memory::desc plainFilter(w, Type::f32, filterTag), storedFilter(w, type, filterTag);
  auto plain = [](const memory::dims &d) { return memory::desc(d, Type::f32, Tag::nchw); };
  const algorithm direct = algorithm::convolution_direct;
  convolution_forward::primitive_desc forward(
      {prop_kind::forward_training, direct, any(x), any(w), any(y), stride, low, high}, cpu());
  auto rival = std::make_unique<PrimitiveRival>();
  switch (direction) {
  case Direction::Forward: {
    rival->primitive = convolution_forward(forward);
    rival->implementation = forward.impl_info_str();
    rival->output = memory(forward.dst_desc(), cpu());
    rival->plainResult = plain(y);
    rival->arguments = {{DNNL_ARG_SRC, rival->import(forward.src_desc(), plain(x), source)},
                        {DNNL_ARG_WEIGHTS, rival->importFilter(forward.weights_desc(), storedFilter,
                                                               plainFilter, other)},
                        {DNNL_ARG_DST, rival->output}};
    break;
  }
  case Direction::BackwardData: {
    convolution_backward_data::primitive_desc d({direct, any(x), any(w), any(y), stride, low, high},
                                                cpu(), forward);
    rival->primitive = convolution_backward_data(d);
    rival->implementation = d.impl_info_str();
    rival->output = memory(d.diff_src_desc(), cpu());
    rival->plainResult = plain(x);
    rival->arguments = {
        {DNNL_ARG_DIFF_DST, rival->import(d.diff_dst_desc(), plain(y), source)},
        {DNNL_ARG_WEIGHTS, rival->importFilter(d.weights_desc(), storedFilter, plainFilter, other)},
        {DNNL_ARG_DIFF_SRC, rival->output}};
    break;
  }
  case Direction::BackwardFilter: {
    convolution_backward_weights::primitive_desc d(
        {direct, any(x), any(w), any(y), stride, low, high}, cpu(), forward);
    rival->primitive = convolution_backward_weights(d);
    rival->implementation = d.impl_info_str();
    rival->plainResult = plainFilter;
    rival->arguments = {
        {DNNL_ARG_SRC, rival->import(d.src_desc(), plain(x), source)},
        {DNNL_ARG_DIFF_DST, rival->import(d.diff_dst_desc(), plain(y), other)},
        {DNNL_ARG_DIFF_WEIGHTS, rival->exportFilter(d.diff_weights_desc(), storedFilter)}};
    break;
  }
  }
  return rival;
}

std::unique_ptr<dlc::bench::Rival> dlc::bench::makeConvolutionRival(const Convolution &p,
                                                                    Direction direction, bool half,
                                                                    float *source, float *other) {
  try {
    return makeConvolution(p, direction, half, source, other);
  } catch (const error &) {
    return nullptr;
  }
}

namespace {
class SgemmRival : public dlc::bench::Rival {
public:
  void run(bool) override {
    dnnl_sgemm(transposeA ? 'T' : 'N', transposeB ? 'T' : 'N', m, n, k, 1, a, transposeA ? m : k, b,
               transposeB ? k : n, 0, c.data(), n);
  }
  void result(float *target) override { std::copy(c.begin(), c.end(), target); }
  std::string name() const override { return "dnnl_sgemm"; }

  int64_t m, n, k;
  bool transposeA, transposeB;
  float *a, *b;
  std::vector<float> c;
};
} // namespace

/// Of bf16. `extents`: m, n and k.
static std::unique_ptr<PrimitiveRival> makeMatmul(std::array<int64_t, 3> extents, bool transposeA,
                                                  bool transposeB, float *a, float *b) {
  const auto [m, n, k] = extents;
  auto any = [](const memory::dims &d) { return memory::desc(d, Type::bf16, Tag::any); };
  auto plain = [](const memory::dims &d, bool transposed) {
    return memory::desc(d, Type::f32, transposed ? Tag::ba : Tag::ab);
  };
  const matmul::primitive_desc d({any({m, k}), any({k, n}), any({m, n})}, cpu());
  auto rival = std::make_unique<PrimitiveRival>();
  rival->primitive = matmul(d);
  rival->implementation = d.impl_info_str();
  rival->output = memory(d.dst_desc(), cpu());
  rival->plainResult = plain({m, n}, false);
  rival->arguments = {
      {DNNL_ARG_SRC, rival->import(d.src_desc(), plain({m, k}, transposeA), a)},
      {DNNL_ARG_WEIGHTS, rival->import(d.weights_desc(), plain({k, n}, transposeB), b)},
      {DNNL_ARG_DST, rival->output}};
  return rival;
}

std::unique_ptr<dlc::bench::Rival> dlc::bench::makeMatmulRival(int64_t m, int64_t n, int64_t k,
                                                               bool transposeA, bool transposeB,
                                                               bool half, float *a, float *b) {
  if (half)
    try {
      return makeMatmul({m, n, k}, transposeA, transposeB, a, b);
    } catch (const error &) {
      return nullptr;
    }
  auto rival = std::make_unique<SgemmRival>();
  rival->m = m, rival->n = n, rival->k = k;
  rival->transposeA = transposeA, rival->transposeB = transposeB;
  rival->a = a, rival->b = b;
  rival->c.resize(size_t(m * n));
  return rival;
}
