//===- RowPassesGenerator.cpp - softmax, norms: what needs all of a row first -----------------===//
//
// A block, or a warp of it, takes a row and goes over it pass by pass, see row_passes.cuh: a pass
// computes the reductions that wait for no more than those of the passes before, and stores the
// results that do.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Generators.h"
#include "codegen/CUDA/Text/Anchors.h"
#include "dialects/DL/Facts/Rows.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {
class RowPassesGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-row-passes"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};

/// Writes the functions that the skeleton asks for.
class RowPassesPrinter {
public:
  RowPassesPrinter(KernelText &text, dl::Rows shape)
      : text(text), spec(text.spec), shape(shape), axes(spec.reductions().front()) {}

  LogicalResult print();

private:
  LogicalResult printRow();
  LogicalResult printReductions(unsigned pass);
  LogicalResult printStores(unsigned pass);
  LogicalResult printStoresOfRow();

  /// Adds the row's values that are known in `pass` as parameters.
  SmallVector<Value> addKnown(DeviceFunction &function, unsigned pass) const;
  std::string knownArguments(unsigned pass) const;
  bool isKnown(unsigned number, unsigned pass) const {
    return spec.passOf(spec.anchorResults()[number]) <= pass;
  }
  LogicalResult storeAll(DeviceFunction &function, BodyEmitter &body, const Point &point,
                         ArrayRef<unsigned> numbers);
  /// Results that have an element for each of a row's, or one for the row, and are computed in
  /// `pass`.
  SmallVector<unsigned> resultsOf(bool ofElements, std::optional<unsigned> pass) const;

  KernelText &text;
  const KernelSpec &spec;
  const dl::Rows shape;
  const ReducedAxes axes;
  std::string calls;
};
} // namespace

/// Rows of a block: several if each takes a warp only.
static int64_t rowsPerBlock(int64_t threads) { return threads == 32 ? 4 : 1; }

static bool isOfElements(const KernelSpec &spec, dl::Rows shape, unsigned number) {
  return spec.resultTypes()[number].getNumElements() == shape.count * shape.length;
}

SmallVector<Candidate> RowPassesGenerator::schedules(const KernelSpec &spec,
                                                     const CudaTarget &target) const {
  std::optional<dl::Rows> shape = spec.rows();
  if (!shape)
    return {};
  // Some elements of a row for each thread.
  const int64_t threads = std::clamp<int64_t>(llvm::PowerOf2Ceil(shape->length) / 8, 32, 256);
  Candidate candidate;
  candidate.schedule = "row passes threads " + std::to_string(threads);
  candidate.parameters = threads;
  candidate.phases.push_back({blocksFor(shape->count, rowsPerBlock(threads)), 0});
  unsigned last = 0;
  for (Value result : spec.block().back().getOperands())
    last = std::max(last, spec.passOf(result));
  // Each pass reads all of the row, what others have stored in its place too.
  for (unsigned number = 0; number < spec.resultTypes().size(); ++number)
    if (isOfElements(spec, *shape, number) && spec.passOf(spec.result(number)) != last)
      candidate.inPlace = false;
  candidate.cost = target.machine.kernelSeconds(spec.bytes(), spec.flops(), 1);
  return {candidate};
}

SmallVector<unsigned> RowPassesPrinter::resultsOf(bool ofElements,
                                                  std::optional<unsigned> pass) const {
  SmallVector<unsigned> numbers;
  for (unsigned number = 0; number < spec.resultTypes().size(); ++number)
    if (isOfElements(spec, shape, number) == ofElements &&
        (!pass || spec.passOf(spec.result(number)) == *pass))
      numbers.push_back(number);
  return numbers;
}

SmallVector<Value> RowPassesPrinter::addKnown(DeviceFunction &function, unsigned pass) const {
  SmallVector<Value> known(spec.anchorResults().size());
  for (auto [number, value] : llvm::enumerate(known))
    if (isKnown(number, pass))
      value = function.addSum("a" + std::to_string(number),
                              getElementTypeOrSelf(spec.anchorResults()[number]));
  return known;
}

std::string RowPassesPrinter::knownArguments(unsigned pass) const {
  std::string arguments;
  for (unsigned number = 0; number < spec.anchorResults().size(); ++number)
    if (isKnown(number, pass))
      arguments += ", row.a" + std::to_string(number);
  return arguments;
}

LogicalResult RowPassesPrinter::storeAll(DeviceFunction &function, BodyEmitter &body,
                                         const Point &point, ArrayRef<unsigned> numbers) {
  // All are computed before one is stored: it may lie in an operand's memory.
  for (unsigned number : numbers)
    if (!body.emitStored(spec.result(number), point))
      return failure();
  for (unsigned number : numbers)
    if (failed(function.store(body, number, point)))
      return failure();
  return success();
}

LogicalResult RowPassesPrinter::printRow() {
  std::string fields;
  for (auto [number, value] : llvm::enumerate(spec.anchorResults())) {
    std::string type = computedTypeName(accumulatorType(getElementTypeOrSelf(value)));
    if (type.empty())
      return failure();
    fields += "    " + type + " a" + std::to_string(number) + ";\n";
  }
  text.members("  struct Row {\n" + fields + "  };\n");
  return success();
}

LogicalResult RowPassesPrinter::printReductions(unsigned pass) {
  SmallVector<dl::ReductionOp> reductions;
  std::string keeps;
  unsigned first = 0;
  for (dl::ReductionOp op : spec.reductions()) {
    if (spec.passOf(op.getReduced()) == pass)
      reductions.push_back(op);
  }
  if (reductions.empty())
    return success();
  const std::string totals = "Totals" + std::to_string(pass);
  unsigned own = 0;
  for (dl::ReductionOp op : spec.reductions())
    for (unsigned i = 0; i < op->getNumResults(); ++i, ++first)
      if (spec.passOf(op.getReduced()) == pass)
        keeps += llvm::formatv(" row.a{0} = v.{1};", first, totalMember(reductions, own++));
  std::string members = totalsStruct(reductions, totals), values, adds;
  if (members.empty())
    return failure();
  text.members(members);
  for (auto [number, op] : llvm::enumerate(reductions)) {
    const std::string name = "element" + std::to_string(pass) + "of" + std::to_string(number);
    DeviceFunction function(spec, name, {"k", "r"});
    SmallVector<Value> known = addKnown(function, pass);
    BodyEmitter body = function.body([&](unsigned number, const Point &) { return known[number]; });
    Point point = reducedPoint(function, axes);
    Value element = body.emit(op.getReduced(), point);
    if (!element)
      return failure();
    // The last one stores: before it all have loaded what a result may lie in.
    if (number + 1 == reductions.size() &&
        failed(storeAll(function, body, point, resultsOf(true, pass))))
      return failure();
    function.returns(element);
    if (failed(text.add(function)))
      return failure();
    values += llvm::formatv("    auto e{0} = {1}(k, r{2});\n", number, name, knownArguments(pass));
    adds += llvm::formatv("    v.r{0}.add(e{0});\n", number);
  }
  text.members(llvm::formatv("  __device__ void add({0} &v, const Row &row, int k, int r) const "
                             "{{\n{1}{2}  }\n"
                             "  __device__ void keep(const {0} &v, Row &row) const {{{3} }\n",
                             totals, values, adds, keeps)
                   .str());
  calls += "    reducePass<" + totals + ">(*this, row, k);\n";
  return success();
}

/// Of a pass without reductions: the last one.
LogicalResult RowPassesPrinter::printStores(unsigned pass) {
  DeviceFunction function(spec, "storeElement", {"k", "r"});
  SmallVector<Value> known = addKnown(function, pass);
  BodyEmitter body = function.body([&](unsigned number, const Point &) { return known[number]; });
  if (failed(storeAll(function, body, reducedPoint(function, axes), resultsOf(true, pass))) ||
      failed(text.add(function)))
    return failure();
  text.members("  __device__ void store(const Row &row, int k, int r) const { storeElement(k, r" +
               knownArguments(pass) + "); }\n");
  calls += "    storePass(*this, row, k);\n";
  return success();
}

LogicalResult RowPassesPrinter::printStoresOfRow() {
  const SmallVector<unsigned> numbers = resultsOf(false, std::nullopt);
  const unsigned last = std::numeric_limits<unsigned>::max();
  std::string call;
  if (!numbers.empty()) {
    DeviceFunction function(spec, "storeOfRow", {"k"});
    SmallVector<Value> known = addKnown(function, last);
    BodyEmitter body = function.body([&](unsigned number, const Point &) { return known[number]; });
    Point point = DeviceFunction::linearPoint(function.index(0), shape.count);
    for (unsigned number : numbers)
      if (spec.resultTypes()[number].getNumElements() != shape.count ||
          program::PhysicalLayout::get(spec.resultTypes()[number]).elements != shape.count)
        return failure();
    if (failed(storeAll(function, body, point, numbers)) || failed(text.add(function)))
      return failure();
    call = " storeOfRow(k" + knownArguments(last) + ");";
  }
  text.members("  __device__ void storeRow(const Row &row, int k) const {" + call + " }\n");
  return success();
}

LogicalResult RowPassesPrinter::print() {
  for (unsigned number : resultsOf(true, std::nullopt))
    if (program::PhysicalLayout::get(spec.resultTypes()[number]).elements !=
        shape.count * shape.length)
      return failure();
  text.constant("COUNT", shape.count);
  text.constant("LENGTH", shape.length);
  if (failed(printRow()))
    return failure();
  unsigned reducing = 0;
  for (dl::ReductionOp op : spec.reductions())
    reducing = std::max(reducing, spec.passOf(op.getReduced()) + 1);
  for (unsigned pass = 0; pass < reducing; ++pass)
    if (failed(printReductions(pass)))
      return failure();
  if (!resultsOf(true, reducing).empty() && failed(printStores(reducing)))
    return failure();
  text.members("  __device__ void passes(Row &row, int k) const {\n" + calls + "  }\n");
  return printStoresOfRow();
}

FailureOr<KernelText> RowPassesGenerator::write(const KernelSpec &spec,
                                                const Candidate &candidate) const {
  const uint32_t threads = *candidate.parameters.getAsInteger();
  KernelText text(spec, {"reductions", "reduce_rows", "row_passes"});
  text.constant("THREADS", threads);
  text.constant("ROWS", rowsPerBlock(threads));
  if (failed(RowPassesPrinter(text, *spec.rows()).print()))
    return failure();
  text.phase(threads * rowsPerBlock(threads), "rowPasses");
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaRowPassesGenerator() {
  return std::make_unique<RowPassesGenerator>();
}
