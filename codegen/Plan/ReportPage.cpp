//===- ReportPage.cpp - the report as a page for a browser ------------------------------------===//
//
// Text and pictures are all made here: the page's script only sorts tables and opens what a link
// leads to. Nothing is fetched from anywhere.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/Plan/ReportPage.h"
#include "codegen/Plan/LayeredGraph.h"
#include "codegen/Plan/PageEntry.h"
#include "codegen/Plan/PageTables.h"
#include "codegen/Plan/Quantities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace json = llvm::json;
using llvm::StringRef;
using namespace dlc;
using namespace dlc::codegen;
using namespace dlc::codegen::page;

static std::string section(StringRef id, StringRef title, const std::string &text) {
  return "<h2 id=\"" + id.str() + "\">" + title.str() + "</h2>\n" + text;
}

static std::string listLayers(const json::Object &row) {
  std::string text;
  for (const json::Value &layer : *row.getArray("layers"))
    text += (text.empty() ? "" : ", ") + layer.getAsString()->str();
  return text;
}

static std::string printCode(const json::Array &schedules) {
  HtmlTable table({"kernel", "schedule", "#estimate", "second", "#secondEstimate", "#ratio"});
  for (const json::Value &value : schedules) {
    const json::Object &row = *value.getAsObject();
    const std::string second = textOf(row, "second_best");
    const double time = numberOf(row, "estimated_seconds"),
                 other = numberOf(row, "second_best_seconds");
    const bool isKnown = !second.empty() && time > 0;
    table.add({word(textOf(row, "kernel")), word(textOf(row, "schedule")), seconds(time),
               word(second.empty() ? "-" : second), second.empty() ? Cell{"-", -1} : seconds(other),
               isKnown ? Cell{llvm::formatv("{0:F2}x", other / time).str(), other / time}
                       : Cell{"-", -1}},
              "kernel-" + escapeHtml(textOf(row, "kernel")));
  }
  return section(
      "code", "Algorithms and layouts",
      "<p class=\"note\">What was chosen for each kernel, and what would have been taken "
      "next. The layouts of results are in the tables of kernels, beside the shapes.</p>\n" +
          table.str());
}

static std::string printOthers(const json::Object &report) {
  std::string text;
  if (const json::Array *derived = report.getArray("derived")) {
    HtmlTable table({"derived", "#size"});
    int64_t all = 0;
    for (const json::Value &value : *derived) {
      table.add(
          {word(textOf(*value.getAsObject(), "name")), bytes(get(*value.getAsObject(), "bytes"))});
      all += get(*value.getAsObject(), "bytes");
    }
    table.addTotal({word("total"), bytes(all)});
    text += section("derived", "Derived variables", table.str());
  }
  if (const json::Array *training = report.getArray("training")) {
    HtmlTable table({"parameter", "training"});
    for (const json::Value &value : *training)
      table.add({word(textOf(*value.getAsObject(), "parameter")),
                 word(textOf(*value.getAsObject(), "training"))});
    text += section("training", "Parameters that train otherwise", table.str());
  }
  if (const json::Array *fallbacks = report.getArray("fallbacks")) {
    HtmlTable table({"kernel", "layer", "wanted", "reason"});
    for (const json::Value &value : *fallbacks) {
      const json::Object &row = *value.getAsObject();
      table.add({word(textOf(row, "kernel")), word(listLayers(row)), word(textOf(row, "wanted")),
                 word(textOf(row, "reason"))});
    }
    text += section("fallbacks", "Not as asked for", table.str());
  }
  if (const json::Array *slow = report.getArray("slow")) {
    HtmlTable table({"kernel", "layer", "reason", "#slowshare"});
    for (const json::Value &value : *slow) {
      const json::Object &row = *value.getAsObject();
      table.add({word(textOf(row, "kernel")),
                 word(listLayers(row)),
                 word(textOf(row, "reason")),
                 {percent(numberOf(row, "share")) + " of " + escapeHtml(textOf(row, "entry")),
                  numberOf(row, "share")}});
    }
    text += section("slow", "Plain loops", table.str());
  }
  if (const json::Array *code = report.getArray("code"); code && !code->empty()) {
    HtmlTable table({"kernel", "architecture", "#threads", "#registers", "#spill", "#shared"});
    for (const json::Value &value : *code) {
      const json::Object &row = *value.getAsObject();
      table.add({word(textOf(row, "kernel")), word(textOf(row, "architecture")),
                 count(get(row, "threads")), count(get(row, "registers")),
                 bytes(get(row, "spill_bytes")), bytes(get(row, "shared_bytes"))});
    }
    text += section("cubins", "Compiled CUDA kernels", table.str());
  }
  return text;
}

static std::string printLegend() {
  std::string text = "<dl class=\"legend\">\n";
  for (const auto &[key, term] : legend())
    text += "<dt id=\"term-" + key + "\">" + term.word + "</dt><dd>" + term.meaning + "</dd>\n";
  return section("legend", "Legend", text + "</dl>\n");
}

std::string codegen::printReportPage(const json::Value &report, const json::Array &details,
                                     const json::Array &measured) {
  const json::Object &all = *report.getAsObject();
  const std::string model = textOf(all, "model").empty() ? "model" : textOf(all, "model");
  const std::string title = escapeHtml(model + " for " + textOf(all, "target"));
  std::string entries, links;
  for (const auto &[number, value] : llvm::enumerate(*all.getArray("entries"))) {
    const json::Object &entry = *value.getAsObject();
    const json::Object *times = nullptr;
    for (const json::Value &line : measured)
      if (line.getAsObject()->getString("entry") == entry.getString("name"))
        times = line.getAsObject();
    entries += printEntry(entry, *details[number].getAsObject(), times, number);
    links += "<a href=\"#entry-" + std::to_string(number) + "\">" +
             escapeHtml(textOf(entry, "name")) + "</a>";
  }
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n<meta "
         "name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>" +
         title + "</title>\n<style>\n" + embedded("report.css").str() +
         "</style></head>\n<body>\n<h1>" + title + "</h1>\n<p>" +
         std::to_string(get(all, "parameters")) + " parameters (" +
         formatBytes(double(get(all, "parameter_bytes"))) + "), state " +
         formatBytes(double(get(all, "state_bytes"))) + ", " + std::to_string(get(all, "kernels")) +
         " kernels. Words with dotted lines are explained in the <a "
         "href=\"#legend\">legend</a>.</p>\n<nav>" +
         links + "<a href=\"#code\">algorithms</a><a href=\"#legend\">legend</a></nav>\n" +
         entries + printCode(*all.getArray("schedules")) + printOthers(all) + printLegend() +
         "<script>\n" + embedded("report.js").str() + "</script>\n</body></html>\n";
}
