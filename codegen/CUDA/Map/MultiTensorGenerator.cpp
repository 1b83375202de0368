//===- MultiTensorGenerator.cpp - one element-wise function over many tensors -----------------===//
//
// A block takes a piece of the table. The text knows no size: updates of all sizes share it.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Generators.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "passes/Conversion/FlatLayout.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const uint32_t threads = 256, threadsOfTotals = 32;

namespace {
class MultiTensorGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-multi-tensor"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};

/// Writes the members of the problem that the skeleton asks for.
class MemberPrinter {
public:
  explicit MemberPrinter(const KernelSpec &spec) : spec(spec) {
    auto op = cast<dl::MultiTensorOp>(spec.anchorOp());
    streams = op.getStreams();
    each = op.getEach().size();
    scalars = op.getScalars().size();
    results = op.getResultStreams();
    sums = op.getSums();
    isNumbered = op.getNumbered();
  }

  void add(KernelText &text) const;

private:
  std::string given() const;
  std::string caller(bool quads) const;
  std::string tables() const;
  std::string typeOf(unsigned operand) const {
    return storedTypeName(spec.operandTypes()[operand].getElementType());
  }
  std::string resultType(unsigned result) const {
    return storedTypeName(spec.resultTypes()[result].getElementType());
  }

  const KernelSpec &spec;
  unsigned streams, each, scalars, results, sums;
  bool isNumbered;
};
} // namespace

/// What all sums are added up in: the widest type of them.
static Type totalType(dl::MultiTensorOp op) {
  Builder builder(op.getContext());
  for (int64_t sum = 0; sum < int64_t(op.getSums()); ++sum)
    if (getElementTypeOrSelf(op.getSum(sum)).isF64())
      return builder.getF64Type();
  return builder.getF32Type();
}

SmallVector<Candidate> MultiTensorGenerator::schedules(const KernelSpec &spec,
                                                       const CudaTarget &target) const {
  if (spec.anchor() != Anchor::MultiTensor)
    return {};
  auto op = cast<dl::MultiTensorOp>(spec.anchorOp());
  for (int64_t sum = 0; sum < int64_t(op.getSums()); ++sum)
    if (!getElementTypeOrSelf(op.getSum(sum)).isF32() &&
        !getElementTypeOrSelf(op.getSum(sum)).isF64())
      return {};
  int64_t pieces = FlatLayout(op).pieces().size();
  Candidate candidate;
  candidate.schedule = "multi_tensor";
  candidate.phases.push_back({uint64_t(std::max<int64_t>(pieces, 1)), 0});
  if (op.getSums() != 0) {
    candidate.phases.push_back({uint64_t(op.getCount()), 0});
    candidate.workspaceBytes =
        std::max<int64_t>(pieces, 1) * op.getSums() * program::elementBytes(totalType(op));
    candidate.phases.back().sideBytes = candidate.workspaceBytes;
  }
  candidate.cost =
      target.machine.kernelSeconds(spec.bytes(), spec.flops(), candidate.phases.size());
  return {candidate};
}

/// struct Given { ... }; given(tensor, start)
std::string MemberPrinter::given() const {
  std::string members, values;
  for (unsigned i = 0; i < each + scalars; ++i) {
    std::string n = std::to_string(streams + i);
    members += "    " + typeOf(streams + i) + " x" + n + ";\n";
    values += (i == 0 ? "x" : ", x") + n + (i < each ? "[tensor]" : "[0]");
  }
  if (isNumbered) {
    members += "    int start;\n";
    values += values.empty() ? "start" : ", start";
  }
  return "  struct Given {\n" + members +
         "  };\n  __device__ Given given(int tensor, int start) const { return {" + values +
         "}; }\n";
}

/// name(elements, given, results, sums): `four` with quads, or `one`.
std::string MemberPrinter::caller(bool quads) const {
  std::string before, arguments, after, suffix = quads ? ".v[l]" : "";
  auto type = [&](const std::string &element) { return quads ? "Quad<" + element + ">" : element; };
  auto argument = [&](const std::string &text) {
    arguments += (arguments.empty() ? "" : ", ") + text;
  };
  for (unsigned i = 0; i < streams; ++i) {
    std::string n = std::to_string(i);
    before += "    " + type(typeOf(i)) + " a" + n + " = " +
              (quads ? "loadQuad(x" + n + ", i);\n" : "x" + n + "[i];\n");
    argument("a" + n + suffix);
  }
  for (unsigned i = 0; i < each + scalars; ++i)
    argument("given.x" + std::to_string(streams + i));
  if (isNumbered)
    argument(quads ? "i + l - given.start" : "i - given.start");
  for (unsigned i = 0; i < results; ++i) {
    std::string n = std::to_string(i);
    before += "    " + type(resultType(i)) + " r" + n + ";\n";
    argument("r" + n + suffix);
    after +=
        quads ? "    storeQuad(y" + n + ", i, r" + n + ");\n" : "    y" + n + "[i] = r" + n + ";\n";
  }
  std::string add;
  for (unsigned i = 0; i < sums; ++i) {
    std::string n = std::to_string(i);
    before += "    " + resultType(results + i) + " t" + n + ";\n";
    argument("t" + n);
    add += " sums.v[" + n + "] += t" + n + ";";
  }
  std::string call = "body(" + arguments + ");" + add;
  std::string loop = quads ? "#pragma unroll\n    for (int l = 0; l < 4; ++l) { " + call + " }\n"
                           : "    " + call + "\n";
  return std::string("  template <class Sums> __device__ void ") + (quads ? "four" : "one") +
         "(int i, const Given &given, Sums &sums) const {\n" + before + loop + after + "  }\n";
}

/// The tables under the names that the skeleton knows, and how a sum is stored.
std::string MemberPrinter::tables() const {
  unsigned number = streams + each + scalars;
  auto access = [&](StringRef type, StringRef name, StringRef parameters,
                    const std::string &value) {
    return ("  __device__ " + type + " " + name + "(" + parameters + ") const { " + value + "; }\n")
        .str();
  };
  std::string pieces = "x" + std::to_string(number), firsts = "x" + std::to_string(number + 1);
  std::string text = access("int", "piece", "int row, int column",
                            "return int(" + pieces + "[" +
                                std::to_string(FlatLayout::pieceColumns) + " * row + column])");
  if (sums == 0)
    return text;
  std::string stores;
  for (unsigned i = 0; i < sums; ++i)
    stores += "    if (sum == " + std::to_string(i) + ")\n      y" + std::to_string(results + i) +
              "[tensor] = value;\n";
  return text + access("int", "first", "int tensor", "return int(" + firsts + "[tensor])") +
         "  __device__ void total(int sum, int tensor, Total value) const {\n" + stores + "  }\n";
}

void MemberPrinter::add(KernelText &text) const {
  text.members(given());
  for (bool quads : {true, false})
    text.members(caller(quads));
  text.members(tables());
}

FailureOr<KernelText> MultiTensorGenerator::write(const KernelSpec &spec,
                                                  const Candidate &candidate) const {
  auto op = cast<dl::MultiTensorOp>(spec.anchorOp());
  Block &block = op.getBody().front();
  FailureOr<KernelSpec> inner = KernelSpec::get(block);
  if (failed(inner))
    return failure();
  KernelText text(spec, {"multi_tensor"});
  text.constant("THREADS", threads);
  text.constant("SUMS", op.getSums());
  text.type("Total", storedTypeName(totalType(op)));
  if (op.getSums() != 0)
    text.workspace(totalType(op));

  DeviceFunction function(spec, "body", {});
  SmallVector<Value> given;
  for (auto [number, type] : llvm::enumerate(block.getArgumentTypes()))
    given.push_back(function.addValue("a" + std::to_string(number), getElementTypeOrSelf(type)));
  BodyEmitter body = function.body(*inner, [&](unsigned number) { return given[number]; });
  unsigned results = op.getResultStreams();
  for (auto [number, value] : llvm::enumerate(block.back().getOperands())) {
    std::string name =
        number < results ? "r" + std::to_string(number) : "t" + std::to_string(number - results);
    if (failed(function.assign(name, getElementTypeOrSelf(value), body.emit(value, {}))))
      return failure();
  }
  if (failed(text.add(function)))
    return failure();
  MemberPrinter(spec).add(text);
  text.phase(threads, "multiTensor");
  if (op.getSums() != 0)
    text.phase(threadsOfTotals, "multiTensorTotals");
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaMultiTensorGenerator() {
  return std::make_unique<MultiTensorGenerator>();
}
