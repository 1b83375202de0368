//===- Report.cpp - what a compiled model costs -----------------------------------------------===//
#include "codegen/Plan/Report.h"
#include "codegen/Plan/MemoryPasses.h"
#include "codegen/Plan/Quantities.h"
#include "codegen/Plan/Shortfalls.h"
#include "dialects/Exec/Memory.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include <list>

using namespace mlir;
namespace json = llvm::json;

namespace dlc::codegen {

//===------------------------------------------------------------------------------------------===//
// As data
//===------------------------------------------------------------------------------------------===//

namespace {
class ReportBuilder {
public:
  ReportBuilder(ModuleOp module, const Target &target);

  json::Object build();

private:
  json::Object buildEntry(exec::ProgramOp program);
  json::Array buildBuckets(exec::ProgramOp program);
  /// Bytes of the variables that an entry needs: what is derived from parameters is not for
  /// training.
  int64_t countState(exec::ProgramOp program);
  json::Object buildRow(exec::RecordOp record);
  /// Elements of the parameters of `extent` that have not been counted in this entry.
  int64_t countParameters(const exec::Extent &extent);
  /// The variables of which `extent` has bytes, or its exec.alloc.
  SmallVector<Operation *> ownersOf(const exec::Extent &extent) const;
  /// The parameters that stand in `extent`, and those that what stands there is prepared from.
  llvm::SetVector<Operation *> findParameters(const exec::Extent &extent) const;
  void readPreparation(exec::ProgramOp prepare);

  ModuleOp module;
  const Target &target;
  SymbolTable symbols;
  llvm::DenseSet<Operation *> counted;
  /// The parameter that a variable is, or the average of: evaluation and inference read that in its
  /// place. Null for others.
  Operation *countedFor(exec::VariableOp variable) const;

  SmallVector<exec::VariableOp> variables; ///< by their places
  /// What is prepared before inference, by the variable or exec.alloc that it stands in, and the
  /// parameters that it is computed from.
  using Prepared = std::pair<exec::Extent, llvm::SetVector<Operation *>>;
  llvm::DenseMap<Operation *, SmallVector<Prepared>> prepared;
};
} // namespace

ReportBuilder::ReportBuilder(ModuleOp module, const Target &target)
    : module(module), target(target), symbols(module) {
  llvm::append_range(variables, module.getOps<exec::VariableOp>());
  llvm::stable_sort(variables, [](exec::VariableOp a, exec::VariableOp b) {
    return a.getOffset() < b.getOffset();
  });
  for (auto program : module.getOps<exec::ProgramOp>())
    if (program.getKind() == program::EntryKind::Prepare)
      readPreparation(program);
}

static int64_t countElements(exec::VariableOp variable) {
  return variable.getTensorType().getNumElements();
}

Operation *ReportBuilder::countedFor(exec::VariableOp variable) const {
  if (variable.getRole() == program::Role::Parameter)
    return variable;
  bool isAverage =
      variable.getOf() && variable.getInit().getKind() == program::InitialiserKind::Copy;
  return isAverage ? symbols.lookup(*variable.getOf()) : nullptr;
}

SmallVector<Operation *> ReportBuilder::ownersOf(const exec::Extent &extent) const {
  if (extent.space == exec::Space::Arena)
    return {extent.root};
  SmallVector<Operation *> owners;
  if (extent.space != exec::Space::State)
    return owners;
  const auto *first = llvm::partition_point(variables, [&](exec::VariableOp variable) {
    return int64_t(variable.getOffset() + variable.getBytes()) <= extent.offset;
  });
  for (; first != variables.end() && int64_t(exec::VariableOp(*first).getOffset()) < extent.end();
       ++first)
    owners.push_back(*first);
  return owners;
}

llvm::SetVector<Operation *> ReportBuilder::findParameters(const exec::Extent &extent) const {
  llvm::SetVector<Operation *> found;
  for (Operation *owner : ownersOf(extent)) {
    if (auto variable = dyn_cast<exec::VariableOp>(owner)) {
      const int64_t begin = variable.getOffset(), end = begin + int64_t(variable.getBytes());
      Operation *parameter = countedFor(variable);
      if (parameter && begin >= extent.offset && end <= extent.end())
        found.insert(parameter);
    }
    if (auto known = prepared.find(owner); known != prepared.end())
      for (const auto &[place, sources] : known->second)
        if (place.overlaps(extent))
          found.insert_range(sources);
  }
  return found;
}

void ReportBuilder::readPreparation(exec::ProgramOp prepare) {
  for (auto record : prepare.getBlock().getOps<exec::RecordOp>()) {
    SmallVector<exec::BufferAccess> accesses;
    record.getAccesses(accesses);
    llvm::SetVector<Operation *> sources;
    for (const exec::BufferAccess &access : accesses)
      if (access.reads)
        sources.insert_range(findParameters(exec::getExtent(access.buffer)));
    for (const exec::BufferAccess &access : accesses)
      if (const exec::Extent extent = exec::getExtent(access.buffer); access.writes)
        for (Operation *owner : ownersOf(extent))
          prepared[owner].emplace_back(extent, sources);
  }
}

int64_t ReportBuilder::countParameters(const exec::Extent &extent) {
  int64_t count = 0;
  for (Operation *variable : findParameters(extent))
    if (counted.insert(variable).second)
      count += countElements(cast<exec::VariableOp>(variable));
  return count;
}

/// Those of its convolutions and matrix products, as papers count them.
static int64_t countMultiplyAdds(exec::KernelOp kernel) {
  uint64_t flops = 0;
  for (auto op : kernel.getBlock().getOps<dl::AnchorOp>())
    if (op.getAnchor() == dl::Anchor::Convolution || op.getAnchor() == dl::Anchor::Gemm)
      flops += op.getFlops();
  return static_cast<int64_t>(flops / 2);
}

/// Type of the first result; null for a kernel without results or with several tensors in one
/// buffer.
static RankedTensorType getResultType(exec::KernelOp kernel) {
  Operation &end = kernel.getBlock().back();
  bool isPlain =
      end.getNumOperands() > 0 &&
      end.getNumOperands() + kernel.getBlock().getNumArguments() == kernel.getNumBuffers();
  return isPlain ? cast<RankedTensorType>(end.getOperand(0).getType()) : RankedTensorType();
}

/// Its shape, "bf16" or "f16" if it is of these, and its layout if it is not row-major: "nhwc".
static void addResult(json::Object &row, RankedTensorType type) {
  json::Array shape;
  if (type)
    llvm::append_range(shape, type.getShape());
  row["shape"] = std::move(shape);
  if (type && type.getElementType().isFloat(16))
    row["type"] = type.getElementType().isBF16() ? "bf16" : "f16";
  auto layout =
      type ? dyn_cast_or_null<program::LayoutAttr>(type.getEncoding()) : program::LayoutAttr();
  if (!layout)
    return;
  std::string text = layout.getShortName().str();
  if (text.empty())
    llvm::raw_string_ostream(text) << layout;
  row["layout"] = text;
}

json::Object ReportBuilder::buildRow(exec::RecordOp record) {
  auto [layer, stage] = exec::getRecordName(record->getLoc()).split('/');
  json::Object row{{"layer", layer.str()}, {"stage", stage.empty() ? "forward" : stage.str()}};
  SmallVector<exec::BufferAccess> accesses;
  record.getAccesses(accesses);
  int64_t activations = 0, touched = 0, flops = 0, multiplyAdds = 0, parameters = 0;
  for (const exec::BufferAccess &access : accesses) {
    touched += exec::getBytes(access.buffer);
    if (access.reads)
      parameters += countParameters(exec::getExtent(access.buffer));
    if (access.writes && !access.reads &&
        exec::getExtent(access.buffer).space == exec::Space::Arena)
      activations += exec::getBytes(access.buffer);
  }
  if (auto launch = dyn_cast<exec::LaunchOp>(*record)) {
    auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
    if (launch.getPart() != exec::Part::Preparation) {
      flops = kernel.getFlops();
      multiplyAdds = countMultiplyAdds(kernel);
      touched = kernel.getBytesMoved();
    }
    row["kernel"] = launch.getKernel().str();
    addResult(row, getResultType(kernel));
  } else {
    row["kernel"] = record->getName().stripDialect().str();
    addResult(row, {});
  }
  row["parameters"] = parameters;
  row["flops"] = flops;
  row["multiply_adds"] = multiplyAdds;
  row["bytes"] = touched;
  row["activation_bytes"] = activations;
  return row;
}

/// What the records of each layer cost together, the layers in order of their first record.
static json::Array sumByLayer(const json::Array &rows) {
  json::Array sums;
  llvm::StringMap<size_t> places;
  for (const json::Value &value : rows) {
    const json::Object &row = *value.getAsObject();
    StringRef layer = *row.getString("layer");
    auto [place, isNew] = places.try_emplace(layer, sums.size());
    if (isNew)
      sums.push_back(json::Object{{"layer", layer.str()}, {"records", 0}});
    json::Object &sum = *sums[place->second].getAsObject();
    sum["records"] = *sum.getInteger("records") + 1;
    for (const char *key : {"parameters", "flops", "bytes", "activation_bytes"})
      sum[key] = sum.getInteger(key).value_or(0) + *row.getInteger(key);
  }
  return sums;
}

/// Bytes of what costs what it reads and writes, beside the least.
static json::Array buildPasses(exec::ProgramOp program, const SymbolTable &symbols,
                               const Target &target) {
  json::Array rows;
  for (const MemoryPasses &passes : countMemoryPasses(program, symbols, target.mostRowBytes()))
    rows.push_back(json::Object{{"layer", passes.layer},
                                {"stage", passes.stage},
                                {"records", passes.records},
                                {"bytes", passes.bytes},
                                {"least_bytes", passes.least},
                                {"behind_products_bytes", passes.behindProducts}});
  return rows;
}

/// What dl-divide-batch and dl-rematerialize did.
static json::Object buildMemory(DictionaryAttr memory) {
  auto bytes = [&](StringRef name) { return memory.getAs<IntegerAttr>(name).getInt(); };
  json::Object row{{"bytes_before", bytes("before")},
                   {"recomputed", bytes("recomputed")},
                   {"recompute_seconds", memory.getAs<FloatAttr>("seconds").getValueAsDouble()}};
  if (memory.contains("budget"))
    row["budget_bytes"] = bytes("budget");
  if (memory.contains("parts")) {
    row["batch_parts"] = bytes("parts");
    row["divided_seconds"] = memory.getAs<FloatAttr>("divided_seconds").getValueAsDouble();
  }
  return row;
}

static double valueOf(FloatAttr seconds) { return seconds ? seconds.getValueAsDouble() : 0; }

/// A kernel's code, and what it would have been otherwise: nothing where there was no choice.
static json::Object buildSchedule(exec::KernelOp kernel) {
  auto describe = [](program::CandidateAttr candidate) {
    return candidate ? candidate.describe() : "";
  };
  std::string schedule = describe(kernel.getCandidateAttr());
  if (program::CandidateAttr alternative = kernel.getAlternativeAttr())
    schedule += "; if refused " + alternative.describe();
  program::CandidateAttr second = kernel.getSecondBestAttr();
  return json::Object{{"kernel", kernel.getSymName().str()},
                      {"schedule", std::move(schedule)},
                      {"estimated_seconds", kernel.getSeconds().value_or(0)},
                      {"second_best", describe(second)},
                      {"second_best_seconds", second ? second.getSeconds().getValueAsDouble() : 0}};
}

namespace {
/// Where streams stand when records take what is estimated of them.
struct Clock {
  llvm::DenseMap<int64_t, double> streams;
  /// When each event completes, and the bucket whose reduction it is recorded behind, or none.
  llvm::DenseMap<int64_t, std::pair<double, json::Object *>> events;
};
} // namespace

/// The reductions of gradients over ranks: behind what each stands, when it begins and how long it
/// takes, and how much of that is left when its update waits for it.
json::Array ReportBuilder::buildBuckets(exec::ProgramOp program) {
  std::list<json::Object> buckets;
  Clock clock;
  llvm::DenseMap<int64_t, json::Object *> last; ///< by stream
  std::string behind;
  for (auto record : program.getBlock().getOps<exec::RecordOp>()) {
    double &now = clock.streams[record.getStreamNumber()];
    if (auto launch = dyn_cast<exec::LaunchOp>(*record)) {
      now += launch.getSeconds(symbols.lookup<exec::KernelOp>(launch.getKernel()));
      behind = exec::getRecordName(launch.getLoc()).str();
    } else if (auto reduced = dyn_cast<exec::AllReduceOp>(*record)) {
      double seconds = valueOf(reduced.getSecondsAttr());
      int64_t parameters = 0;
      for (Attribute name : reduced.getOf() ? reduced.getOf()->getValue() : ArrayRef<Attribute>())
        parameters += countElements(
            symbols.lookup<exec::VariableOp>(cast<FlatSymbolRefAttr>(name).getValue()));
      if (reduced.getChannel() == 0)
        last[record.getStreamNumber()] = &buckets.emplace_back(
            json::Object{{"bucket", exec::getRecordName(reduced.getLoc()).split('/').first.str()},
                         {"behind", behind},
                         {"tensors", reduced.getOf() ? int64_t(reduced.getOf()->size()) : 0},
                         {"parameters", parameters},
                         {"bytes", reduced.getBytesSent()},
                         {"begin_seconds", now},
                         {"seconds", seconds},
                         {"hidden_by_seconds", 0.0},
                         {"exposed_seconds", 0.0}});
      now += seconds;
    } else if (auto event = dyn_cast<exec::RecordEventOp>(*record)) {
      clock.events[event.getEvent()] = {now, last.lookup(record.getStreamNumber())};
    } else if (auto wait = dyn_cast<exec::WaitEventOp>(*record)) {
      auto [done, bucket] = clock.events.lookup(wait.getEvent());
      if (bucket) {
        (*bucket)["hidden_by_seconds"] = std::max(0.0, now - *bucket->getNumber("begin_seconds"));
        (*bucket)["exposed_seconds"] = std::max(0.0, done - now);
      }
      now = std::max(now, done);
    }
  }
  json::Array rows;
  for (json::Object &bucket : buckets)
    rows.push_back(std::move(bucket));
  return rows;
}

int64_t ReportBuilder::countState(exec::ProgramOp program) {
  int64_t bytes = 0;
  const llvm::DenseSet<Operation *> used = exec::findUsedVariables(program, module);
  for (auto variable : module.getOps<exec::VariableOp>())
    if (variable.getRole() != program::Role::Derived || program::usesModel(program.getKind()) ||
        used.contains(variable))
      bytes += static_cast<int64_t>(exec::alignUp(variable.getBytes()));
  return bytes;
}

json::Object ReportBuilder::buildEntry(exec::ProgramOp program) {
  json::Array rows;
  llvm::StringSet<> kernels;
  counted.clear();
  int64_t launches = 0, flops = 0, multiplyAdds = 0, bytes = 0, activations = 0;
  double seconds = 0;
  for (auto record : program.getBlock().getOps<exec::RecordOp>()) {
    if (isa<exec::RecordEventOp, exec::WaitEventOp>(*record))
      continue;
    json::Object row = buildRow(record);
    flops += *row.getInteger("flops");
    multiplyAdds += *row.getInteger("multiply_adds");
    bytes += *row.getInteger("bytes");
    activations += *row.getInteger("activation_bytes");
    if (auto launch = dyn_cast<exec::LaunchOp>(*record)) {
      auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
      auto [first, end] = launch.getPhaseRange(kernel);
      launches += end - first;
      seconds += launch.getSeconds(kernel);
      kernels.insert(kernel.getKey().value_or(launch.getKernel()));
    }
    rows.push_back(std::move(row));
  }
  json::Array sums = sumByLayer(rows), buckets = buildBuckets(program);
  json::Object entry{{"name", program.getSymName().str()},
                     {"batch", static_cast<int64_t>(program.getBatch())},
                     {"arena_bytes", static_cast<int64_t>(program.getArenaBytes())},
                     {"live_bytes", static_cast<int64_t>(program.getLiveBytes())},
                     {"launches", launches},
                     {"kernels", static_cast<int64_t>(kernels.size())},
                     {"flops", flops},
                     {"multiply_adds", multiplyAdds},
                     {"bytes", bytes},
                     {"activation_bytes", activations},
                     {"estimated_seconds", seconds},
                     {"sums", std::move(sums)},
                     {"passes", buildPasses(program, symbols, target)},
                     {"layers", std::move(rows)}};
  if (!buckets.empty())
    entry["buckets"] = std::move(buckets);
  if (auto memory = program->getAttrOfType<DictionaryAttr>("dl.memory")) {
    json::Object row = buildMemory(memory);
    row["bytes_after"] = static_cast<int64_t>(program.getArenaBytes()) + countState(program);
    entry["memory"] = std::move(row);
  }
  if (auto conversions = program->getAttrOfType<DictionaryAttr>("dl.conversions")) {
    json::Object row;
    for (NamedAttribute number : conversions)
      row[number.getName().strref()] = cast<IntegerAttr>(number.getValue()).getInt();
    entry["conversions"] = std::move(row);
  }
  return entry;
}

json::Object ReportBuilder::build() {
  const int64_t stateBytes = exec::getStateBytes(module);
  int64_t parameters = 0, parameterBytes = 0;
  json::Array derived, training;
  for (auto variable : module.getOps<exec::VariableOp>()) {
    if (auto how = variable->getAttrOfType<StringAttr>("exec.training"))
      training.push_back(json::Object{{"parameter", variable.getSymName().str()},
                                      {"training", how.getValue().str()}});
    if (variable.getRole() == program::Role::Parameter) {
      parameters += countElements(variable);
      parameterBytes += variable.getBytes();
    }
    if (variable.getRole() == program::Role::Derived)
      derived.push_back(json::Object{{"name", variable.getSymName().str()},
                                     {"bytes", int64_t(variable.getBytes())}});
  }
  json::Array entries;
  for (auto program : module.getOps<exec::ProgramOp>())
    entries.push_back(buildEntry(program));
  json::Array schedules;
  llvm::StringSet<> codes;
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    schedules.push_back(buildSchedule(kernel));
    codes.insert(kernel.getKey().value_or(kernel.getSymName()));
  }
  int64_t kernels = codes.size();
  json::Object report{{"model", module.getSymName().value_or("").str()},
                      {"parameters", parameters},
                      {"parameter_bytes", parameterBytes},
                      {"state_bytes", stateBytes},
                      {"kernels", kernels},
                      {"entries", std::move(entries)},
                      {"schedules", std::move(schedules)}};
  if (!derived.empty())
    report["derived"] = std::move(derived);
  if (!training.empty())
    report["training"] = std::move(training);
  return report;
}

/// What the cubins of CUDA kernels need of a GPU.
static json::Array buildCode(ArrayRef<SelectedKernel> selected, ArrayRef<CompiledKernel> compiled) {
  json::Array rows;
  for (auto [kernel, code] : llvm::zip_equal(selected, compiled))
    for (const KernelImage &image : code.images)
      for (auto [phase, figures] : llvm::zip(kernel.launches(), image.figures))
        rows.push_back(json::Object{{"kernel", kernel.symbols[phase]},
                                    {"architecture", "sm_" + std::to_string(image.architecture)},
                                    {"threads", kernel.candidate.phases[phase].threads},
                                    {"registers", figures.registers},
                                    {"spill_bytes", figures.spillBytes},
                                    {"shared_bytes", figures.sharedBytes}});
  return rows;
}

/// The layers that launch a kernel, without their stages.
static json::Array layersOf(ArrayRef<StringRef> records) {
  llvm::SetVector<StringRef> layers;
  for (StringRef record : records)
    layers.insert(record.split('/').first);
  return json::Array(layers.getArrayRef());
}

/// A row each, with the layers in the order in which they run.
static json::Array buildFallbacks(ModuleOp module, KernelSelector &selector) {
  auto layers = findLayers(module);
  json::Array rows;
  for (const Fallback &fallback : findFallbacks(module, selector)) {
    exec::KernelOp kernel = fallback.kernel;
    rows.push_back(json::Object{{"kernel", kernel.getSymName().str()},
                                {"layers", layersOf(layers[kernel.getSymName()].getArrayRef())},
                                {"wanted", fallback.wanted},
                                {"reason", fallback.reason}});
  }
  return rows;
}

/// The same of kernels without fast code.
static json::Array buildSlowKernels(ModuleOp module, KernelSelector &selector,
                                    ArrayRef<SelectedKernel> selected) {
  auto layers = findLayers(module);
  json::Array rows;
  for (const SlowKernel &slow : findSlowKernels(module, selector, selected)) {
    exec::KernelOp kernel = slow.kernel;
    exec::ProgramOp entry = slow.entry;
    rows.push_back(json::Object{{"kernel", kernel.getSymName().str()},
                                {"layers", layersOf(layers[kernel.getSymName()].getArrayRef())},
                                {"reason", slow.reason},
                                {"entry", entry.getSymName().str()},
                                {"share", slow.share}});
  }
  return rows;
}

json::Value buildReport(ModuleOp module, KernelSelector &selector,
                        ArrayRef<SelectedKernel> selected, ArrayRef<CompiledKernel> compiled) {
  const Target &target = selector.target();
  json::Object report = ReportBuilder(module, target).build();
  report["target"] = target.name();
  if (json::Array fallbacks = buildFallbacks(module, selector); !fallbacks.empty())
    report["fallbacks"] = std::move(fallbacks);
  if (json::Array slow = buildSlowKernels(module, selector, selected); !slow.empty())
    report["slow"] = std::move(slow);
  target.describe(report);
  if (target.hasImages())
    report["code"] = buildCode(selected.take_front(compiled.size()), compiled);
  return report;
}

//===------------------------------------------------------------------------------------------===//
// For people
//===------------------------------------------------------------------------------------------===//

namespace {
/// Rows of texts, printed with columns of equal width: the first ones and the last to the left, the
/// others to the right.
class Table {
public:
  /// `leading`: how many of the first columns are texts.
  explicit Table(size_t leading = 2) : leading(leading) {}
  void add(std::initializer_list<std::string> cells) { rows.emplace_back(cells); }

  void print(llvm::raw_ostream &out) const {
    SmallVector<size_t> widths(rows.front().size(), 0);
    for (const auto &row : rows)
      for (auto [width, cell] : llvm::zip(widths, row))
        width = std::max(width, cell.size());
    for (const auto &row : rows) {
      std::string line;
      for (auto [i, cell] : llvm::enumerate(row)) {
        std::string gap(widths[i] - cell.size(), ' ');
        bool left = i < leading || i + 1 == row.size();
        line += "  " + (left ? cell + gap : gap + cell);
      }
      out << StringRef(line).rtrim() << '\n';
    }
  }

private:
  size_t leading;
  std::vector<std::vector<std::string>> rows;
};
} // namespace

/// A line a layer: what its kernels cost together, and their share of the entry's FLOPs.
static void printSums(const json::Object &entry, llvm::raw_ostream &out) {
  const json::Array *sums = entry.getArray("sums");
  if (!sums)
    return;
  Table table(/*leading=*/1);
  table.add({"layer", "kernels", "parameters", "FLOP", "share", "bytes", "activations", ""});
  double all = std::max<int64_t>(1, get(entry, "flops"));
  for (const json::Value &value : *sums) {
    const json::Object &row = *value.getAsObject();
    table.add({row.getString("layer").value_or("").str(), std::to_string(get(row, "records")),
               withFactor(get(row, "parameters"), ""), withFactor(get(row, "flops"), ""),
               llvm::formatv("{0:F1}%", 100 * get(row, "flops") / all),
               formatBytes(get(row, "bytes")), formatBytes(get(row, "activation_bytes")), ""});
  }
  out << '\n' << entry.getString("name").value_or("") << " by layer\n";
  table.print(out);
}

/// Passes over memory that are more than the formula needs, and how much all together are.
static void printPasses(const json::Object &entry, llvm::raw_ostream &out) {
  const json::Array *passes = entry.getArray("passes");
  if (!passes || passes->empty())
    return;
  Table table(/*leading=*/2);
  table.add({"layer", "stage", "kernels", "bytes", "least", "factor", ""});
  int64_t all = 0, least = 0, behindProducts = 0;
  auto add = [&](const std::string &layer, const std::string &stage, const std::string &records,
                 int64_t bytes, int64_t needed) {
    table.add({layer, stage, records, formatBytes(bytes), formatBytes(needed),
               formatFactor(bytes, needed), ""});
  };
  for (const json::Value &value : *passes) {
    const json::Object &row = *value.getAsObject();
    const int64_t bytes = get(row, "bytes"), needed = get(row, "least_bytes");
    all += bytes;
    least += needed;
    behindProducts += get(row, "behind_products_bytes");
    // Workspaces of sums are next to nothing.
    if (bytes > needed + needed / 100)
      add(row.getString("layer").value_or("").str(), row.getString("stage").value_or("").str(),
          std::to_string(get(row, "records")), bytes, needed);
  }
  add("all", "", "", all, least);
  out << '\n'
      << entry.getString("name").value_or("")
      << ", bytes beside the least by layer and stage, without products, convolutions and "
         "attention\n";
  table.print(out);
  if (behindProducts > 0)
    out << "  " << formatBytes(behindProducts)
        << " of the least are read by sums of what products and convolutions write\n";
}

/// Reductions over ranks, and what of them nothing hides.
static void printBuckets(const json::Object &entry, llvm::raw_ostream &out) {
  const json::Array *buckets = entry.getArray("buckets");
  if (!buckets)
    return;
  Table table(/*leading=*/2);
  table.add({"bucket", "behind", "tensors", "parameters", "bytes", "begins at", "takes", "beside",
             "exposed", ""});
  double all = 0, exposed = 0;
  for (const json::Value &value : *buckets) {
    const json::Object &row = *value.getAsObject();
    auto seconds = [&](StringRef key) { return formatSeconds(row.getNumber(key).value_or(0)); };
    table.add({row.getString("bucket").value_or("").str(),
               row.getString("behind").value_or("").str(), std::to_string(get(row, "tensors")),
               withFactor(get(row, "parameters"), ""), formatBytes(get(row, "bytes")),
               seconds("begin_seconds"), seconds("seconds"), seconds("hidden_by_seconds"),
               seconds("exposed_seconds"), ""});
    all += row.getNumber("seconds").value_or(0);
    exposed += row.getNumber("exposed_seconds").value_or(0);
  }
  out << '\n' << entry.getString("name").value_or("") << " by bucket\n";
  table.print(out);
  out << "  reductions over ranks estimated " << formatSeconds(all) << ", of which "
      << formatSeconds(exposed) << " exposed\n";
}

/// What it costs to need less memory, or that it need not.
static void printMemory(const json::Object &entry, llvm::raw_ostream &out) {
  const json::Object *memory = entry.getObject("memory");
  if (!memory)
    return;
  const double seconds = memory->getNumber("recompute_seconds").value_or(0) +
                         memory->getNumber("divided_seconds").value_or(0);
  const double others = entry.getNumber("estimated_seconds").value_or(0) - seconds;
  const bool isDivided = memory->getInteger("batch_parts").has_value();
  out << "  arena and state " << formatBytes(get(*memory, "bytes_after"));
  if (get(*memory, "recomputed") == 0 && !isDivided) {
    out << ", within the budget of " << formatBytes(get(*memory, "budget_bytes")) << " as it is\n";
    return;
  }
  out << " instead of " << formatBytes(get(*memory, "bytes_before"));
  if (memory->getInteger("budget_bytes"))
    out << ", budget " << formatBytes(get(*memory, "budget_bytes"));
  if (isDivided)
    out << ", the batch in " << get(*memory, "batch_parts") << " parts where it is large";
  // Parts may lie in the cache where the whole does not.
  out << llvm::formatv(": {0} run again, estimated {1}, {2:F2}% {3} time\n",
                       get(*memory, "recomputed"), formatSeconds(std::abs(seconds)),
                       others > 0 ? 100 * std::abs(seconds) / others : 0.0,
                       seconds < 0 ? "less" : "more");
}

/// What lies in one layout and is wanted in another.
static void printConversions(const json::Object &entry, llvm::raw_ostream &out) {
  const json::Object *row = entry.getObject("conversions");
  if (!row)
    return;
  out << "  " << get(*row, "inside") << " tensors (" << formatBytes(get(*row, "inside_bytes"))
      << ") change their layout where they are read or written, " << get(*row, "apart") << " ("
      << formatBytes(get(*row, "apart_bytes")) << ") in kernels of their own\n";
}

/// `onWhat`: " on one core".
static void printEntry(const json::Object &entry, StringRef onWhat, llvm::raw_ostream &out) {
  out << '\n'
      << entry.getString("name").value_or("") << ", batch " << get(entry, "batch") << ": "
      << get(entry, "launches") << " launches of " << get(entry, "kernels") << " kernels, arena "
      << formatBytes(get(entry, "arena_bytes")) << " for " << formatBytes(get(entry, "live_bytes"))
      << " live at once\n";
  Table table;
  table.add({"layer", "stage", "shape", "parameters", "FLOP", "activations", "kernel"});
  if (const json::Array *layers = entry.getArray("layers"))
    for (const json::Value &value : *layers) {
      const json::Object &row = *value.getAsObject();
      table.add({row.getString("layer").value_or("").str(),
                 row.getString("stage").value_or("").str(), formatShape(row),
                 withFactor(get(row, "parameters"), ""), withFactor(get(row, "flops"), ""),
                 formatBytes(get(row, "activation_bytes")),
                 row.getString("kernel").value_or("").str()});
    }
  table.add({"total", "", "", "", withFactor(get(entry, "flops"), ""),
             formatBytes(get(entry, "activation_bytes")), ""});
  table.print(out);
  out << "  estimated " << formatSeconds(entry.getNumber("estimated_seconds").value_or(0)) << onWhat
      << '\n';
  if (int64_t multiplyAdds = get(entry, "multiply_adds"))
    out << "  " << withFactor(static_cast<double>(multiplyAdds) / get(entry, "batch"), "", 4)
        << " multiply-adds a sample in convolutions and products\n";
  printConversions(entry, out);
  printMemory(entry, out);
  printSums(entry, out);
  printPasses(entry, out);
  printBuckets(entry, out);
}

/// Whose code each kernel is, how it goes about it and what it should cost; and the second best.
static void printSchedules(const json::Array &schedules, llvm::raw_ostream &out) {
  auto seconds = [](const json::Object &row, StringRef name) {
    return formatSeconds(row.getNumber(name).value_or(0));
  };
  Table table;
  table.add({"kernel", "schedule", "estimated", "second best", ""});
  for (const json::Value &value : schedules) {
    const json::Object &row = *value.getAsObject();
    StringRef second = row.getString("second_best").value_or("");
    table.add({row.getString("kernel")->str(), row.getString("schedule")->str(),
               seconds(row, "estimated_seconds"),
               second.empty() ? "-" : seconds(row, "second_best_seconds"), second.str()});
  }
  out << '\n';
  table.print(out);
}

/// What is computed from parameters once, and not in each run.
static void printDerived(const json::Array &derived, llvm::raw_ostream &out) {
  Table table(/*leading=*/1);
  table.add({"derived variable", "bytes", ""});
  int64_t all = 0;
  for (const json::Value &value : derived) {
    const json::Object &row = *value.getAsObject();
    table.add({row.getString("name")->str(), formatBytes(get(row, "bytes")), ""});
    all += get(row, "bytes");
  }
  table.add({"total", formatBytes(all), ""});
  out << '\n';
  table.print(out);
}

/// "conv3x3_bias_32x7x7_1a2b3c4d (conv1 and 2 more): "
static std::string formatKernel(const json::Object &row) {
  const json::Array &layers = *row.getArray("layers");
  std::string text = row.getString("kernel")->str();
  if (!layers.empty())
    text += " (" + layers.front().getAsString()->str() +
            (layers.size() > 1 ? llvm::formatv(" and {0} more", layers.size() - 1).str() : "") +
            ")";
  return text + ": ";
}

static void printFallbacks(const json::Array &fallbacks, llvm::raw_ostream &out) {
  for (const json::Value &value : fallbacks) {
    const json::Object &row = *value.getAsObject();
    out << formatKernel(row) << "not " << *row.getString("wanted") << ": "
        << *row.getString("reason") << '\n';
  }
}

static void printSlowKernels(const json::Array &slow, llvm::raw_ostream &out) {
  for (const json::Value &value : slow) {
    const json::Object &row = *value.getAsObject();
    out << formatKernel(row) << "plain loops: " << *row.getString("reason")
        << llvm::formatv("; with others {0:F0}% of {1}\n", 100 * *row.getNumber("share"),
                         *row.getString("entry"));
  }
}

static void printCode(const json::Array &code, llvm::raw_ostream &out) {
  if (code.empty())
    return;
  Table table;
  table.add({"kernel", "architecture", "threads", "registers", "spill", "shared", ""});
  for (const json::Value &value : code) {
    const json::Object &row = *value.getAsObject();
    table.add({row.getString("kernel")->str(), row.getString("architecture")->str(),
               std::to_string(get(row, "threads")), std::to_string(get(row, "registers")),
               formatBytes(get(row, "spill_bytes")), formatBytes(get(row, "shared_bytes")), ""});
  }
  out << '\n';
  table.print(out);
}

static void printTraining(const json::Array &training, llvm::raw_ostream &out) {
  Table table;
  table.add({"parameter", "trains otherwise", ""});
  for (const json::Value &value : training) {
    const json::Object &row = *value.getAsObject();
    table.add({row.getString("parameter")->str(), row.getString("training")->str(), ""});
  }
  out << '\n';
  table.print(out);
}

void printReport(const json::Value &report, llvm::raw_ostream &out) {
  const json::Object &all = *report.getAsObject();
  StringRef model = all.getString("model").value_or("");
  StringRef target = all.getString("target").value_or("");
  out << (model.empty() ? "model" : model) << " for " << target << ": " << get(all, "parameters")
      << " parameters (" << formatBytes(get(all, "parameter_bytes")) << "), state "
      << formatBytes(get(all, "state_bytes")) << ", " << get(all, "kernels") << " kernels\n";
  if (const json::Array *entries = all.getArray("entries"))
    for (const json::Value &entry : *entries)
      printEntry(*entry.getAsObject(), target.starts_with("cuda") ? "" : " on one core", out);
  if (const json::Array *schedules = all.getArray("schedules"))
    printSchedules(*schedules, out);
  if (const json::Array *derived = all.getArray("derived"))
    printDerived(*derived, out);
  if (const json::Array *training = all.getArray("training"))
    printTraining(*training, out);
  if (const json::Array *fallbacks = all.getArray("fallbacks"))
    printFallbacks(*fallbacks, out);
  if (const json::Array *slow = all.getArray("slow"))
    printSlowKernels(*slow, out);
  if (const json::Array *code = all.getArray("code"))
    printCode(*code, out);
}

} // namespace dlc::codegen
