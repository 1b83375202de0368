//===- PageTables.cpp - see PageTables.h ------------------------------------------------------===//
#include "codegen/Plan/PageTables.h"
#include "codegen/Plan/LayeredGraph.h"
#include "codegen/Plan/Quantities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace json = llvm::json;
using llvm::StringRef;

namespace dlc::codegen::page {

namespace {
struct EmbeddedText {
  const char *file, *text;
};
} // namespace

static const EmbeddedText texts[] = {
#include "PageTexts.inc"
};

StringRef embedded(StringRef file) {
  return llvm::find_if(texts, [&](const EmbeddedText &text) { return file == text.file; })->text;
}

std::string textOf(const json::Object &row, StringRef name) {
  return row.getString(name).value_or("").str();
}

double numberOf(const json::Object &row, StringRef name) { return row.getNumber(name).value_or(0); }

std::string percent(double part) { return llvm::formatv("{0:F1}%", 100 * part).str(); }

const std::vector<std::pair<std::string, Term>> &legend() {
  static const auto all = [] {
    std::vector<std::pair<std::string, Term>> terms;
    for (StringRef line : llvm::split(embedded("legend.txt").rtrim(), '\n')) {
      auto [key, rest] = line.split('|');
      auto [word, meaning] = rest.split('|');
      terms.push_back({key.str(), {word.str(), meaning.str()}});
    }
    return terms;
  }();
  return all;
}

static const Term &termOf(StringRef key) {
  return llvm::find_if(legend(), [&](const auto &entry) { return entry.first == key; })->second;
}

Cell word(StringRef text) { return {escapeHtml(text)}; }
Cell count(int64_t number) { return {withFactor(double(number), ""), double(number)}; }
Cell bytes(int64_t number) { return {formatBytes(double(number)), double(number)}; }
Cell seconds(double number) {
  return {number == 0 ? std::string("0") : formatSeconds(number), number};
}
Cell milliseconds(double number) { return {llvm::formatv("{0:F3} ms", number).str(), number}; }

std::string HtmlTable::str() const {
  std::string head;
  for (StringRef key : keys) {
    const bool isNumber = key.consume_front("#");
    head += (isNumber ? "<th class=\"n\">" : "<th>") + std::string("<a href=\"#term-") + key.str() +
            "\">" + termOf(key).word + "</a></th>";
  }
  return "<div class=\"scroll\"><table class=\"sorts " + classes + "\"><thead><tr>" + head +
         "</tr></thead>\n<tbody>\n" + body + "</tbody>\n" +
         (foot.empty() ? "" : "<tfoot>\n" + foot + "</tfoot>\n") + "</table></div>\n";
}

std::string HtmlTable::row(const std::vector<Cell> &cells, StringRef id) const {
  std::string text = id.empty() ? "<tr>" : "<tr id=\"" + id.str() + "\">";
  for (const auto &[key, cell] : llvm::zip_equal(keys, cells)) {
    const bool isBar = cell.html.starts_with("<div");
    text += isBar ? std::string("<td class=\"") +
                        (StringRef(classes).contains("bars") ? "bar" : "track") + "\""
            : key.starts_with('#') ? std::string("<td class=\"n\"")
                                   : "<td";
    if (key.starts_with('#'))
      text += llvm::formatv(" data-v=\"{0:G}\"", llvm::format("%.9g", cell.value));
    text += ">" + cell.html + "</td>";
  }
  return text + "</tr>\n";
}

} // namespace dlc::codegen::page
