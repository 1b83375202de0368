//===- Measurements.cpp - see Measurements.h --------------------------------------------------===//
#include "codegen/Plan/Measurements.h"
#include "codegen/Plan/PageTables.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace json = llvm::json;
using llvm::StringRef;

namespace dlc::codegen {

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// What of a line of bench does not fit the entry: layers with their kernels, as the entry has
/// them; of a kernel with phases each has a number behind the kernel's name.
static llvm::Error checkLayers(const json::Array &measured, const json::Object &entry) {
  llvm::StringMap<std::vector<StringRef>> kernels;
  for (const json::Value &value : *entry.getArray("layers")) {
    const json::Object &row = *value.getAsObject();
    const std::string stage = page::textOf(row, "stage");
    kernels[page::textOf(row, "layer") + (stage == "forward" ? "" : "/" + stage)].push_back(
        *row.getString("kernel"));
  }
  for (const json::Value &value : measured) {
    const json::Object *row = value.getAsObject();
    auto name = row ? row->getString("name") : std::nullopt;
    auto kernel = row ? row->getString("kernel") : std::nullopt;
    if (!name || !kernel || !row->getNumber("ms") || !(*row->getNumber("ms") >= 0))
      return fail("expected `name`, `kernel` and `ms` of each of `layers`");
    auto known = kernels.find(*name);
    if (known == kernels.end())
      return fail("is of another module: '" + *name + "' is no layer of entry '" +
                  page::textOf(entry, "name") + "'");
    const bool isKernel = llvm::any_of(known->second, [&](StringRef own) {
      StringRef rest = *kernel;
      return rest.consume_front(own) && (rest.empty() || rest.starts_with("_"));
    });
    if (!isKernel)
      return fail("is of another module: '" + *name + "' of entry '" + page::textOf(entry, "name") +
                  "' has no kernel '" + *kernel + "'");
  }
  return llvm::Error::success();
}

llvm::Expected<json::Array> readMeasurements(StringRef text, const json::Value &report) {
  json::Array lines;
  for (StringRef line : llvm::split(text, '\n')) {
    if (line.trim().empty())
      continue;
    llvm::Expected<json::Value> value = json::parse(line);
    if (!value)
      return llvm::consumeError(value.takeError()),
             fail("expected what dlc-run bench --layers --json prints, found no JSON");
    const json::Object *row = value->getAsObject();
    auto name = row ? row->getString("entry") : std::nullopt;
    if (!name || !row->getNumber("median_ms"))
      return fail("expected what dlc-run bench --layers --json prints, without `entry` or "
                  "`median_ms`");
    const json::Array *layers = row->getArray("layers");
    if (!layers)
      return fail("has no `layers`: dlc-run bench prints them with --layers");
    const json::Object *entry = nullptr;
    for (const json::Value &each : *report.getAsObject()->getArray("entries"))
      if (each.getAsObject()->getString("name") == name)
        entry = each.getAsObject();
    if (!entry)
      return fail("is of another module: there is no entry '" + *name + "'");
    if (llvm::Error error = checkLayers(*layers, *entry))
      return error;
    lines.push_back(std::move(*value));
  }
  if (lines.empty())
    return fail("is empty: expected what dlc-run bench --layers --json prints");
  return lines;
}

} // namespace dlc::codegen
