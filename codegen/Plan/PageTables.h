//===- PageTables.h - texts and tables of the report as a page ----------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_PAGETABLES_H
#define DLC_CODEGEN_PLAN_PAGETABLES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <utility>
#include <vector>

namespace dlc::codegen::page {

/// The page's style, script or legend, by the name of its file.
llvm::StringRef embedded(llvm::StringRef file);

/// Of a row of the report; without such a member, or one of another type, empty or 0.
std::string textOf(const llvm::json::Object &row, llvm::StringRef name);
double numberOf(const llvm::json::Object &row, llvm::StringRef name);

std::string percent(double part);

/// A word of the legend: a column, or what the page speaks of.
struct Term {
  std::string word, meaning;
};

/// By keys.
const std::vector<std::pair<std::string, Term>> &legend();

struct Cell {
  std::string html;
  double value = 0; ///< that a column of numbers is sorted by
};

Cell word(llvm::StringRef text);
Cell count(int64_t number);
Cell bytes(int64_t number);
Cell seconds(double number);
Cell milliseconds(double number);

/// A table that can be sorted by each column.
class HtmlTable {
public:
  /// The keys of the columns' words in the legend; a '#' before one of numbers.
  explicit HtmlTable(std::vector<std::string> keys, llvm::StringRef classes = "")
      : keys(std::move(keys)), classes(classes.str()) {}

  void add(const std::vector<Cell> &cells, llvm::StringRef id = "") { body += row(cells, id); }
  void addTotal(const std::vector<Cell> &cells) { foot += row(cells, ""); }

  std::string str() const;

private:
  std::string row(const std::vector<Cell> &cells, llvm::StringRef id) const;

  std::vector<std::string> keys;
  std::string classes, body, foot;
};

} // namespace dlc::codegen::page

#endif
