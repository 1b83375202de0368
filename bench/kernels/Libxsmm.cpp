//===- Libxsmm.cpp - see Libxsmm.h ------------------------------------------------------------===//
#include "bench/kernels/Libxsmm.h"
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <libxsmm_dnn.h>

using namespace dlc::bench;

namespace {

/// Zeros, aligned as libxsmm-dnn's own benchmarks align theirs.
class Memory {
public:
  explicit Memory(size_t bytes) {
    constexpr size_t alignment = 2097152;
    const size_t whole = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    memory.reset(static_cast<float *>(std::aligned_alloc(alignment, whole)));
    std::memset(memory.get(), 0, whole);
  }
  float *data() const { return memory.get(); }

private:
  struct Free {
    void operator()(float *p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> memory;
};

/// An axis in blocks: how far blocks lie from each other, and elements within one.
struct Axis {
  int64_t extent = 1, block = 1, outer = 0, inner = 0;
  int64_t place(int64_t i) const { return i / block * outer + i % block * inner; }
};

/// Where the elements of a tensor stand, whose axes are named in their plain order.
struct Order {
  std::array<Axis, 4> axes;
  int64_t first = 0, size = 0; ///< of element 0; of all, with what is between them

  template <typename Copy> void forEach(Copy copy) const {
    int64_t plain = 0;
    for (int64_t a = 0; a < axes[0].extent; ++a)
      for (int64_t b = 0; b < axes[1].extent; ++b)
        for (int64_t c = 0; c < axes[2].extent; ++c)
          for (int64_t d = 0; d < axes[3].extent; ++d)
            copy(plain++,
                 first + axes[0].place(a) + axes[1].place(b) + axes[2].place(c) + axes[3].place(d));
  }
};

/// Operands and result as the library stores them.
class LibxsmmRival : public Rival {
public:
  LibxsmmRival(const std::array<Order, 3> &orders, const float *first, const float *second)
      : resultOrder(orders[2]), a(import(orders[0], first)), b(import(orders[1], second)),
        c(4 * orders[2].size) {}
  void result(float *target) override {
    resultOrder.forEach([&](int64_t plain, int64_t place) { target[plain] = c.data()[place]; });
  }
  std::string name() const override { return "libxsmm-dnn with libxsmm " LIBXSMM_VERSION; }

private:
  static Memory import(const Order &order, const float *plainData) {
    Memory memory(4 * order.size);
    order.forEach([&](int64_t plain, int64_t place) { memory.data()[place] = plainData[plain]; });
    return memory;
  }

  const Order resultOrder;

protected:
  const Memory a, b, c;
};

class ConvolutionRival : public LibxsmmRival {
public:
  ConvolutionRival(const std::array<Order, 3> &orders, const float *first, const float *second,
                   Direction direction, const libxsmm_dnn_conv_config &config)
      : LibxsmmRival(orders, first, second), direction(direction), config(config),
        scratch(config.scratch_size) {}
  ~ConvolutionRival() override { destroy_libxsmm_dnn_conv(&config); }
  void run(bool) override {
    switch (direction) {
    case Direction::Forward:
      return libxsmm_dnn_conv_fwd_exec(config, b.data(), a.data(), c.data(), nullptr, nullptr, 0, 0,
                                       scratch.data());
    case Direction::BackwardData:
      return libxsmm_dnn_conv_bwd_exec(config, nullptr, b.data(), a.data(), c.data(), nullptr, 0, 0,
                                       scratch.data());
    case Direction::BackwardFilter:
      return libxsmm_dnn_conv_upd_exec(config, a.data(), b.data(), c.data(), nullptr, 0, 0,
                                       scratch.data());
    }
  }

private:
  Direction direction;
  libxsmm_dnn_conv_config config;
  Memory scratch;
};

class LinearForwardRival : public LibxsmmRival {
public:
  LinearForwardRival(const std::array<Order, 3> &orders, const float *first, const float *second,
                     const libxsmm_dnn_fc_fwd_config &config)
      : LibxsmmRival(orders, first, second), config(config), scratch(config.scratch_size) {}
  ~LinearForwardRival() override { destroy_libxsmm_dnn_fc_fwd(&config); }
  void run(bool) override {
    libxsmm_dnn_fc_fwd_exec_f32(config, b.data(), a.data(), c.data(), nullptr, nullptr, 0, 0,
                                scratch.data());
  }

private:
  libxsmm_dnn_fc_fwd_config config;
  Memory scratch;
};

class LinearBackwardRival : public LibxsmmRival {
public:
  LinearBackwardRival(const std::array<Order, 3> &orders, const float *first, const float *second,
                      bool filter, const libxsmm_dnn_fc_bwd_config &config)
      : LibxsmmRival(orders, first, second), filter(filter), config(config),
        scratch(config.scratch_size) {}
  ~LinearBackwardRival() override { destroy_libxsmm_dnn_fc_bwd(&config); }
  void run(bool) override {
    if (filter)
      libxsmm_dnn_fc_bwd_exec_f32(config, nullptr, nullptr, a.data(), c.data(), b.data(), nullptr,
                                  nullptr, LIBXSMM_DNN_FC_PASS_BWD_W, 0, 0, scratch.data());
    else
      libxsmm_dnn_fc_bwd_exec_f32(config, b.data(), c.data(), a.data(), nullptr, nullptr, nullptr,
                                  nullptr, LIBXSMM_DNN_FC_PASS_BWD_D, 0, 0, scratch.data());
  }

private:
  const bool filter;
  libxsmm_dnn_fc_bwd_config config;
  Memory scratch;
};

} // namespace

/// n, c, y and x as [n][c / block][y][x][block], a padding of zeros around each image.
static Order imageOrder(int64_t batch, int64_t channels, int64_t extent, int64_t pad,
                        int64_t block) {
  const int64_t row = (extent + 2 * pad) * block, plane = (extent + 2 * pad) * row;
  return {{Axis{batch, 1, channels / block * plane}, Axis{channels, block, plane, 1},
           Axis{extent, 1, row}, Axis{extent, 1, block}},
          pad * row + pad * block,
          batch * channels / block * plane};
}

/// k, c, r and s as [k / block][c / block][r][s][c][k]; `turned` as [c / block][k / block][-r][-s]
/// [k][c].
static Order filterOrder(const Convolution &p, int64_t in, int64_t out, bool turned) {
  const int64_t tile = in * out, tap = p.kernel * tile, taps = p.kernel * tap;
  const Axis k = turned ? Axis{p.outChannels, out, taps, in}
                        : Axis{p.outChannels, out, p.inChannels / in * taps, 1};
  const Axis c = turned ? Axis{p.inChannels, in, p.outChannels / out * taps, 1}
                        : Axis{p.inChannels, in, taps, out};
  const int64_t sign = turned ? -1 : 1;
  return {{k, c, Axis{p.kernel, 1, sign * tap}, Axis{p.kernel, 1, sign * tile}},
          turned ? taps - tile : 0,
          p.outChannels / out * (p.inChannels / in) * taps};
}

std::unique_ptr<Rival> dlc::bench::makeLibxsmmConvolution(const Convolution &p, Direction direction,
                                                          int64_t block, const float *first,
                                                          const float *second) {
  const bool data = direction == Direction::BackwardData;
  if (p.groups != 1 || (data && p.inChannels <= 3))
    return nullptr;
  const auto f32 = LIBXSMM_DATATYPE_F32;
  const auto extent = libxsmm_blasint(p.extent), kernel = libxsmm_blasint(p.kernel),
             stride = libxsmm_blasint(p.stride), pad = libxsmm_blasint(p.pad),
             most = libxsmm_blasint(block);
  const int overwrite = 1, turnedBefore = 1, clearBorder = 0, threads = 1;
  const libxsmm_dnn_conv_config config = setup_libxsmm_dnn_conv(
      f32, f32, libxsmm_blasint(p.batch), extent, extent, libxsmm_blasint(p.inChannels),
      libxsmm_blasint(p.outChannels), kernel, kernel, stride, stride, pad, pad, pad, pad, pad, pad,
      most, most, threads, LIBXSMM_DNN_CONV_ELTWISE_FUSE_NONE, overwrite, turnedBefore,
      clearBorder);
  const int64_t in = config.ifmblock, out = config.ofmblock;
  const Order x = imageOrder(p.batch, p.inChannels, p.extent, p.pad, in),
              y = imageOrder(p.batch, p.outChannels, p.outExtent(), p.pad, out),
              w = filterOrder(p, in, out, data);
  const std::array<Order, 3> orders = direction == Direction::Forward ? std::array{x, w, y}
                                      : data                          ? std::array{y, w, x}
                                                                      : std::array{x, y, w};
  return std::make_unique<ConvolutionRival>(orders, first, second, direction, config);
}

/// Rows and columns in blocks of both: [row / rows][column / columns][rows][columns], or a block
/// with its columns outside.
static Order blockedMatrix(int64_t m, int64_t n, int64_t rows, int64_t columns, bool transposed) {
  const int64_t tile = rows * columns;
  return {{Axis{m, rows, n / columns * tile, transposed ? 1 : columns},
           Axis{n, columns, tile, transposed ? rows : 1}},
          0,
          m * n};
}

/// The largest block that divides them.
static int64_t blockOf(int64_t count, int64_t most) {
  int64_t block = std::min(count, most);
  while (count % block != 0)
    --block;
  return block;
}

std::unique_ptr<Rival> dlc::bench::makeLibxsmmLinear(const Linear &p, Direction direction,
                                                     int64_t most, const float *first,
                                                     const float *second) {
  const int64_t n = blockOf(p.batch, most), c = blockOf(p.in, most), k = blockOf(p.out, most);
  const Order x = blockedMatrix(p.batch, p.in, n, c, false),
              y = blockedMatrix(p.batch, p.out, n, k, false),
              w = blockedMatrix(p.out, p.in, k, c, true);
  const auto f32 = LIBXSMM_DATATYPE_F32;
  const int threads = 1;
  if (direction == Direction::Forward)
    return std::make_unique<LinearForwardRival>(
        std::array{x, w, y}, first, second,
        setup_libxsmm_dnn_fc_fwd(libxsmm_blasint(p.batch), libxsmm_blasint(p.in),
                                 libxsmm_blasint(p.out), libxsmm_blasint(n), libxsmm_blasint(c),
                                 libxsmm_blasint(k), threads, LIBXSMM_DNN_FC_ELTW_FUSE_NONE,
                                 LIBXSMM_DNN_FC_LAYOUT_PACKED, f32, f32, f32));
  const bool filter = direction == Direction::BackwardFilter;
  return std::make_unique<LinearBackwardRival>(
      filter ? std::array{y, x, w} : std::array{y, w, x}, first, second, filter,
      setup_libxsmm_dnn_fc_bwd(libxsmm_blasint(p.batch), libxsmm_blasint(p.in),
                               libxsmm_blasint(p.out), libxsmm_blasint(n), libxsmm_blasint(c),
                               libxsmm_blasint(k), threads, LIBXSMM_DNN_FC_ELTW_FUSE_NONE, f32, f32,
                               f32));
}
