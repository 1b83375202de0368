//===- PlanWriter.cpp - exec programs as the plan's blob --------------------------------------===//
#include "codegen/Plan/PlanWriter.h"
#include "codegen/Plan/Tables.h"
#include "dialects/Exec/Memory.h"
#include "dialects/Program/Layout.h"
#include "dialects/Program/ProgramOps.h"
#include "passes/Conversion/Storage.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc::codegen {

static_assert(program::sumBlock == DLC_SUM_BLOCK && program::sumTop == DLC_SUM_TOP);

namespace {

class PlanWriter {
public:
  PlanWriter(ModuleOp module, StringRef report, const DeviceCode *device)
      : module(module), report(report), device(device) {}
  FailureOr<PlanBlob> write();

private:
  LogicalResult addVariables();
  LogicalResult addKernels();
  void addFunction(dlc_kernel &row, StringRef function);
  /// Which of the target's codes a launch belongs to, and the how manieth of its launches it is.
  struct KernelCode {
    size_t kernel;
    unsigned launch;
  };
  void addImages(dlc_kernel &row, KernelCode code);
  uint32_t addKernel(StringRef function, uint64_t scratch, size_t buffers, ArrayRef<uint8_t> key,
                     KernelCode code);
  uint32_t addCall(const LibraryCall &call);
  /// A phase of a kernel as the tables have it.
  struct PhaseRow {
    uint32_t number; ///< in the kernels or the calls
    uint32_t tasks;
    const LibraryCall *library; ///< null for a launch
    uint64_t flops = 0, bytes = 0;
    uint32_t condition = DLC_ALWAYS, call = 0;
  };
  static void setFigures(uint64_t flops, uint64_t bytes, MutableArrayRef<PhaseRow> rows);
  void addAlternative(size_t number, size_t buffers, SmallVectorImpl<PhaseRow> &rows);
  const LibraryCall *callOf(size_t kernel, unsigned phase) const;
  dlc_range addCallArguments(exec::LaunchOp launch, const LibraryCall &call);
  LogicalResult addProgram(exec::ProgramOp program);
  LogicalResult addValues(exec::ProgramOp program);
  void addMetrics(exec::ProgramOp program, dlc_entry &entry);
  void addScalars(exec::ProgramOp program);
  void addRecord(exec::RecordOp record);
  void addLaunch(exec::LaunchOp launch, dlc_record record);
  dlc_range addSchedule(exec::ProgramOp program);
  void addSettings();
  FailureOr<dlc_type> convertType(Operation *op, RankedTensorType type);
  FailureOr<dlc_value> convertValue(exec::ProgramOp program, exec::ValueAttr value);
  void setElementTypes(exec::KernelOp kernel, dlc_range arguments);
  dlc_argument convertArgument(Value buffer, int32_t access);
  dlc_range addArguments(ArrayRef<std::pair<Value, int32_t>> buffers);

  ModuleOp module;
  StringRef report;
  const DeviceCode *device;
  Tables tables;
  std::vector<std::string> functions;
  llvm::StringMap<uint32_t> variableNumbers, kernelNumbers; ///< by symbol
  std::vector<SmallVector<PhaseRow>> phaseRows;             ///< of each kernel
  llvm::StringMap<exec::KernelOp> kernels;
  uint64_t scalarsBytes = 0;
};

//===------------------------------------------------------------------------------------------===//
// Types
//===------------------------------------------------------------------------------------------===//

std::optional<dlc_dtype> convertElementType(Type type) {
  return TypeSwitch<Type, std::optional<dlc_dtype>>(type)
      .Case([](Float32Type) { return DLC_F32; })
      .Case([](Float64Type) { return DLC_F64; })
      .Case([](BFloat16Type) { return DLC_BF16; })
      .Case([](Float16Type) { return DLC_F16; })
      .Case([](IntegerType integer) -> std::optional<dlc_dtype> {
        switch (integer.getWidth()) {
        case 1:
          return DLC_BOOL;
        case 8:
          return DLC_U8;
        case 32:
          return DLC_I32;
        case 64:
          return DLC_I64;
        default:
          return std::nullopt;
        }
      })
      .Default([](Type) { return std::nullopt; });
}

/// The element types of a kernel's buffers; a workspace has none.
SmallVector<Type> bufferElements(exec::KernelOp kernel) {
  KernelSpec spec = *KernelSpec::get(kernel.getBlock());
  SmallVector<Type> elements;
  for (ArrayRef<RankedTensorType> types : {spec.operandTypes(), spec.resultTypes()})
    for (RankedTensorType type : types)
      elements.push_back(type.getElementType());
  return elements;
}

FailureOr<dlc_type> PlanWriter::convertType(Operation *op, RankedTensorType type) {
  std::optional<dlc_dtype> dtype = convertElementType(type.getElementType());
  auto layout = dyn_cast_or_null<program::LayoutAttr>(type.getEncoding());
  if (!dtype || type.getRank() > DLC_MAX_RANK ||
      (layout && layout.getBlocks().size() > 2 * DLC_MAX_BLOCKS))
    return op->emitError() << "a module cannot hold the type " << type << ": at most "
                           << DLC_MAX_RANK << " axes and " << DLC_MAX_BLOCKS << " blocks";
  dlc_type result = {};
  result.dtype = *dtype;
  result.rank = type.getRank();
  llvm::copy(type.getShape(), result.shape);
  if (layout) {
    result.layout.permuted = 1;
    llvm::copy(layout.getOrder(), result.layout.order);
    result.layout.block_count = layout.getBlocks().size() / 2;
    for (unsigned i = 0; i < result.layout.block_count; ++i) {
      result.layout.block_axis[i] = layout.getBlocks()[2 * i];
      result.layout.block_size[i] = layout.getBlocks()[2 * i + 1];
    }
  }
  return result;
}

//===------------------------------------------------------------------------------------------===//
// Module level
//===------------------------------------------------------------------------------------------===//

LogicalResult PlanWriter::addVariables() {
  for (auto variable : module.getOps<exec::VariableOp>())
    variableNumbers[variable.getSymName()] = variableNumbers.size();
  for (auto variable : module.getOps<exec::VariableOp>()) {
    FailureOr<dlc_type> type = convertType(variable, variable.getTensorType());
    if (failed(type))
      return failure();
    dlc_variable row = {};
    row.name = tables.addString(variable.getSymName());
    row.type = *type;
    row.role = static_cast<uint32_t>(variable.getRole());
    row.initialiser = static_cast<uint32_t>(variable.getInit().getKind());
    row.a = variable.getInit().getA().convertToDouble();
    row.b = variable.getInit().getB().convertToDouble();
    row.offset = variable.getOffset();
    row.bytes = variable.getBytes();
    row.of = variable.getOf() ? variableNumbers.lookup(*variable.getOf()) : DLC_NONE;
    tables.variables.push_back(row);
  }
  return success();
}

/// The native code of a phase, if the module has it.
void PlanWriter::addFunction(dlc_kernel &row, StringRef function) {
  row.target = device ? DLC_TARGET_CUDA : DLC_TARGET_CPU;
  row.function = DLC_NONE;
  if (device && !device->target.needs().has(DLC_TARGET_SIMT))
    return;
  row.function = functions.size();
  functions.push_back(device ? device->target.symbolBeside(function) : function.str());
}

/// All phases of a kernel are in each of its images; what they need of a GPU differs.
void PlanWriter::addImages(dlc_kernel &row, KernelCode code) {
  auto [kernel, launch] = code;
  const CompiledKernel &compiled = device->compiled[kernel];
  const SelectedKernel &selected = device->kernels[kernel];
  row.threads = selected.candidate.phases[selected.launches()[launch]].threads;
  row.images = {static_cast<uint32_t>(tables.images.size()),
                static_cast<uint32_t>(compiled.images.size())};
  for (auto [i, image] : llvm::enumerate(compiled.images)) {
    dlc_image entry = {};
    entry.kind = image.kind;
    entry.architecture = image.architecture;
    entry.bytes = image.bytes.size();
    // Later launches refer to the bytes of the first.
    entry.offset =
        launch == 0 ? tables.addImage(image.bytes)
                    : tables.images[row.images.first - launch * compiled.images.size() + i].offset;
    if (image.kind == DLC_IMAGE_CUBIN) {
      entry.registers = image.figures[launch].registers;
      entry.spill_bytes = image.figures[launch].spillBytes;
      entry.static_shared_bytes = image.figures[launch].sharedBytes;
    }
    tables.images.push_back(entry);
  }
}

/// The library call that a phase is, or null.
const LibraryCall *PlanWriter::callOf(size_t kernel, unsigned phase) const {
  if (!device || !device->kernels[kernel].candidate.phases[phase].call)
    return nullptr;
  return &*device->kernels[kernel].candidate.phases[phase].call;
}

/// Adds a launch of a kernel that takes so many buffers; its number in the table.
uint32_t PlanWriter::addKernel(StringRef function, uint64_t scratch, size_t buffers,
                               ArrayRef<uint8_t> key, KernelCode code) {
  dlc_kernel row = {};
  row.symbol = tables.addString(function);
  addFunction(row, function);
  row.scratch_bytes = scratch;
  row.arguments = buffers;
  llvm::copy(key, row.key);
  if (device)
    addImages(row, code);
  tables.kernels.push_back(row);
  return tables.kernels.size() - 1;
}

uint32_t PlanWriter::addCall(const LibraryCall &call) {
  dlc_library_call row = call.call;
  row.engine = {static_cast<uint32_t>(tables.immediates.size()),
                static_cast<uint32_t>(call.engine.size())};
  llvm::append_range(tables.immediates, call.engine);
  tables.calls.push_back(row);
  return tables.calls.size() - 1;
}

/// The launches of the kernel that runs where a library refuses the call of kernel `number`.
void PlanWriter::addAlternative(size_t number, size_t buffers, SmallVectorImpl<PhaseRow> &rows) {
  if (!device || !device->kernels[number].alternative)
    return;
  uint32_t call = llvm::find_if(rows, [](const PhaseRow &row) { return row.library; })->number;
  for (PhaseRow &row : rows) {
    row.condition = DLC_IF_ACCEPTED;
    row.call = call;
  }
  size_t other = *device->kernels[number].alternative;
  const SelectedKernel &selected = device->kernels[other];
  SmallVector<PhaseRow> others;
  for (auto [i, phase] : llvm::enumerate(selected.candidate.phases)) {
    uint32_t row = addKernel(selected.symbols[i], phase.scratchBytes, buffers, selected.key,
                             {other, unsigned(i)});
    others.push_back({row, static_cast<uint32_t>(phase.tasks), nullptr, 0, phase.sideBytes,
                      DLC_IF_REFUSED, call});
  }
  setFigures(selected.flops, selected.bytes, others);
  llvm::append_range(rows, others);
}

/// The kernel's figures are those of its one phase that is none beside the work; where results have
/// a phase each, the first carries them.
void PlanWriter::setFigures(uint64_t flops, uint64_t bytes, MutableArrayRef<PhaseRow> rows) {
  PhaseRow *work = llvm::find_if(rows, [](const PhaseRow &row) { return row.bytes == 0; });
  assert(work != rows.end() && "a kernel without work");
  work->flops = flops;
  work->bytes = bytes;
}

/// Kernels of equal key have the code of the first.
LogicalResult PlanWriter::addKernels() {
  llvm::StringMap<size_t> codes; ///< by key
  std::vector<size_t> firsts;    ///< of each code, the kernel that has it first
  for (auto [number, kernel] : llvm::enumerate(module.getOps<exec::KernelOp>())) {
    std::string key = llvm::fromHex(kernel.getKey().value_or(""));
    if (!kernel.getPhasesAttr() || key.size() != sizeof(dlc_kernel::key))
      return kernel.emitError() << "no code has been chosen for this kernel";
    kernels[kernel.getSymName()] = kernel;
    kernelNumbers[kernel.getSymName()] = number;
    size_t buffers = kernel.getNumBuffers() + kernel.getWorkspaces().size();
    auto [known, isNew] = codes.try_emplace(key, firsts.size());
    const size_t code = known->second;
    if (isNew)
      firsts.push_back(number);
    SmallVector<PhaseRow> &rows = phaseRows.emplace_back();
    unsigned launches = 0;
    for (auto [i, phase] : llvm::enumerate(kernel.getPhasesAttr().getAsRange<exec::PhaseAttr>())) {
      const LibraryCall *call = callOf(code, i);
      uint32_t row = call    ? addCall(*call)
                     : isNew ? addKernel(phase.getFunction(), phase.getScratch(), buffers,
                                         llvm::arrayRefFromStringRef(key), {code, launches++})
                             : phaseRows[firsts[code]][i].number;
      rows.push_back({row, call ? 0 : static_cast<uint32_t>(phase.getTasks()), call});
      rows.back().bytes = phase.getSide();
    }
    setFigures(kernel.getFlops(), kernel.getBytesMoved(), rows);
    addAlternative(code, buffers, rows);
  }
  return success();
}

/// Each under its name: program.settings {epochs = 2} is the setting "epochs".
void PlanWriter::addSettings() {
  for (auto settings : module.getOps<program::SettingsOp>())
    for (StringRef name : program::SettingsOp::getAttributeNames())
      if (auto number = settings->getAttrOfType<IntegerAttr>(name))
        tables.settings.push_back({tables.addString(name), double(number.getInt())});
}

//===------------------------------------------------------------------------------------------===//
// Programs
//===------------------------------------------------------------------------------------------===//

dlc_argument PlanWriter::convertArgument(Value buffer, int32_t access) {
  exec::Extent extent = exec::getPlacedExtent(buffer);
  dlc_argument row = {};
  row.space = static_cast<uint32_t>(extent.space);
  row.index = extent.number;
  row.offset = extent.offset;
  row.bytes = extent.bytes;
  row.access = access;
  if (extent.space == exec::Space::Constant) {
    auto value = cast<DenseElementsAttr>(cast<exec::ConstantOp>(extent.root).getValue());
    std::string bytes;
    for (int64_t i = 0; i < (value.isSplat() ? value.getNumElements() : 1); ++i)
      bytes.append(value.getRawData().begin(), value.getRawData().end());
    row.offset += tables.addConstant(bytes);
  }
  return row;
}

dlc_range PlanWriter::addArguments(ArrayRef<std::pair<Value, int32_t>> buffers) {
  dlc_range range = {static_cast<uint32_t>(tables.arguments.size()),
                     static_cast<uint32_t>(buffers.size())};
  for (auto [buffer, access] : buffers)
    tables.arguments.push_back(convertArgument(buffer, access));
  return range;
}

void PlanWriter::setElementTypes(exec::KernelOp kernel, dlc_range arguments) {
  for (auto [i, type] : llvm::enumerate(bufferElements(kernel)))
    tables.arguments[arguments.first + i].dtype = convertElementType(type).value_or(dlc_dtype(0));
}

FailureOr<dlc_value> PlanWriter::convertValue(exec::ProgramOp program, exec::ValueAttr value) {
  FailureOr<dlc_type> type = convertType(program, value.getType());
  if (failed(type))
    return failure();
  dlc_value row = {};
  row.name = tables.addString(value.getName());
  row.type = *type;
  row.kind = static_cast<uint32_t>(value.getKind());
  row.batch_axis = value.getBatchAxis() < 0 ? DLC_NONE : value.getBatchAxis();
  row.of = value.getOf() ? variableNumbers.lookup(value.getOf().getValue()) : DLC_NONE;
  return row;
}

LogicalResult PlanWriter::addValues(exec::ProgramOp program) {
  auto classes = program->getAttrOfType<DenseI64ArrayAttr>("dl.classes");
  auto ignored = program->getAttrOfType<DenseI64ArrayAttr>("dl.ignored");
  for (auto [i, attribute] : llvm::enumerate(program.getInputs())) {
    FailureOr<dlc_value> row = convertValue(program, cast<exec::ValueAttr>(attribute));
    if (failed(row))
      return failure();
    row->location.space = DLC_SPACE_INPUT;
    row->location.index = i;
    row->location.access = DLC_READ;
    row->location.bytes = program::storageBytes(cast<exec::ValueAttr>(attribute).getType());
    row->classes = classes && llvm::isUInt<32>(classes[i]) ? classes[i] : 0;
    row->ignored = row->classes != 0 && ignored ? ignored[i] : 0;
    tables.values.push_back(*row);
  }
  for (auto [attribute, buffer] :
       llvm::zip_equal(program.getOutputs(), program.getOutput().getBuffers())) {
    FailureOr<dlc_value> row = convertValue(program, cast<exec::ValueAttr>(attribute));
    if (failed(row))
      return failure();
    row->location = convertArgument(buffer, DLC_READ);
    tables.values.push_back(*row);
  }
  return success();
}

void PlanWriter::addMetrics(exec::ProgramOp program, dlc_entry &entry) {
  entry.metrics = {static_cast<uint32_t>(tables.metrics.size()),
                   static_cast<uint32_t>(program.getMetrics().size())};
  for (auto metric : program.getMetrics().getAsRange<program::MetricAttr>()) {
    dlc_metric row = {};
    row.name = tables.addString(metric.getName());
    row.kind = static_cast<uint32_t>(metric.getKind());
    row.finish = static_cast<uint32_t>(metric.getFinish());
    row.terms = {static_cast<uint32_t>(tables.terms.size()),
                 static_cast<uint32_t>(metric.getTerms().size())};
    tables.metrics.push_back(row);
    for (program::TermAttr term : metric.getTerms())
      tables.terms.push_back({*program.findOutput(term.getSum()),
                              term.getCount() ? *program.findOutput(term.getCount()) : DLC_NONE,
                              term.getConstantCount().getValueAsDouble(),
                              term.getCoefficient().getValueAsDouble()});
  }
}

/// Equal names are one scalar: convert-dl-to-exec gave them one offset.
void PlanWriter::addScalars(exec::ProgramOp program) {
  for (auto scalar : program.getBlock().getOps<exec::ScalarOp>()) {
    uint64_t offset = scalar.getOffset();
    if (llvm::any_of(tables.scalars,
                     [&](const dlc_scalar &known) { return known.offset == offset; }))
      continue;
    tables.scalars.push_back({tables.addString(scalar.getName()),
                              uint32_t(*convertElementType(scalar.getType())),
                              scalar.getScheduled(), offset, scalar.getValue().convertToDouble()});
    scalarsBytes = std::max<uint64_t>(scalarsBytes, offset + exec::getBytes(scalar.getBuffer()));
  }
}

/// Pieces of the launch's buffers, in the order of the call.
dlc_range PlanWriter::addCallArguments(exec::LaunchOp launch, const LibraryCall &call) {
  dlc_range range = {static_cast<uint32_t>(tables.arguments.size()),
                     static_cast<uint32_t>(call.arguments.size())};
  SmallVector<Type> elements = bufferElements(kernels.lookup(launch.getKernel()));
  for (const BufferPiece &piece : call.arguments) {
    dlc_argument row =
        convertArgument(launch.getBuffers()[piece.buffer], launch.getAccess()[piece.buffer]);
    if (piece.buffer < elements.size())
      row.dtype = convertElementType(elements[piece.buffer]).value_or(dlc_dtype(0));
    row.offset += piece.offset;
    row.bytes = piece.bytes ? piece.bytes : row.bytes;
    tables.arguments.push_back(row);
  }
  return range;
}

/// One record for each phase that it runs.
void PlanWriter::addLaunch(exec::LaunchOp launch, dlc_record record) {
  exec::KernelOp kernel = kernels.lookup(launch.getKernel());
  SmallVector<std::pair<Value, int32_t>> buffers;
  for (auto [buffer, access] : llvm::zip_equal(launch.getBuffers(), launch.getAccess()))
    buffers.push_back({buffer, access});
  dlc_range arguments = addArguments(buffers);
  setElementTypes(kernel, arguments);
  ArrayRef<PhaseRow> rows = phaseRows[kernelNumbers.lookup(launch.getKernel())];
  // Behind the phases there may be those of an alternative.
  auto [first, end] = launch.getPhaseRange(kernel);
  if (launch.getPart() == exec::Part::Whole)
    end = rows.size();
  for (unsigned i = first; i < end; ++i) {
    const PhaseRow &phase = rows[i];
    record.kind = phase.library ? DLC_RECORD_LIBRARY : DLC_RECORD_LAUNCH;
    record.arguments = phase.library ? addCallArguments(launch, *phase.library) : arguments;
    record.index = phase.number;
    record.tasks = phase.tasks;
    record.phase = i;
    record.flops = phase.flops;
    record.bytes = phase.bytes;
    record.condition = phase.condition;
    record.call = phase.call;
    tables.records.push_back(record);
  }
}

void PlanWriter::addRecord(exec::RecordOp op) {
  dlc_record record = {};
  record.stream = op.getStreamNumber();
  record.name = tables.addString(exec::getRecordName(op->getLoc()));
  if (auto launch = dyn_cast<exec::LaunchOp>(*op))
    return addLaunch(launch, record);
  if (auto copy = dyn_cast<exec::CopyOp>(*op)) {
    record.kind = DLC_RECORD_COPY;
    record.arguments =
        addArguments({{copy.getDestination(), DLC_WRITE}, {copy.getSource(), DLC_READ}});
    record.bytes = 2 * exec::getBytes(copy.getSource());
  } else if (auto fill = dyn_cast<exec::FillOp>(*op)) {
    record.kind = DLC_RECORD_FILL;
    record.arguments = addArguments({{fill.getDestination(), DLC_WRITE}});
    record.value = fill.getValue();
    record.bytes = exec::getBytes(fill.getDestination());
  } else if (auto collective = dyn_cast<exec::AllReduceOp>(*op)) {
    record.kind = DLC_RECORD_COLLECTIVE;
    record.index = static_cast<uint32_t>(collective.getKind());
    record.value = collective.getChannel();
    record.arguments = addArguments({{collective.getBuffer(), DLC_READ | DLC_WRITE}});
    tables.arguments[record.arguments.first].dtype = *convertElementType(collective.getType());
    record.bytes = 2 * exec::getBytes(collective.getBuffer());
  } else if (auto event = dyn_cast<exec::RecordEventOp>(*op)) {
    record.kind = DLC_RECORD_RECORD_EVENT;
    record.index = event.getEvent();
  } else {
    record.kind = DLC_RECORD_WAIT_EVENT;
    record.index = cast<exec::WaitEventOp>(*op).getEvent();
  }
  tables.records.push_back(record);
}

dlc_range PlanWriter::addSchedule(exec::ProgramOp program) {
  dlc_range range = {static_cast<uint32_t>(tables.schedule.size()), 0};
  if (!program.getSchedule())
    return range;
  for (auto part : program.getSchedule()->getAsRange<program::SchedulePartAttr>())
    tables.schedule.push_back(
        {static_cast<uint32_t>(part.getKind()), part.getInEpochs(),
         part.getLength().getValueAsDouble(), part.getN().getValueAsDouble(),
         part.getA().getValueAsDouble(), part.getB().getValueAsDouble(),
         part.getC().getValueAsDouble(),
         part.getMetric() ? tables.addString(part.getMetric().getValue()) : dlc_string()});
  range.count = tables.schedule.size() - range.first;
  return range;
}

LogicalResult PlanWriter::addProgram(exec::ProgramOp program) {
  dlc_entry entry = {};
  entry.name = tables.addString(program.getSymName());
  entry.kind = static_cast<uint32_t>(program.getKind());
  entry.valid_input = program.getValid() ? *program.getValid() : DLC_NONE;
  entry.arena_bytes = program.getArenaBytes();
  entry.streams = program.getStreams();
  entry.events = program.getEvents();
  entry.batch = program.getBatch();
  uint32_t inputs = program.getInputs().size(), first = tables.values.size();
  entry.inputs = {first, inputs};
  entry.outputs = {first + inputs, static_cast<uint32_t>(program.getOutputs().size())};
  if (failed(addValues(program)))
    return failure();
  addMetrics(program, entry);
  addScalars(program);
  entry.records.first = tables.records.size();
  for (auto record : program.getBlock().getOps<exec::RecordOp>())
    addRecord(record);
  entry.records.count = tables.records.size() - entry.records.first;
  if (program.getKind() == program::EntryKind::Train ||
      program.getKind() == program::EntryKind::Accumulate)
    tables.steps.push_back({static_cast<uint32_t>(tables.entries.size()),
                            static_cast<uint32_t>(program.getEvery()), addSchedule(program)});
  tables.entries.push_back(entry);
  return success();
}

FailureOr<PlanBlob> PlanWriter::write() {
  if (failed(addVariables()) || failed(addKernels()))
    return failure();
  for (auto program : module.getOps<exec::ProgramOp>())
    if (failed(addProgram(program)))
      return failure();
  addSettings();
  dlc_plan_header header = {};
  header.state_bytes = exec::getStateBytes(module);
  header.scalars_bytes = scalarsBytes;
  header.model = tables.addString(module.getSymName().value_or(""));
  auto documentation = module->getAttrOfType<StringAttr>("dl.documentation");
  header.documentation = tables.addString(documentation ? documentation.getValue() : "");
  header.report = tables.addString(report);
  header.data_parallel = module->hasAttr(program::dataParallelName);
  return PlanBlob{tables.serialise(header), functions};
}

} // namespace

FailureOr<PlanBlob> writePlan(ModuleOp module, StringRef report, const DeviceCode *device) {
  return PlanWriter(module, report, device).write();
}

} // namespace dlc::codegen
