//===- Harness.cpp - see Harness.h ------------------------------------------------------------===//
#include "test/codegen/Harness.h"
#include "codegen/CPU/CpuTarget.h"
#include "codegen/Targets.h"
#include "dlc/abi.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "passes/DL/Simplify/Composites.h"
#include "runtime/Core/ModuleFile.h"
#include "test/codegen/InstructionReference.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace dlc;
using namespace dlc::test;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Memory
//===------------------------------------------------------------------------------------------===//

namespace {

/// `bytes` bytes that end where unreadable memory begins, but for what alignment takes. What stands
/// between their start and the unreadable memory before tells of writes.
class GuardedBuffer {
public:
  GuardedBuffer(size_t bytes, size_t alignment) : size(bytes) {
    size_t page = sysconf(_SC_PAGESIZE);
    mapped = (bytes + alignment + page - 1) / page * page + 2 * page;
    base = static_cast<char *>(
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base, page, PROT_NONE);
    mprotect(base + mapped - page, page, PROT_NONE);
    char *end = base + mapped - page;
    first = base + page;
    start = end - (bytes + alignment - 1) / alignment * alignment;
  }
  ~GuardedBuffer() { munmap(base, mapped); }
  GuardedBuffer(const GuardedBuffer &) = delete;

  char *data() { return start; }
  void poison() { std::memset(first, poisoned, start + size - first); }
  /// Whether nothing was written before the start since poison().
  bool isIntactBefore() const {
    return std::all_of(first, start, [](char byte) { return uint8_t(byte) == poisoned; });
  }

private:
  static constexpr uint8_t poisoned = 0xcb;
  size_t size, mapped;
  char *base, *first, *start;
};

} // namespace

static void storeElement(char *place, double value, Type element) {
  if (element.isF32()) {
    float narrow = value;
    std::memcpy(place, &narrow, 4);
  } else if (element.isF64()) {
    std::memcpy(place, &value, 8);
  } else if (auto type = dyn_cast<FloatType>(element)) {
    APFloat number(value);
    bool lost;
    number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    uint16_t bits = number.bitcastToAPInt().getZExtValue();
    std::memcpy(place, &bits, 2);
  } else {
    int64_t integer = int64_t(value);
    std::memcpy(place, &integer, program::elementBytes(element));
  }
}

static double loadElement(const char *place, Type element) {
  if (element.isF32()) {
    float narrow;
    std::memcpy(&narrow, place, 4);
    return narrow;
  }
  if (element.isF64()) {
    double value;
    std::memcpy(&value, place, 8);
    return value;
  }
  if (auto type = dyn_cast<FloatType>(element)) {
    uint16_t bits;
    std::memcpy(&bits, place, 2);
    APFloat number(type.getFloatSemantics(), APInt(16, bits));
    bool lost;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    return number.convertToDouble();
  }
  int64_t integer = 0;
  std::memcpy(&integer, place, program::elementBytes(element));
  if (element.isInteger(32))
    return int32_t(integer);
  return double(integer);
}

/// Where element `index` of a tensor stands: the formula of dlc_layout, in the slowest obvious way.
static int64_t storageOffset(RankedTensorType type, ArrayRef<int64_t> index) {
  auto layout = dyn_cast_or_null<program::LayoutAttr>(type.getEncoding());
  SmallVector<int64_t> sizes(type.getShape()), places(index), inner, innerSizes;
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  if (layout) {
    order.assign(layout.getOrder().begin(), layout.getOrder().end());
    for (size_t i = 0; i < layout.getBlocks().size(); i += 2) {
      int64_t axis = layout.getBlocks()[i], block = layout.getBlocks()[i + 1];
      inner.push_back(places[axis] % block);
      innerSizes.push_back(block);
      places[axis] /= block;
      sizes[axis] = (sizes[axis] + block - 1) / block;
    }
  }
  int64_t offset = 0;
  for (int64_t axis : order)
    offset = offset * sizes[axis] + places[axis];
  for (auto [place, size] : llvm::zip(inner, innerSizes))
    offset = offset * size + place;
  return offset;
}

/// Calls visit(number, byte, bit) for each element.
template <typename Visit> static void forEachElement(RankedTensorType type, Visit visit) {
  interpreter::Shape shape(type.getShape().begin(), type.getShape().end());
  Type element = type.getElementType();
  const unsigned width = element.getIntOrFloatBitWidth();
  const int64_t bits = width == 1 ? 8 : width;
  int64_t number = 0;
  const bool rowMajor = !type.getEncoding();
  interpreter::forEachIndex(shape, [&](const interpreter::Index &index) {
    const int64_t place = (rowMajor ? number : storageOffset(type, index)) * bits;
    visit(number++, place / 8, unsigned(place % 8));
  });
}

static void writeTensor(char *buffer, const Tensor &tensor, RankedTensorType type) {
  Type element = type.getElementType();
  forEachElement(type, [&](int64_t number, int64_t byte, unsigned bit) {
    if (program::elementsOfByte(element) == 1)
      return storeElement(buffer + byte, tensor.values[number], element);
    const unsigned mask = (1u << element.getIntOrFloatBitWidth()) - 1;
    buffer[byte] =
        char((uint8_t(buffer[byte]) & ~(mask << bit)) | unsigned(tensor.values[number]) << bit);
  });
}

static Tensor readTensor(const char *buffer, RankedTensorType type) {
  Type element = type.getElementType();
  Tensor result = Tensor::filled(interpreter::shapeOf(type), 0);
  forEachElement(type, [&](int64_t number, int64_t byte, unsigned bit) {
    result.values[number] =
        program::elementsOfByte(element) == 1
            ? loadElement(buffer + byte, element)
            : double(uint8_t(buffer[byte]) >> bit & ((1u << element.getIntOrFloatBitWidth()) - 1));
  });
  return result;
}

//===------------------------------------------------------------------------------------------===//
// Kernels
//===------------------------------------------------------------------------------------------===//

KernelSource dlc::test::inElement(KernelSource source, StringRef element, StringRef written) {
  const std::string type = ("x" + written).str();
  for (std::string *text : {&source.operands, &source.results, &source.block})
    for (size_t at = 0; (at = text->find(type, at)) != std::string::npos; at += element.size())
      text->replace(at + 1, written.size(), element.str());
  return source;
}

std::string KernelSource::moduleText() const {
  size_t count = operands.empty() ? 0 : 1, depth = 0;
  for (char c : operands) {
    depth += c == '<' ? 1 : c == '>' ? -1 : 0;
    count += c == ',' && depth == 0;
  }
  std::string text, names;
  for (size_t i = 0; i < count; ++i)
    names += (i ? ", %source#" : "%source#") + std::to_string(i);
  if (count)
    text = "%source:" + std::to_string(count) + " = builtin.unrealized_conversion_cast to " +
           operands + "\n";
  return text + "%out:9 = dl.fused(" + names + ") : (" + operands + ") -> (" + results + ") {\n" +
         block + "\n}\n";
}

struct CompiledTestKernel::State {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<dlc_kernel_fn> phases;
  std::vector<std::unique_ptr<GuardedBuffer>> buffers; ///< of the last run
  std::vector<void *> pointers;
  std::vector<std::unique_ptr<GuardedBuffer>> scratch; ///< of each phase

  std::vector<uint64_t> bufferBytes;

  std::string load(llvm::ArrayRef<std::string> symbols, llvm::ArrayRef<std::string> objects);
  std::string loadReference(llvm::ArrayRef<std::string> symbols, llvm::StringRef text);
  std::string create();
  std::string lookUp(llvm::ArrayRef<std::string> symbols);
  void allocate(const KernelSpec &spec, const SelectedKernel &kernel);
  void launch(const SelectedKernel &kernel, TaskOrder order);
};

/// What compiled modules may take from libc.
static llvm::orc::SymbolMap libcFunctions(llvm::orc::LLJIT &jit) {
  auto function = [](auto *address) {
    return llvm::orc::ExecutorSymbolDef(llvm::orc::ExecutorAddr::fromPtr(address),
                                        llvm::JITSymbolFlags::Exported);
  };
  return {{jit.mangleAndIntern("memcpy"), function(&memcpy)},
          {jit.mangleAndIntern("memmove"), function(&memmove)},
          {jit.mangleAndIntern("memset"), function(&memset)}};
}

std::string CompiledTestKernel::State::create() {
  llvm::InitializeNativeTarget();
  auto made = llvm::orc::LLJITBuilder().create();
  if (!made)
    return llvm::toString(made.takeError());
  jit = std::move(*made);
  // No symbol of this process is visible: a kernel that calls libm fails to load.
  return llvm::toString(
      jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(libcFunctions(*jit))));
}

std::string CompiledTestKernel::State::load(ArrayRef<std::string> symbols,
                                            ArrayRef<std::string> objects) {
  if (std::string error = create(); !error.empty())
    return error;
  for (const std::string &object : objects)
    if (auto error = jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object)))
      return llvm::toString(std::move(error));
  return lookUp(symbols);
}

/// What stands for an intrinsic: a function outside of the module, or one in it that passes vectors
/// by their memory and takes the first of them back.
static llvm::Function *declareReference(llvm::Function &intrinsic, const std::string &name) {
  using namespace llvm;
  Module &code = *intrinsic.getParent();
  llvm::FunctionType *type = intrinsic.getFunctionType();
  if (!type->getReturnType()->isVectorTy())
    return Function::Create(type, GlobalValue::ExternalLinkage, name, code);
  llvm::Type *pointer = PointerType::get(code.getContext(), 0);
  FunctionCallee outside = code.getOrInsertFunction(
      name,
      llvm::FunctionType::get(llvm::Type::getVoidTy(code.getContext()),
                              SmallVector<llvm::Type *>(type->getNumParams(), pointer), false));
  auto *function = Function::Create(type, GlobalValue::InternalLinkage, "", code);
  llvm::IRBuilder<> b(BasicBlock::Create(code.getContext(), "", function));
  SmallVector<llvm::Value *> places;
  for (Argument &argument : function->args()) {
    places.push_back(b.CreateAlloca(argument.getType()));
    b.CreateStore(&argument, places.back());
  }
  b.CreateCall(outside, places);
  b.CreateRet(b.CreateLoad(type->getReturnType(), places.front()));
  return function;
}

/// Compiles the kernel's text for this machine, whatever processor it was made for: LLVM divides
/// vectors, and functions stand for instructions.
std::string CompiledTestKernel::State::loadReference(ArrayRef<std::string> symbols,
                                                     StringRef text) {
  llvm::InitializeNativeTargetAsmPrinter();
  if (std::string error = create(); !error.empty())
    return error;
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic diagnostic;
  auto code = llvm::parseAssemblyString(text, diagnostic, *context);
  if (!code)
    return diagnostic.getMessage().str();
  llvm::orc::SymbolMap functions;
  for (auto [intrinsic, address] : instructionReferences()) {
    llvm::Function *called = code->getFunction(intrinsic);
    if (!called)
      continue;
    const std::string name = "reference." + intrinsic.str();
    llvm::Function *function = declareReference(*called, name);
    called->replaceAllUsesWith(function);
    called->eraseFromParent();
    functions[jit->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                             llvm::JITSymbolFlags::Exported};
  }
  if (functions.empty())
    return "no instruction that has a reference";
  for (llvm::Function &function : *code)
    for (StringRef attribute : {"target-cpu", "target-features"})
      function.removeFnAttr(attribute);
  if (auto error = jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(functions)))
    return llvm::toString(std::move(error));
  if (auto error = jit->addIRModule({std::move(code), std::move(context)}))
    return llvm::toString(std::move(error));
  return lookUp(symbols);
}

std::string CompiledTestKernel::State::lookUp(ArrayRef<std::string> symbols) {
  for (const std::string &symbol : symbols) {
    auto address = jit->lookup(symbol);
    if (!address)
      return llvm::toString(address.takeError());
    phases.push_back(address->toPtr<dlc_kernel_fn>());
  }
  return "";
}

void CompiledTestKernel::State::allocate(const KernelSpec &spec, const SelectedKernel &kernel) {
  if (!buffers.empty())
    return;
  auto add = [&](size_t bytes, size_t alignment) {
    buffers.push_back(std::make_unique<GuardedBuffer>(bytes, alignment));
    pointers.push_back(buffers.back()->data());
    bufferBytes.push_back(bytes);
  };
  // CUDA's text counts on aligned buffers, and checks its accesses itself.
  auto alignmentOf = [&](RankedTensorType type) {
    return kernel.candidate.phases.front().threads ? DLC_ALIGNMENT
                                                   : program::elementBytes(type.getElementType());
  };
  for (RankedTensorType type : spec.operandTypes())
    add(program::storageBytes(type), alignmentOf(type));
  for (RankedTensorType type : spec.resultTypes())
    add(program::storageBytes(type), alignmentOf(type));
  for (uint64_t bytes : {kernel.candidate.workspaceBytes, kernel.candidate.restBytes})
    if (bytes != 0)
      add(bytes, DLC_ALIGNMENT);
  for (const Phase &phase : kernel.candidate.phases)
    scratch.push_back(std::make_unique<GuardedBuffer>(phase.scratchBytes, DLC_ALIGNMENT));
}

/// A kernel that is checked makes no such mistake.
static void reportFailure(const dlc_simt *, uint32_t block, uint32_t thread, const char *file,
                          uint32_t line, const char *message) {
  llvm::report_fatal_error(
      llvm::formatv("{0}:{1}: block {2}, thread {3}: {4}", file, line, block, thread, message)
          .str()
          .c_str());
}

void CompiledTestKernel::State::launch(const SelectedKernel &kernel, TaskOrder order) {
  dlc_simt simt = {sizeof(dlc_simt), 0,      uint64_t(order) * 7919, bufferBytes.data(),
                   reportFailure,    nullptr};
  dlc_args args = {sizeof(dlc_args), uint32_t(pointers.size()), pointers.data(), nullptr, &simt};
  for (auto [number, phase] : llvm::enumerate(kernel.candidate.phases)) {
    simt.grid = phase.tasks;
    std::vector<uint32_t> tasks(phase.tasks);
    std::iota(tasks.begin(), tasks.end(), 0);
    if (order == TaskOrder::Backward)
      std::reverse(tasks.begin(), tasks.end());
    if (order == TaskOrder::Shuffled)
      std::shuffle(tasks.begin(), tasks.end(), std::mt19937(7));
    for (uint32_t task : tasks)
      phases[number](&args, task, scratch[number]->data());
  }
}

/// Before the name of a processor: functions stand for instructions.
static constexpr StringLiteral referencePrefix = "reference:";
static bool isReference(StringRef target) { return target.starts_with(referencePrefix); }

/// By instructions that have references.
static bool multipliesPairs(const Candidate &candidate) {
  const StringRef schedule = candidate.schedule;
  return schedule.ends_with(" bf16") || schedule.ends_with(" amx");
}

/// No library computes here: a kernel is all our own. `generator`: empty for the first of all.
static std::shared_ptr<const codegen::Target> targetOf(StringRef name, StringRef generator) {
  const bool byReference = name.consume_front(referencePrefix);
  std::shared_ptr<codegen::Target> target =
      llvm::cantFail(getTarget(name.starts_with("cuda") ? name.str() : "cpu:" + name.str()));
  // Where this machine has no such instruction, LLVM would call a library.
  if (byReference)
    std::static_pointer_cast<CpuTarget>(target)->roundsToBF16 = false;
  target->settings.products = Provider::Own;
  target->settings.convolutions = generator.empty() ? Provider::Own : Provider::Faster;
  return target;
}

CompiledTestKernel::CompiledTestKernel() {
  DialectRegistry registry;
  registerKernelDialects(registry);
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  state = std::make_unique<State>();
}

std::shared_ptr<const codegen::Target> CompiledTestKernel::choose(const KernelSource &source,
                                                                  StringRef targetName,
                                                                  StringRef generator,
                                                                  unsigned number) {
  std::shared_ptr<const codegen::Target> target = targetOf(targetName, generator);
  std::string text = source.moduleText();
  // The number of results is not in the source: take it from the types.
  size_t results = StringRef(source.results).count("tensor<");
  text.replace(text.find("%out:9"), 6, "%out:" + std::to_string(results));
  auto parsed = parseKernel(text, context.get());
  if (failed(parsed)) {
    ADD_FAILURE() << "cannot parse\n" << text;
    return target;
  }
  written = std::move(*parsed);
  module = written->clone();
  Block &block = kernelBlock(*module);
  dl::decomposeComposites(block);
  IRRewriter rewriter(context.get());
  DominanceInfo dominance;
  eliminateCommonSubExpressions(rewriter, dominance, block.getParentOp());
  auto spec = KernelSpec::get(block);
  if (failed(spec)) {
    ADD_FAILURE() << "no kernel";
    return target;
  }
  analysed = std::make_unique<KernelSpec>(*spec);
  KernelSelector selector(target);
  const KernelOffer &offer = selector.offer(*spec);
  for (const GeneratedCandidate &candidate : offer.candidates) {
    if ((!generator.empty() && candidate.generator->name() != generator) ||
        (isReference(targetName) && !multipliesPairs(candidate.candidate)))
      continue;
    if (offers.size() == number)
      selected = selector.select(offer, candidate);
    offers.push_back(candidate.candidate);
  }
  if (!selected.generator)
    ADD_FAILURE() << "no candidate of generator '" << generator.str() << "' for\n" << text;
  return target;
}

CompiledTestKernel::CompiledTestKernel(const KernelSource &source, StringRef targetName,
                                       StringRef generator, unsigned number)
    : CompiledTestKernel() {
  const std::shared_ptr<const codegen::Target> target =
      choose(source, targetName, generator, number);
  if (!selected.generator)
    return;
  CompileOptions options;
  options.cache = false;
  std::string error = target->hasImages()       ? loadSimt(*target, options)
                      : isReference(targetName) ? loadReference(*target, options)
                                                : loadNative(*target, options);
  EXPECT_EQ(error, "") << source.moduleText();
  loaded = error.empty();
}

SelectedKernel CompiledTestKernel::select(const KernelSource &source, StringRef target,
                                          StringRef generator) {
  CompiledTestKernel kernel;
  kernel.choose(source, target, generator, 0);
  return kernel.selected;
}

std::vector<Candidate> CompiledTestKernel::offered(const KernelSource &source, StringRef target,
                                                   StringRef generator) {
  CompiledTestKernel kernel;
  kernel.choose(source, target, generator, 0);
  return kernel.offers;
}

std::string CompiledTestKernel::loadNative(const codegen::Target &target,
                                           const CompileOptions &options) {
  if (runtime::Status granted = runtime::askForCpuFeatures(target.needs().cpuFeatures);
      !granted.ok())
    return std::string(granted.message());
  auto compiled = target.compile(selected, options);
  return compiled ? state->load(selected.symbols, compiled->front().objects)
                  : llvm::toString(compiled.takeError());
}

std::string CompiledTestKernel::loadReference(const codegen::Target &target,
                                              const CompileOptions &options) {
  auto printed = target.print(selected, KernelForm::LLVM, options);
  return printed ? state->loadReference(selected.symbols, printed->front())
                 : llvm::toString(printed.takeError());
}

std::string CompiledTestKernel::loadSimt(const codegen::Target &target,
                                         const CompileOptions &options) {
  auto objects = target.compileBeside(selected, options);
  if (!objects)
    return llvm::toString(objects.takeError());
  std::vector<std::string> symbols;
  for (const std::string &symbol : selected.symbols)
    symbols.push_back(target.symbolBeside(symbol));
  return state->load(symbols, *objects);
}

CompiledTestKernel::~CompiledTestKernel() = default;

std::vector<Tensor> CompiledTestKernel::run(ArrayRef<Tensor> inputs, TaskOrder order,
                                            std::optional<InPlace> inPlace) {
  state->allocate(*analysed, selected);
  for (auto &buffer : state->buffers)
    buffer->poison();
  for (auto &buffer : state->scratch)
    buffer->poison();
  for (auto [i, type] : llvm::enumerate(analysed->operandTypes())) {
    std::memset(state->buffers[i]->data(), 0, program::storageBytes(type));
    writeTensor(state->buffers[i]->data(), inputs[i], type);
  }
  if (inPlace)
    state->pointers[inputs.size() + inPlace->result] = state->pointers[inPlace->operand];
  state->launch(selected, order);
  for (auto &buffer : state->buffers)
    EXPECT_TRUE(buffer->isIntactBefore()) << selected.symbol << " wrote before a buffer";
  for (auto &buffer : state->scratch)
    EXPECT_TRUE(buffer->isIntactBefore()) << selected.symbol << " wrote before its scratch";
  std::vector<Tensor> outputs;
  for (auto [i, type] : llvm::enumerate(analysed->resultTypes()))
    outputs.push_back(
        readTensor(static_cast<const char *>(state->pointers[inputs.size() + i]), type));
  return outputs;
}

std::vector<float> CompiledTestKernel::resultMemory(unsigned number) const {
  std::vector<float> memory(program::storageBytes(analysed->resultTypes()[number]) / 4);
  const char *start = state->buffers[analysed->operandTypes().size() + number]->data();
  std::memcpy(memory.data(), start, memory.size() * 4);
  return memory;
}

std::vector<Tensor> CompiledTestKernel::oracle(ArrayRef<Tensor> inputs) {
  std::vector<Tensor> rounded;
  for (auto [tensor, type] : llvm::zip_equal(inputs, analysed->operandTypes())) {
    rounded.push_back(tensor);
    char element[8];
    for (double &value : rounded.back().values) {
      storeElement(element, value, type.getElementType());
      value = loadElement(element, type.getElementType());
    }
  }
  auto results = interpreter::Interpreter().runBlock(kernelBlock(*written), rounded);
  EXPECT_TRUE(succeeded(results));
  return succeeded(results) ? *results : std::vector<Tensor>();
}

std::vector<Tensor> CompiledTestKernel::randomInputs(uint64_t seed) const {
  std::vector<Tensor> inputs;
  std::mt19937_64 random(seed);
  for (RankedTensorType type : analysed->operandTypes()) {
    Tensor tensor = Tensor::filled(interpreter::shapeOf(type), 0);
    Type element = type.getElementType();
    for (double &value : tensor.values)
      value = isa<FloatType>(element)
                  ? std::uniform_real_distribution<double>(-1, 1)(random)
                  : double(random() % (element.getIntOrFloatBitWidth() <= 8
                                           ? 1u << element.getIntOrFloatBitWidth()
                                           : 9));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

//===------------------------------------------------------------------------------------------===//
// Comparison
//===------------------------------------------------------------------------------------------===//

double test::relativeError(const Tensor &a, const Tensor &b) {
  double difference = 0, largest = 0;
  for (auto [x, y] : llvm::zip_equal(a.values, b.values)) {
    bool equal = x == y || (std::isnan(x) && std::isnan(y));
    if (std::isfinite(y))
      largest = std::max(largest, std::abs(y));
    if (!equal)
      difference = std::max(difference, std::isfinite(x) && std::isfinite(y)
                                            ? std::abs(x - y)
                                            : std::numeric_limits<double>::infinity());
  }
  return difference == 0 ? 0 : largest == 0 ? difference : difference / largest;
}

namespace {
/// Of a source, whatever candidate computes it: the oracle is the slowest of all.
struct Example {
  std::vector<Tensor> inputs, results;
};
} // namespace

/// Returns how many candidates there are. Fills the example if it is empty.
static unsigned checkCandidate(const KernelSource &source, StringRef target, double tolerance,
                               StringRef generator, unsigned number,
                               std::optional<Example> &example) {
  CompiledTestKernel kernel(source, target, generator, number);
  if (!kernel)
    return 0;
  if (!example) {
    std::vector<Tensor> inputs = kernel.randomInputs();
    example = {inputs, kernel.oracle(inputs)};
  }
  const std::vector<Tensor> &inputs = example->inputs;
  std::vector<Tensor> first = kernel.run(inputs);
  for (auto [result, pair] : llvm::enumerate(llvm::zip_equal(first, example->results)))
    EXPECT_LE(relativeError(std::get<0>(pair), std::get<1>(pair)), tolerance)
        << "result " << result << " of " << kernel.selection().symbol << ", "
        << kernel.selection().candidate.schedule;
  for (TaskOrder order : {TaskOrder::Backward, TaskOrder::Shuffled}) {
    std::vector<Tensor> other = kernel.run(inputs, order);
    for (auto [a, b] : llvm::zip_equal(first, other))
      EXPECT_TRUE(a.values.empty() ||
                  std::memcmp(a.values.data(), b.values.data(), a.values.size() * 8) == 0);
  }
  return kernel.candidates();
}

/// The processor's own code and that for AVX2, which differ by more than the order of loops where
/// the processor has wider vectors or more instructions.
static SmallVector<StringRef> cpuTargets() {
  const CpuTarget native = cantFail(CpuTarget::get("native"));
  const CpuTarget avx2 = cantFail(CpuTarget::get("avx2"));
  if (native.vectorBytes == avx2.vectorBytes && native.required == avx2.required)
    return {"native"};
  return {"native", "avx2"};
}

/// Of each target all candidates of the generator with these words, or the first of all.
static void checkTargets(const KernelSource &source, ArrayRef<StringRef> targets, double tolerance,
                         StringRef generator, StringRef words) {
  std::optional<Example> example;
  for (StringRef target : targets) {
    SCOPED_TRACE(target.str() + "\n" + source.moduleText());
    std::vector<Candidate> offered = CompiledTestKernel::offered(source, target, generator);
    if (generator.empty())
      offered.resize(1);
    unsigned checked = 0;
    for (auto [number, candidate] : llvm::enumerate(offered))
      if (StringRef(candidate.schedule).contains(words)) {
        checkCandidate(source, target, tolerance, generator, number, example);
        ++checked;
      }
    EXPECT_GT(checked, 0u) << "no candidate with '" << words.str() << "'";
  }
}

SmallVector<StringRef> test::pairsTargets() {
  if (cantFail(CpuTarget::get("native")).required & DLC_CPU_AVX512_BF16)
    return {"native"};
  return {"native", "reference:znver4"};
}

void test::checkKernel(const KernelSource &source, double tolerance, StringRef generator,
                       StringRef words) {
  checkTargets(source, cpuTargets(), tolerance, generator, words);
}

void test::checkPairsKernel(const KernelSource &source, double tolerance, StringRef generator) {
  checkKernel(source, tolerance, generator);
  checkTargets(source, ArrayRef(pairsTargets()).drop_front(), tolerance, generator, " bf16");
}

void test::checkAmxKernel(const KernelSource &source, double tolerance, StringRef generator) {
  checkTargets(source, StringRef("reference:sapphirerapids"), tolerance, generator, " amx");
}

unsigned test::checkCudaKernel(const KernelSource &source, double tolerance, StringRef generator,
                               unsigned number) {
  SCOPED_TRACE(source.moduleText());
  std::optional<Example> example;
  return checkCandidate(source, "cuda:simt", tolerance, generator, number, example);
}
