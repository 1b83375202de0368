// dlc-run inspect: what is in a module.
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"
#include "runtime/Exec/Entries.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace dlc::runtime::tool {
namespace {

Json describeType(std::string_view name, const TensorType &type) {
  return {{"name", name}, {"dtype", dtypeName(type.dtype)}, {"shape", type.shape}};
}

std::string_view valueKindName(dlc_value_kind kind) {
  static constexpr std::string_view names[] = {"?",           "input",    "result",
                                               "accumulator", "gradient", "check"};
  return names[kind];
}

Json describeEntry(const Plan &plan, const EntryInfo &entry) {
  Json inputs = Json::array(), outputs = Json::array(), metrics = Json::array();
  for (const ValueInfo &input : entry.inputs) {
    inputs.push_back(describeType(input.name, input.type));
    if (input.batchAxis != DLC_NONE)
      inputs.back()["batch_axis"] = input.batchAxis;
    if (input.classes != 0)
      inputs.back()["classes"] = input.classes;
  }
  for (const ValueInfo &output : entry.outputs) {
    outputs.push_back(describeType(output.name, output.type));
    outputs.back()["kind"] = valueKindName(output.kind);
  }
  for (const MetricInfo &metric : entry.metrics)
    metrics.push_back(metric.name);
  std::set<uint32_t> kernels;
  uint64_t launches = 0, libraryCalls = 0;
  for (uint32_t i = 0; i < entry.records.count; ++i) {
    const dlc_record &record = plan.records[entry.records.first + i];
    if (record.condition == DLC_IF_REFUSED)
      continue;
    libraryCalls += record.kind == DLC_RECORD_LIBRARY;
    if (record.kind != DLC_RECORD_LAUNCH)
      continue;
    ++launches;
    kernels.insert(record.index);
  }
  return {{"name", entry.name},
          {"kind", entryKindName(entry.kind)},
          {"batch", entry.batch},
          {"inputs", inputs},
          {"outputs", outputs},
          {"metrics", metrics},
          {"arena_bytes", entry.arenaBytes},
          {"records", entry.records.count},
          {"launches", launches},
          {"kernels", kernels.size()},
          {"library_calls", libraryCalls},
          {"flops", flopsOf(plan, entry)},
          {"streams", entry.streams}};
}

/// As one writes it in a model.
Json describeSchedulePart(const SchedulePart &part) {
  struct Names {
    const char *curve, *a, *b, *c;
  };
  static constexpr Names names[] = {{"?", "", "", ""},
                                    {"constant", "factor", "", ""},
                                    {"step", "factor", "", ""},
                                    {"exponential", "factor", "", ""},
                                    {"polynomial", "power", "end", ""},
                                    {"cosine", "end", "", ""},
                                    {"cosine_restarts", "end", "multiply", ""},
                                    {"one_cycle", "peak", "start", "end"},
                                    {"cyclic", "low", "", ""},
                                    {"warmup", "start", "", ""},
                                    {"plateau", "factor", "patience", ""}};
  const Names &name = names[part.kind];
  Json described = {{"curve", name.curve}};
  if (const double distance = part.n > 0 ? part.n : part.length; distance > 0)
    described[part.inEpochs ? "epochs" : "steps"] = distance;
  for (auto [key, number] : {std::pair{name.a, part.a}, {name.b, part.b}, {name.c, part.c}})
    if (*key)
      described[key] = number;
  if (part.kind == DLC_SCHEDULE_PLATEAU) {
    described["metric"] = part.metric;
    described["mode"] = part.c == 1 ? "max" : "min";
  }
  return described;
}

Json describeStep(const Plan &plan, const dlc_step &step) {
  Json schedule = Json::array();
  for (uint32_t i = 0; i < step.schedule.count; ++i)
    schedule.push_back(describeSchedulePart(plan.schedule[step.schedule.first + i]));
  return {{"name", plan.entries[step.entry].name}, {"every", step.every}, {"schedule", schedule}};
}

Json describeKernel(const Plan &plan, const KernelInfo &kernel, uint64_t launches) {
  Json described = {{"symbol", kernel.symbol},
                    {"target", targetName(kernel.target)},
                    {"launches", launches},
                    {"scratch_bytes", kernel.scratchBytes}};
  if (kernel.target != DLC_TARGET_CUDA)
    return described;
  described["threads"] = kernel.threads;
  described["shared_bytes"] = kernel.sharedBytes;
  Json images = Json::array();
  for (uint32_t i = 0; i < kernel.images.count; ++i) {
    const dlc_image &image = plan.images[kernel.images.first + i];
    if (image.kind == DLC_IMAGE_PTX)
      images.push_back(concat("ptx_", image.architecture));
    else
      images.push_back(concat("sm_", image.architecture, ":", image.registers, "r",
                              image.spill_bytes ? concat("+", image.spill_bytes, "B") : ""));
  }
  described["images"] = images;
  return described;
}

Json describeKernels(const Plan &plan) {
  std::vector<uint64_t> launches(plan.kernels.size(), 0);
  for (const dlc_record &record : plan.records)
    if (record.kind == DLC_RECORD_LAUNCH)
      ++launches[record.index];
  Json kernels = Json::array();
  for (size_t i = 0; i < plan.kernels.size(); ++i)
    kernels.push_back(describeKernel(plan, plan.kernels[i], launches[i]));
  return kernels;
}

Json describeCalls(const Plan &plan) {
  Json calls = Json::array();
  for (uint32_t call = 0; call < plan.calls.size(); ++call)
    calls.push_back(describeCall(plan, call));
  return calls;
}

Json describeRecords(const Plan &plan) {
  static constexpr std::string_view kinds[] = {
      "?", "launch", "library", "copy", "fill", "collective", "?", "record_event", "wait_event"};
  static constexpr std::string_view conditions[] = {"", "accepted", "refused"};
  Json records = Json::array();
  for (size_t i = 0; i < plan.records.size(); ++i) {
    const dlc_record &record = plan.records[i];
    records.push_back(
        {{"name", plan.recordNames[i]},
         {"kind", kinds[record.kind]},
         {"stream", record.stream},
         {"kernel", record.kind == DLC_RECORD_LAUNCH ? plan.kernels[record.index].symbol : ""},
         {"tasks", record.tasks},
         {"if", conditions[record.condition]},
         {"flops", record.flops},
         {"bytes", record.bytes}});
    if (record.kind == DLC_RECORD_RECORD_EVENT || record.kind == DLC_RECORD_WAIT_EVENT)
      records.back()["event"] = record.index;
  }
  return records;
}

std::string fixedText(const char *text, size_t size) {
  return std::string(text, strnlen(text, size));
}

/// The model's text may have several lines, but nothing else that a terminal would obey.
std::string printableLines(std::string_view text) {
  std::string lines;
  for (bool more = true; more;) {
    const size_t end = text.find('\n');
    more = end != std::string_view::npos;
    lines += printable(text.substr(0, end)) + (more ? "\n" : "");
    text.remove_prefix(more ? end + 1 : text.size());
  }
  return lines;
}

/// How parameters train that do not as their optimizer says, into their rows.
void addTraining(Json &variables, const Json &report) {
  const auto rows = report.find("training");
  if (rows == report.end() || !rows->is_array())
    return;
  for (const Json &row : *rows)
    for (Json &variable : variables)
      if (row.is_object() && row.contains("parameter") && row.contains("training") &&
          row["parameter"] == variable["name"])
        variable["training"] = row["training"];
}

Json describe(const Module &module, bool records) {
  const Plan &plan = module.plan();
  const dlc_note &note = module.note();
  Json entries = Json::array(), variables = Json::array(), scalars = Json::array(),
       steps = Json::array();
  for (const EntryInfo &entry : plan.entries)
    entries.push_back(describeEntry(plan, entry));
  uint64_t parameters = 0, parameterBytes = 0;
  for (const VariableInfo &variable : plan.variables) {
    variables.push_back(describeType(variable.name, variable.type));
    variables.back()["role"] = roleName(variable.role);
    if (variable.role != DLC_ROLE_PARAMETER)
      continue;
    parameters += variable.type.elementCount();
    parameterBytes += variable.type.logicalBytes();
  }
  for (const ScalarInfo &scalar : plan.scalars)
    scalars.push_back({{"name", scalar.name}, {"value", scalar.value}});
  for (const dlc_step &step : plan.steps)
    steps.push_back(describeStep(plan, step));
  Json all = {{"model", plan.model},
              {"documentation", plan.documentation},
              {"compiler", fixedText(note.compiler, sizeof(note.compiler))},
              {"abi_version", note.abi_version},
              {"targets", module.targetNames()},
              {"cpu", fixedText(note.cpu_name, sizeof(note.cpu_name))},
              {"cpu_features", cpuFeatureNames(note.cpu_features)},
              {"graph_hash", module.graphHash()},
              {"parameters", parameters},
              {"parameter_bytes", parameterBytes},
              {"state_bytes", plan.stateBytes},
              {"constant_bytes", plan.constants.size()},
              {"entries", entries},
              {"variables", variables},
              {"steps", steps},
              {"scalars", scalars},
              {"kernels", describeKernels(plan)}};
  if (!plan.calls.empty())
    all["library_calls"] = describeCalls(plan);
  if (records)
    all["records"] = describeRecords(plan);
  Json report = Json::parse(plan.report, nullptr, /*allow_exceptions=*/false);
  all["report"] = report.is_discarded() ? Json() : report;
  addTraining(all["variables"], all["report"]);
  if (const auto rows = all["report"].find("entries"); rows != all["report"].end())
    for (Json &entry : all["entries"])
      for (const Json &row : *rows)
        if (row.is_object() && row.contains("live_bytes") && row.contains("name") &&
            row["name"] == entry["name"])
          entry["live_bytes"] = row["live_bytes"];
  return all;
}

std::string text(const Json &value) {
  return value.is_string() ? printable(value.get_ref<const std::string &>()) : value.dump();
}

/// "i32[8] of 4 classes"
std::string shapeText(const Json &tensor) {
  std::string shape = text(tensor["dtype"]) + "[";
  for (const Json &extent : tensor["shape"])
    shape += (shape.back() == '[' ? "" : ", ") + extent.dump();
  shape += "]";
  return tensor.contains("classes") ? shape + " of " + text(tensor["classes"]) + " classes" : shape;
}

/// A number with the unit that its name tells; a shape as 64x20x24x24.
std::string cell(const std::string &key, const Json &value) {
  if (value.is_array()) {
    std::string joined;
    for (const Json &item : value)
      joined += (joined.empty() ? "" : "x") + text(item);
    return joined.empty() ? "-" : joined;
  }
  if (value.is_number() && key.find("bytes") != std::string::npos)
    return bytesText(value.get<double>());
  if (value.is_number() &&
      (key.find("flops") != std::string::npos || key.find("parameters") != std::string::npos))
    return countText(value.get<double>());
  if (value.is_number_float())
    return printf("%.4g", value.get<double>());
  return text(value);
}

bool isListOfObjects(const Json &value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json &item) { return item.is_object(); });
}

/// A list of objects as a table, its columns the keys of all of them in order of appearance. Lists
/// inside of an item follow as tables of their own.
void printList(const std::string &title, const Json &list) {
  std::vector<std::string> columns;
  std::set<std::string> known;
  for (const Json &item : list)
    for (const auto &field : item.items())
      if (isListOfObjects(field.value()))
        known.insert(field.key());
  for (const Json &item : list)
    for (const auto &field : item.items())
      if (known.insert(field.key()).second)
        columns.push_back(field.key());
  // The keys of a report are sorted; what a row is about comes first.
  std::stable_partition(columns.begin(), columns.end(), [](const std::string &key) {
    return key == "name" || key == "layer" || key == "stage";
  });
  std::vector<std::string> headings;
  std::ranges::transform(columns, std::back_inserter(headings), printable);
  Table table(headings);
  for (const Json &item : list) {
    std::vector<std::string> row;
    for (const std::string &column : columns)
      row.push_back(item.contains(column) ? cell(column, item[column]) : "");
    table.add(row);
  }
  std::printf("\n%s\n", printable(title).c_str());
  table.print();
  for (const Json &item : list)
    for (const auto &field : item.items())
      if (isListOfObjects(field.value()))
        printList(item.contains("name") ? field.key() + " of " + text(item["name"]) : field.key(),
                  field.value());
}

void printEntries(const Json &entries) {
  for (const Json &entry : entries) {
    std::printf("\n%s\n", text(entry["name"]).c_str());
    Table values({"", "name", "type"});
    for (const Json &input : entry["inputs"])
      values.add({"input", text(input["name"]), shapeText(input)});
    for (const Json &output : entry["outputs"])
      values.add({text(output["kind"]), text(output["name"]), shapeText(output)});
    values.print();
  }
}

void printVariables(const Json &variables) {
  Table table({"variable", "type", "role", "trains otherwise"});
  for (const Json &variable : variables)
    table.add({text(variable["name"]), shapeText(variable), text(variable["role"]),
               variable.contains("training") ? text(variable["training"]) : ""});
  std::puts("\nvariables");
  table.print();
}

/// A table of a section, if there is one and it is not empty.
void printSection(const Json &all, const std::string &key, const std::string &title) {
  if (const auto it = all.find(key); it != all.end() && isListOfObjects(*it))
    printList(title, *it);
}

/// Of each entry what its layers cost, then its kernels one by one.
void printLayers(const Json &report) {
  const auto entries = report.find("entries");
  if (entries == report.end() || !isListOfObjects(*entries))
    return;
  for (const Json &entry : *entries) {
    const std::string name = entry.contains("name") ? text(entry["name"]) : "";
    printSection(entry, "sums", name + " by layer");
    printSection(entry, "layers", name + " by kernel");
    printSection(entry, "buckets", name + " by bucket");
  }
}

std::string signatureText(const Json &value) {
  return text(value["name"]) + " " + shapeText(value);
}

/// What an entry takes and gives, without the sums behind its metrics.
void printSignature(const Json &entry) {
  std::string takes, gives;
  size_t gradients = 0;
  for (const Json &input : entry["inputs"])
    addItem(takes, signatureText(input));
  for (const Json &output : entry["outputs"]) {
    gradients += output["kind"] == "gradient";
    if (output["kind"] == "result")
      addItem(gives, signatureText(output));
  }
  for (const Json &metric : entry["metrics"])
    addItem(gives, text(metric));
  if (gradients != 0)
    addItem(gives, std::to_string(gradients) + " gradients");
  std::printf("\n%s\n", text(entry["name"]).c_str());
  if (!takes.empty())
    std::printf("  takes  %s\n", takes.c_str());
  if (!gives.empty())
    std::printf("  gives  %s\n", gives.c_str());
}

std::string settingsText(const Json &scalars) {
  std::string settings;
  for (const Json &scalar : scalars)
    addItem(settings, text(scalar["name"]) + "=" + cell("value", scalar["value"]));
  return settings;
}

void printFact(const char *name, const std::string &value) {
  std::printf("  %-10s  %s\n", name, value.c_str());
}

/// What one wants to know at a glance.
void printSummary(const Json &all) {
  std::printf("%s%s\n", text(all["model"]).c_str(),
              all["documentation"] == ""
                  ? ""
                  : (": " + printableLines(all["documentation"].get<std::string>())).c_str());
  double arena = 0;
  for (const Json &entry : all["entries"])
    arena = std::max(arena, entry["arena_bytes"].get<double>());
  printFact("target", text(all["targets"]) + (all["cpu"] == "" ? "" : " " + text(all["cpu"])) +
                          ", compiled by " + text(all["compiler"]));
  if (all["cpu_features"] != "")
    printFact("needs", text(all["cpu_features"]));
  printFact("parameters", countText(all["parameters"].get<double>()) + ", " +
                              bytesText(all["parameter_bytes"].get<double>()));
  printFact("memory", bytesText(all["state_bytes"].get<double>()) + " for variables, up to " +
                          bytesText(arena) + " for an entry's tensors");
  if (!all["scalars"].empty())
    printFact("settings", settingsText(all["scalars"]));
  Table table({"entry", "batch", "launches", "kernels", "FLOPs", "tensors", "live at once"});
  for (const Json &entry : all["entries"])
    table.add({text(entry["name"]), text(entry["batch"]), text(entry["launches"]),
               text(entry["kernels"]), countText(entry["flops"].get<double>()),
               bytesText(entry["arena_bytes"].get<double>()),
               entry.contains("live_bytes") ? cell("live_bytes", entry["live_bytes"]) : "-"});
  std::puts("");
  table.print();
  for (const Json &entry : all["entries"])
    printSignature(entry);
}

void printTables(const Json &all, const InspectFlags &flags) {
  if (flags.all || flags.entries)
    printEntries(all["entries"]);
  if (flags.all || flags.variables)
    printVariables(all["variables"]);
  if (flags.all || flags.settings)
    for (auto [key, title] : {std::pair{"steps", "steps"}, {"scalars", "settings"}})
      printSection(all, key, title);
  if (flags.all || flags.kernels) {
    for (auto [key, title] : {std::pair{"kernels", "kernels"}, {"library_calls", "library calls"}})
      printSection(all, key, title);
    for (auto [key, title] : {std::pair{"schedules", "schedules"}, {"code", "code"}})
      printSection(all["report"], key, title);
  }
  if (flags.all || flags.layers)
    printLayers(all["report"]);
  if (flags.all || flags.records)
    printSection(all, "records", "records");
}

} // namespace

Status inspect(const InspectFlags &flags) {
  DLC_TRY_ASSIGN(module, Module::load(flags.module));
  const Json all = describe(*module, flags.json || flags.all || flags.records);
  if (flags.json) {
    printJson(all);
    return {};
  }
  printSummary(all);
  printTables(all, flags);
  return {};
}

} // namespace dlc::runtime::tool
