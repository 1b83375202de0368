//===- MachineFile.cpp - see MachineFile.h ----------------------------------------------------===//
#include "codegen/Machine/MachineFile.h"
#include "runtime/Core/File.h"
#include "runtime/Core/Json.h"
#include "runtime/Core/NearestName.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <charconv>
#include <cmath>
#include <variant>

using namespace dlc::codegen;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr int64_t version = 1;

namespace {
/// A number of a record: a whole one of 1 or more, or one above 0.
template <typename Machine> struct Field {
  StringRef name;
  std::variant<int64_t Machine::*, double Machine::*> place;
  bool isShare = false; ///< of 1 at most
};

using CpuField = Field<CpuMachine>;
using GpuField = Field<GpuMachine>;
} // namespace

static llvm::ArrayRef<CpuField> fieldsOf(const CpuMachine &) {
  static const CpuField fields[] = {
      {"l1_bytes", &CpuMachine::l1Bytes},
      {"l2_bytes", &CpuMachine::l2Bytes},
      {"l3_bytes", &CpuMachine::l3Bytes},
      {"l3_cores", &CpuMachine::l3Cores},
      {"cores", &CpuMachine::cores},
      {"fmas_per_cycle", &CpuMachine::fmasPerCycle},
      {"loads_per_cycle", &CpuMachine::loadsPerCycle},
      {"issues_per_cycle", &CpuMachine::issuesPerCycle},
      {"fma_latency", &CpuMachine::fmaLatency},
      {"bf16_dots_per_cycle", &CpuMachine::bf16DotsPerCycle},
      {"bf16_dot_latency", &CpuMachine::bf16DotLatency},
      {"amx_dot_cycles", &CpuMachine::amxDotCycles},
      {"amx_load_cycles", &CpuMachine::amxLoadCycles},
      {"tile_cycles_per_second_32", &CpuMachine::tileCyclesPerSecond32},
      {"tile_cycles_per_second_64", &CpuMachine::tileCyclesPerSecond64},
      {"vector_operations_per_second", &CpuMachine::vectorOperationsPerSecond},
      {"scalar_operations_per_second", &CpuMachine::scalarOperationsPerSecond},
      {"l3_bytes_per_second", &CpuMachine::l3BytesPerSecond},
      {"memory_bytes_per_second", &CpuMachine::memoryBytesPerSecond},
      {"hidden_share", &CpuMachine::hiddenShare, true},
      {"l3_stream_bytes_per_second", &CpuMachine::l3StreamBytesPerSecond},
      {"stream_bytes_per_second", &CpuMachine::streamBytesPerSecond},
      {"run_bytes_per_second", &CpuMachine::runBytesPerSecond},
      {"sum_bytes_per_second", &CpuMachine::sumBytesPerSecond},
      {"gather_l3_bytes_per_second", &CpuMachine::gatherL3BytesPerSecond},
      {"gather_bytes_per_second", &CpuMachine::gatherBytesPerSecond},
      {"element_bytes_per_second", &CpuMachine::elementBytesPerSecond},
      {"copy_bytes_per_second", &CpuMachine::copyBytesPerSecond},
      {"l2_line_cycles", &CpuMachine::l2LineCycles},
      {"jump_cycles", &CpuMachine::jumpCycles},
      {"l3_element_cycles", &CpuMachine::l3ElementCycles},
      {"conflict_cycles", &CpuMachine::conflictCycles},
      {"host_sum_seconds", &CpuMachine::hostSumSeconds}};
  return fields;
}

static llvm::ArrayRef<GpuField> fieldsOf(const GpuMachine &) {
  static const GpuField fields[] = {
      {"multiprocessors", &GpuMachine::multiprocessors},
      {"row_bytes", &GpuMachine::rowBytes},
      {"launch_seconds", &GpuMachine::launchSeconds},
      {"memory_bytes_per_second", &GpuMachine::memoryBytesPerSecond},
      {"operations_per_second", &GpuMachine::operationsPerSecond},
      {"tile_operations_per_second", &GpuMachine::tileOperationsPerSecond},
      {"library_operations_per_second", &GpuMachine::libraryOperationsPerSecond},
      {"forward_operations_per_second", &GpuMachine::forwardOperationsPerSecond},
      {"data_operations_per_second", &GpuMachine::dataOperationsPerSecond},
      {"filter_operations_per_second", &GpuMachine::filterOperationsPerSecond},
      {"point_data_operations_per_second", &GpuMachine::pointDataOperationsPerSecond},
      {"point_filter_operations_per_second", &GpuMachine::pointFilterOperationsPerSecond},
      {"stride_slowdown", &GpuMachine::strideSlowdown},
      {"image_operations_per_second", &GpuMachine::imageOperationsPerSecond},
      {"image_filter_operations_per_second", &GpuMachine::imageFilterOperationsPerSecond},
      {"tensor_core_operations_per_second", &GpuMachine::tensorCoreOperationsPerSecond},
      {"half_operations_per_second", &GpuMachine::halfOperationsPerSecond},
      {"copy_bytes_per_second", &GpuMachine::copyBytesPerSecond}};
  return fields;
}

static StringRef kindOf(const CpuMachine &) { return "cpu"; }
static StringRef kindOf(const GpuMachine &) { return "gpu"; }

//===------------------------------------------------------------------------------------------===//
// Reading
//===------------------------------------------------------------------------------------------===//

/// As people wrote it.
static std::string found(const json::Value &value) {
  return llvm::formatv("found {0}", value).str();
}

/// What a number cannot be; empty if all is well.
static std::string store(const json::Value &value, int64_t &number, bool isShare) {
  const std::optional<int64_t> whole = value.getAsInteger();
  if (!whole || *whole < 1 || *whole > int64_t(1) << 40)
    return "expected a whole number from 1 to 2^40, " + found(value);
  number = *whole;
  return "";
}

static std::string store(const json::Value &value, double &number, bool isShare) {
  const std::optional<double> any = value.getAsNumber();
  if (!any || !std::isfinite(*any) || *any <= 0 || (isShare && *any > 1))
    return std::string("expected a number above 0, ") + (isShare ? "of 1 at most, " : "") +
           found(value);
  number = *any;
  return "";
}

/// Why there is no field of the name.
template <typename Machine> static std::string unknown(StringRef name, const Machine &machine) {
  std::vector<std::string_view> names;
  for (const auto &field : fieldsOf(machine))
    names.push_back(field.name);
  const std::string_view nearest = dlc::runtime::nearestName(name, names);
  std::string list = "unknown field, expected one of ";
  for (std::string_view each : names)
    list.append(each == names.front() ? "" : ", ").append(each);
  return nearest.empty() ? list : "unknown field, did you mean '" + std::string(nearest) + "'?";
}

/// Takes what the object says of the machine; fails with a field and what is wrong with it.
template <typename Machine> static llvm::Error take(const json::Object &object, Machine &machine) {
  for (const auto &[key, value] : object) {
    const StringRef name = key;
    if (name == "dlc_machine" || name == kindOf(machine))
      continue;
    auto field = llvm::find_if(fieldsOf(machine), [&](auto &one) { return one.name == name; });
    const std::string wrong =
        field == fieldsOf(machine).end()
            ? unknown(name, machine)
            : std::visit([&](auto place) { return store(value, machine.*place, field->isShare); },
                         field->place);
    if (!wrong.empty())
      return llvm::createStringError(name + ": " + wrong);
  }
  return llvm::Error::success();
}

/// The object of a file, for a machine of `kind`.
static llvm::Expected<json::Object> readObject(const std::string &path, StringRef kind) {
  constexpr uint64_t limit = 1 << 20;
  auto bytes = dlc::runtime::readWholeFile(path, limit);
  if (!bytes.ok())
    return llvm::createStringError(std::string(bytes.status().message()));
  const StringRef text(reinterpret_cast<const char *>(bytes->data()), bytes->size());
  if (const dlc::runtime::Status deep = dlc::runtime::checkJsonDepth(text).in(path); !deep.ok())
    return llvm::createStringError(std::string(deep.message()));
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return llvm::createStringError(path + ": " +
                                   StringRef(llvm::toString(value.takeError())).rtrim());
  json::Object *object = value->getAsObject();
  const json::Value *found = object ? object->get("dlc_machine") : nullptr;
  if (!found || found->getAsInteger() != version)
    return llvm::createStringError(path + ": dlc_machine: expected " + llvm::Twine(version));
  const StringRef other = kind == "cpu" ? "gpu" : "cpu";
  if (object->get(other))
    return llvm::createStringError(path + ": " + other + ": the code is for a " + kind.upper() +
                                   ", expected the field " + kind);
  if (!object->getString(kind))
    return llvm::createStringError(path + ": " + kind + ": expected the name of a " +
                                   (kind == "cpu" ? "processor" : "GPU's architecture"));
  return std::move(*object);
}

/// `find` gives the record of a name, which has another name where there is none.
template <typename Find>
static auto readMachine(const std::string &path, StringRef kind, Find find)
    -> llvm::Expected<decltype(find(StringRef()))> {
  llvm::Expected<json::Object> object = readObject(path, kind);
  if (!object)
    return object.takeError();
  const StringRef name = *object->getString(kind);
  auto machine = find(name);
  if (machine.name != name)
    return llvm::createStringError(path + ": " + kind + ": no record of a '" + name +
                                   "', begin from '" + machine.name + "'");
  if (llvm::Error wrong = take(*object, machine))
    return llvm::createStringError(path + ": " + llvm::toString(std::move(wrong)));
  return machine;
}

llvm::Expected<CpuMachine> dlc::codegen::readCpuMachine(const std::string &path,
                                                        unsigned vectorBytes) {
  return readMachine(path, "cpu",
                     [&](StringRef name) { return CpuMachine::get(name, vectorBytes); });
}

llvm::Expected<GpuMachine> dlc::codegen::readGpuMachine(const std::string &path) {
  return readMachine(path, "gpu", GpuMachine::get);
}

//===------------------------------------------------------------------------------------------===//
// Writing
//===------------------------------------------------------------------------------------------===//

/// The fewest digits that are read as the same number.
template <typename T> static std::string shortest(T number) {
  char digits[32];
  return {digits, std::to_chars(digits, std::end(digits), number).ptr};
}

template <typename Machine> static std::string print(const Machine &machine) {
  std::string text = llvm::formatv("{{\n  \"dlc_machine\": {0},\n  \"{1}\": {2}", version,
                                   kindOf(machine), json::Value(machine.name));
  for (const auto &field : fieldsOf(machine))
    std::visit(
        [&](auto place) {
          text += llvm::formatv(",\n  \"{0}\": {1}", field.name, shortest(machine.*place));
        },
        field.place);
  return text + "\n}\n";
}

std::string dlc::codegen::printMachine(const CpuMachine &machine) { return print(machine); }
std::string dlc::codegen::printMachine(const GpuMachine &machine) { return print(machine); }
