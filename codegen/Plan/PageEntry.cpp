//===- PageEntry.cpp - see PageEntry.h --------------------------------------------------------===//
#include "codegen/Plan/PageEntry.h"
#include "codegen/Plan/LayeredGraph.h"
#include "codegen/Plan/PageTables.h"
#include "codegen/Plan/Quantities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <map>
#include <numeric>
#include <optional>

namespace json = llvm::json;
using llvm::StringRef;

namespace dlc::codegen::page {

namespace {
/// Of a layer, by part of the step: forward, backward, other.
using Times = std::array<double, 3>;

constexpr std::array<const char *, 3> partNames = {"forward", "backward", "other"};

size_t partOf(StringRef stage) {
  return stage == "forward" ? 0 : stage.starts_with("backward") ? 1 : 2;
}

double sumOf(const Times &times) { return times[0] + times[1] + times[2]; }

/// One entry's part of the page.
class EntryPage {
public:
  EntryPage(const json::Object &entry, const json::Object &details, const json::Object *measured,
            size_t number);

  std::string str();

private:
  std::string facts() const;
  std::string graphs();
  std::string blockOf(const std::string &layer, const std::string &prefix) const;
  std::string topBlockOf(const std::string &layer) const;
  size_t countInside(const std::string &block) const;
  std::string drawGraph(const std::string &prefix,
                        llvm::function_ref<std::string(const std::string &)> nodeNameOf);
  std::string drawFlat(const std::string &prefix);
  std::string drawBlocks(llvm::function_ref<std::string(const std::string &)> nodeNameOf);
  void openTop();
  std::string drawTimes();
  std::string drawMemory();
  std::string drawHolders(size_t at) const;
  std::string sums();
  std::string passes();
  std::string rows();
  std::string buckets();
  std::string anchor(StringRef what) const { return what.str() + "-" + std::to_string(number); }
  std::string rowOf(const std::string &layer) const {
    return "layer-" + std::to_string(number) + "-" + std::to_string(places.lookup(layer));
  }
  std::string blockId(const std::string &prefix) const {
    return "block-" + std::to_string(number) + "-" + prefix;
  }
  std::string describe(const std::string &layer) const;

  const json::Object &entry, &details;
  const json::Object *measured;
  size_t number;
  std::string name;
  llvm::StringMap<size_t> places; ///< of layers in `sums`
  std::vector<std::string> order; ///< the layers
  std::map<std::string, Times> estimates, measurements;
  struct Edge {
    std::string from, to;
    int64_t bytes;
  };
  std::vector<Edge> edges;
  std::vector<std::string> drawn; ///< layers and inputs of the forward pass
  /// Blocks that the whole network is drawn without, from the outside to the inside: those with
  /// more than half of its layers, as `features.`.
  std::vector<std::string> opened = {""};
};
} // namespace

EntryPage::EntryPage(const json::Object &entry, const json::Object &details,
                     const json::Object *measured, size_t number)
    : entry(entry), details(details), measured(measured), number(number),
      name(textOf(entry, "name")) {
  for (const json::Value &value : *entry.getArray("sums")) {
    order.push_back(textOf(*value.getAsObject(), "layer"));
    places[order.back()] = order.size() - 1;
  }
  llvm::StringSet<> isForward;
  for (const auto &[row, seconds] :
       llvm::zip_equal(*entry.getArray("layers"), *details.getArray("seconds"))) {
    const json::Object &object = *row.getAsObject();
    const std::string stage = textOf(object, "stage");
    estimates[textOf(object, "layer")][partOf(stage)] += *seconds.getAsNumber();
    if (stage == "forward")
      isForward.insert(textOf(object, "layer"));
  }
  if (measured)
    for (const json::Value &value : *measured->getArray("layers")) {
      auto [layer, stage] = value.getAsObject()->getString("name")->split('/');
      measurements[layer.str()][partOf(stage.empty() ? "forward" : stage)] +=
          numberOf(*value.getAsObject(), "ms");
    }
  for (const json::Value &value : *details.getArray("edges")) {
    const json::Array &edge = *value.getAsArray();
    edges.push_back(
        {edge[0].getAsString()->str(), edge[1].getAsString()->str(), *edge[2].getAsInteger()});
    if (StringRef(edges.back().from).starts_with("input:") &&
        !llvm::is_contained(drawn, edges.back().from))
      drawn.push_back(edges.back().from);
  }
  for (const std::string &layer : order)
    if (isForward.contains(layer))
      drawn.push_back(layer);
}

std::string EntryPage::facts() const {
  std::string text = "<dl class=\"facts\">";
  auto add = [&](StringRef what, const std::string &value) {
    text += "<div><dt>" + what.str() + "</dt><dd>" + escapeHtml(value) + "</dd></div>";
  };
  if (get(entry, "batch") > 0)
    add("batch", std::to_string(get(entry, "batch")));
  add("launches", std::to_string(get(entry, "launches")));
  add("kernels", std::to_string(get(entry, "kernels")));
  add("estimated", formatSeconds(numberOf(entry, "estimated_seconds")));
  if (measured)
    add("measured, median", llvm::formatv("{0:F3} ms", numberOf(*measured, "median_ms")).str());
  add("FLOP", withFactor(double(get(entry, "flops")), ""));
  if (get(entry, "multiply_adds") > 0)
    add("multiply-adds a sample",
        withFactor(double(get(entry, "multiply_adds")) / double(get(entry, "batch")), "", 4));
  add("bytes", formatBytes(double(get(entry, "bytes"))));
  add("activations", formatBytes(double(get(entry, "activation_bytes"))));
  add("arena", formatBytes(double(get(entry, "arena_bytes"))));
  add("live at once", formatBytes(double(get(entry, "live_bytes"))));
  if (const json::Object *row = entry.getObject("conversions")) {
    add("layouts changed inside", llvm::formatv("{0} tensors, {1}", get(*row, "inside"),
                                                formatBytes(double(get(*row, "inside_bytes"))))
                                      .str());
    add("layouts changed apart", llvm::formatv("{0} tensors, {1}", get(*row, "apart"),
                                               formatBytes(double(get(*row, "apart_bytes"))))
                                     .str());
  }
  if (const json::Object *row = entry.getObject("memory")) {
    add("arena and state before", formatBytes(double(get(*row, "bytes_before"))));
    add("arena and state", formatBytes(double(get(*row, "bytes_after"))));
    add("launches run again", std::to_string(get(*row, "recomputed")));
    if (get(*row, "batch_parts") > 0)
      add("parts of the batch", std::to_string(get(*row, "batch_parts")));
  }
  return text + "</dl>\n";
}

//===------------------------------------------------------------------------------------------===//
// The network
//===------------------------------------------------------------------------------------------===//

/// What one sees who points at a layer.
std::string EntryPage::describe(const std::string &layer) const {
  auto place = places.find(layer);
  if (place == places.end())
    return layer;
  const json::Object &row = *(*entry.getArray("sums"))[place->second].getAsObject();
  const Times &times = estimates.at(layer);
  std::string text = llvm::formatv(
      "{0}\n{1} kernels, {2} parameters\n{3} FLOP, {4} moved, {5} of activations\n"
      "estimated: forward {6}, backward {7}, other {8}",
      layer, get(row, "records"), withFactor(double(get(row, "parameters")), ""),
      withFactor(double(get(row, "flops")), ""), formatBytes(double(get(row, "bytes"))),
      formatBytes(double(get(row, "activation_bytes"))), formatSeconds(times[0]),
      formatSeconds(times[1]), formatSeconds(times[2]));
  if (auto it = measurements.find(layer); it != measurements.end())
    text += llvm::formatv("\nmeasured: forward {0:F3} ms, backward {1:F3} ms, other {2:F3} ms",
                          it->second[0], it->second[1], it->second[2]);
  return text;
}

/// Layers of a block that are drawn without blocks inside of it.
static constexpr size_t mostFlat = 40;

size_t EntryPage::countInside(const std::string &block) const {
  return llvm::count_if(
      drawn, [&](const std::string &layer) { return StringRef(layer).starts_with(block); });
}

/// The block directly below `prefix` ("" or "a.b.") that a layer is in, as "a.b.c."; the layer
/// itself where it is in none, and "" where it is outside of the prefix.
std::string EntryPage::blockOf(const std::string &layer, const std::string &prefix) const {
  if (!StringRef(layer).starts_with(prefix))
    return "";
  const size_t dot = layer.find('.', prefix.size());
  if (dot == std::string::npos || StringRef(layer).starts_with("input:"))
    return layer;
  const std::string block = layer.substr(0, dot + 1);
  return countInside(block) < 2 ? layer : block;
}

/// The node of a layer where the whole network is drawn.
std::string EntryPage::topBlockOf(const std::string &layer) const {
  for (const std::string &prefix : llvm::reverse(opened))
    if (StringRef(layer).starts_with(prefix))
      return blockOf(layer, prefix);
  llvm_unreachable("every layer begins with nothing");
}

/// What `nodeNameOf` says is a node: a layer, a block, which ends with a dot, or nothing for what
/// is outside; that are two nodes, before and behind. Labels are without `prefix`.
std::string EntryPage::drawGraph(const std::string &prefix,
                                 llvm::function_ref<std::string(const std::string &)> nodeNameOf) {
  LayeredGraph graph;
  std::map<std::string, unsigned> nodes;
  std::map<std::string, std::pair<double, size_t>> blocks; ///< seconds and layers
  double all = 1e-30;
  for (const auto &[layer, times] : estimates)
    all += sumOf(times);
  for (const std::string &layer : drawn)
    if (auto it = estimates.find(layer); it != estimates.end()) {
      auto &[time, layers] = blocks[nodeNameOf(layer)];
      time += sumOf(it->second);
      ++layers;
    }
  // What takes the most of the picture is as hot as it gets; what is outside has no part in it.
  double most = 1e-30;
  for (const auto &[node, block] : blocks)
    most = std::max(most, node.empty() ? 0 : block.first);
  auto heat = [&](double time) { return 0.75 * time / most; };
  for (const std::string &layer : drawn) {
    const std::string node = nodeNameOf(layer);
    if (node.empty() || nodes.contains(node))
      continue;
    const bool isBlock = StringRef(node).ends_with(".");
    StringRef label = node;
    label.consume_front(prefix);
    label.consume_back(".");
    if (StringRef(node).starts_with("input:"))
      nodes[node] = graph.add({node.substr(6), "input " + node.substr(6), "", "outside"});
    else if (isBlock)
      nodes[node] = graph.add(
          {label.str(),
           llvm::formatv("{0}: {1} layers, estimated {2}, {3} of the entry",
                         StringRef(node).drop_back(), blocks[node].second,
                         formatSeconds(blocks[node].first), percent(blocks[node].first / all))
               .str(),
           "#" + blockId(node), "block", heat(blocks[node].first)});
    else
      nodes[node] = graph.add(
          {label.str(), describe(layer), "#" + rowOf(layer), "", heat(sumOf(estimates[layer]))});
  }
  std::optional<unsigned> before, behind;
  for (const auto &[from, to, bytes] : edges) {
    const std::string source = nodeNameOf(from), target = nodeNameOf(to);
    if (source.empty() && target.empty())
      continue;
    if (source.empty() && !before)
      before = graph.add({"before", "what comes from outside of the block", "", "outside"});
    if (target.empty() && !behind)
      behind = graph.add({"behind", "what others read of the block", "", "outside"});
    const auto first = source.empty() ? *before : nodes.contains(source) ? nodes[source] : ~0u;
    const auto second = target.empty() ? *behind : nodes.contains(target) ? nodes[target] : ~0u;
    if (first != ~0u && second != ~0u)
      graph.connect(first, second, double(bytes));
  }
  return "<div class=\"scroll\">" + graph.draw() + "</div>\n";
}

/// All layers of a block, or of the network.
std::string EntryPage::drawFlat(const std::string &prefix) {
  return drawGraph(prefix, [&](const std::string &layer) {
    return StringRef(layer).starts_with(prefix) ? layer : std::string();
  });
}

/// The blocks among the nodes, folded away, and those inside of them.
std::string EntryPage::drawBlocks(llvm::function_ref<std::string(const std::string &)> nodeNameOf) {
  std::string text;
  llvm::StringSet<> known;
  for (const std::string &layer : drawn) {
    const std::string block = nodeNameOf(layer);
    if (!StringRef(block).ends_with(".") || !known.insert(block).second)
      continue;
    const size_t inside = countInside(block);
    text += "<details id=\"" + escapeHtml(blockId(block)) + "\"><summary>" +
            escapeHtml(StringRef(block).drop_back()) + ", " + std::to_string(inside) +
            " layers</summary>\n";
    auto inBlock = [&](const std::string &other) { return blockOf(other, block); };
    text += inside <= mostFlat ? drawFlat(block) : drawGraph(block, inBlock) + drawBlocks(inBlock);
    text += "</details>\n";
  }
  return text;
}

void EntryPage::openTop() {
  for (bool isOpen = true; isOpen;) {
    isOpen = false;
    for (const std::string &layer : drawn)
      if (const std::string block = topBlockOf(layer);
          StringRef(block).ends_with(".") && 2 * countInside(block) > drawn.size()) {
        opened.push_back(block);
        isOpen = true;
        break;
      }
  }
}

std::string EntryPage::graphs() {
  if (drawn.empty())
    return "";
  std::string text =
      "<h3 id=\"" + anchor("graph") +
      "\">The network</h3>\n<p class=\"note\">Layers of the forward pass, from top to bottom; the "
      "stronger the colour, the more of the entry's estimated time, forward and backward. Boxes "
      "with thick borders are blocks: a click opens what is in them, below. A click on a layer "
      "leads to its row; pointing at it shows the row.</p>\n";
  if (drawn.size() <= mostFlat)
    return text + drawFlat("");
  openTop();
  auto inNetwork = [&](const std::string &layer) { return topBlockOf(layer); };
  text += drawGraph(opened.back(), inNetwork) + drawBlocks(inNetwork);
  constexpr size_t mostAtOnce = 200;
  if (drawn.size() <= mostAtOnce)
    text += "<details><summary>all " + std::to_string(drawn.size()) +
            " layers at once</summary>\n" + drawFlat("") + "</details>\n";
  return text;
}

//===------------------------------------------------------------------------------------------===//
// Time
//===------------------------------------------------------------------------------------------===//

/// A bar for each part of the step, its length a part of `most`.
static std::string drawBar(const Times &times, double most, bool isEstimate,
                           llvm::function_ref<std::string(double)> format) {
  std::string text;
  for (size_t part = 0; part < times.size(); ++part)
    if (times[part] > 0)
      text += "<div><i class=\"" + std::string(partNames[part]) + (isEstimate ? " estimate" : "") +
              "\" style=\"width:" + llvm::formatv("{0:F2}%", 72 * times[part] / most).str() +
              "\"></i>" + format(times[part]) + "</div>";
  return text;
}

std::string EntryPage::drawTimes() {
  double most = 1e-30, mostMeasured = 1e-30;
  for (const auto &[layer, times] : estimates)
    most = std::max(most, *llvm::max_element(times));
  for (const auto &[layer, times] : measurements)
    mostMeasured = std::max(mostMeasured, *llvm::max_element(times));
  HtmlTable table({"layer", measured ? "#measured" : "#estimate"}, "bars");
  for (const std::string &layer : order) {
    const Times &times = estimates[layer];
    std::string bars;
    if (measured)
      bars += drawBar(measurements[layer], mostMeasured, false,
                      [](double ms) { return llvm::formatv("{0:F3} ms", ms).str(); });
    bars += drawBar(times, most, measured != nullptr, formatSeconds);
    table.add({word(layer),
               {bars.empty() ? "<div></div>" : bars,
                measured ? sumOf(measurements[layer]) : sumOf(times)}});
  }
  std::string text =
      "<h3 id=\"" + anchor("time") +
      "\">Time by layer</h3>\n<p class=\"swatches\"><span><i class=\"forward\"></i>forward</span>"
      "<span><i class=\"backward\"></i>backward</span><span><i class=\"other\"></i>update and "
      "other</span></p>\n<p class=\"note\">";
  text += measured ? "Full colours are measured, on all threads, pale ones estimated by the "
                     "compiler for one core; each has its own scale."
                   : "Estimates of the compiler; dlc-run bench MODULE.so --layers --json measures, "
                     "and --bench FILE shows that here.";
  return text + "</p>\n" + table.str();
}

//===------------------------------------------------------------------------------------------===//
// Memory
//===------------------------------------------------------------------------------------------===//

static constexpr std::array<std::pair<const char *, const char *>, 6> kinds = {
    {{"kept", "kept for backward"},
     {"passing", "forward only"},
     {"gradient", "gradients"},
     {"parameter-gradient", "gradients of parameters"},
     {"workspace", "workspace"},
     {"other", "other"}}};

static const char *classOf(size_t kind) { return kind == 5 ? "rest" : kinds[kind].first; }

static size_t kindOf(const json::Object &holder) {
  const std::string name = textOf(holder, "kind");
  return llvm::find_if(kinds, [&](const auto &kind) { return name == kind.first; }) - kinds.begin();
}

/// "conv1 and 3 more": where several layers write to one buffer.
static std::string holderName(const json::Object &holder) {
  const int64_t layers = get(holder, "layers");
  return textOf(holder, "layer") +
         (layers > 1 ? llvm::formatv(" and {0} more", layers - 1).str() : "");
}

std::string EntryPage::drawHolders(size_t at) const {
  std::vector<const json::Object *> held;
  for (const json::Value &value : *details.getArray("holders"))
    if (const json::Object &row = *value.getAsObject();
        get(row, "first") <= int64_t(at) && int64_t(at) < get(row, "end"))
      held.push_back(&row);
  auto key = [](const json::Object *row) {
    return std::pair(-get(*row, "bytes"), get(*row, "offset"));
  };
  llvm::sort(held, [&](auto *a, auto *b) { return key(a) < key(b); });
  constexpr size_t most = 20;
  HtmlTable table({"layer", "stage", "kind", "#size", "#from", "#to"});
  for (const json::Object *row : llvm::ArrayRef(held).take_front(most))
    table.add({word(holderName(*row)),
               word(textOf(*row, "stage")),
               word(kinds[kindOf(*row)].second),
               bytes(get(*row, "bytes")),
               {std::to_string(get(*row, "first")), double(get(*row, "first"))},
               {std::to_string(get(*row, "end") - 1), double(get(*row, "end") - 1)}});
  return "<p>Who holds the most when the most is in use, at kernel " + std::to_string(at) +
         (held.size() > most
              ? llvm::formatv(": the largest {0} of {1} tensors", most, held.size()).str()
              : "") +
         "</p>\n" + table.str();
}

std::string EntryPage::drawMemory() {
  const size_t numRecords = get(details, "records");
  if (numRecords == 0 || get(entry, "arena_bytes") == 0)
    return "";
  std::vector<std::array<int64_t, kinds.size()>> use(numRecords + 1);
  for (const json::Value &value : *details.getArray("holders")) {
    const json::Object &row = *value.getAsObject();
    use[get(row, "first")][kindOf(row)] += get(row, "bytes");
    use[get(row, "end")][kindOf(row)] -= get(row, "bytes");
  }
  auto total = [&](size_t record) {
    return std::accumulate(use[record].begin(), use[record].end(), int64_t(0));
  };
  size_t peak = 0;
  for (size_t record = 1; record < numRecords; ++record) {
    for (size_t kind = 0; kind < kinds.size(); ++kind)
      use[record][kind] += use[record - 1][kind];
    if (total(record) > total(peak))
      peak = record;
  }
  // Of many records the one with the most stands for its column.
  constexpr size_t mostColumns = 400;
  const size_t step = (numRecords + mostColumns - 1) / mostColumns;
  std::vector<size_t> columns;
  for (size_t begin = 0; begin < numRecords; begin += step) {
    size_t best = begin;
    for (size_t record = begin; record < std::min(begin + step, numRecords); ++record)
      if (total(record) > total(best))
        best = record;
    columns.push_back(best);
  }
  constexpr double left = 76, width = 780, top = 10, height = 230;
  const double high = double(std::max<int64_t>(get(entry, "arena_bytes"), 1));
  auto x = [&](size_t column) { return left + width * double(column) / double(columns.size()); };
  auto y = [&](int64_t value) { return top + height * (1 - double(value) / high); };
  std::string svg = "<svg class=\"chart\" viewBox=\"0 0 872 284\" role=\"img\">\n";
  // Bytes are round in powers of two.
  int64_t apart = 1;
  while (double(apart) * 5 < high)
    apart *= 2;
  for (int64_t value = 0; double(value) <= high; value += apart) {
    svg += llvm::formatv("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:F1}\" y2=\"{2:F1}\"/><text "
                         "class=\"end\" x=\"{3}\" y=\"{4:F1}\">{5}</text>\n",
                         left, left + width, y(value), left - 6, y(value) + 4,
                         formatBytes(double(value)));
  }
  std::vector<int64_t> below(columns.size(), 0);
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    std::string upper, lower;
    int64_t most = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      const int64_t own = use[columns[i]][kind];
      most = std::max(most, own);
      upper += llvm::formatv("{0:F1},{1:F1} {2:F1},{1:F1} ", x(i), y(below[i] + own), x(i + 1));
      lower.insert(0, llvm::formatv("{2:F1},{1:F1} {0:F1},{1:F1} ", x(i), y(below[i]), x(i + 1)));
      below[i] += own;
    }
    if (most > 0)
      svg += "<polygon class=\"" + std::string(classOf(kind)) + "\" points=\"" + upper + lower +
             "\"><title>" + kinds[kind].second + ", at most " + formatBytes(double(most)) +
             "</title></polygon>\n";
  }
  size_t every = 1;
  for (size_t factor = 0; every * 10 < numRecords; factor = (factor + 1) % 3)
    every = factor == 1 ? every / 2 * 5 : every * 2;
  for (size_t record = 0; record <= numRecords; record += every)
    svg += llvm::formatv("<text class=\"mid\" x=\"{0:F1}\" y=\"{1}\">{2}</text>\n",
                         left + width * double(record) / double(numRecords), top + height + 18,
                         record);
  svg += llvm::formatv(
      "<text class=\"mid\" x=\"{0}\" y=\"{1}\">kernels of the entry, in order</text>\n",
      left + width / 2, top + height + 36);
  std::string swatches;
  for (size_t kind = 0; kind < kinds.size(); ++kind)
    swatches += "<span><i class=\"" + std::string(classOf(kind)) + "\"></i>" + kinds[kind].second +
                "</span>";
  return "<h3 id=\"" + anchor("memory") +
         "\">Memory</h3>\n<p>Most in use: " + formatBytes(double(total(peak))) +
         ", in an arena of " + formatBytes(double(get(entry, "arena_bytes"))) +
         ".</p>\n<p class=\"swatches\">" + swatches + "</p>\n<div class=\"scroll\">" + svg +
         "</svg></div>\n" + drawHolders(peak);
}

//===------------------------------------------------------------------------------------------===//
// Tables of an entry
//===------------------------------------------------------------------------------------------===//

std::string EntryPage::sums() {
  std::vector<std::string> keys = {"layer",  "#kernels",     "#parameters", "#flops",    "#share",
                                   "#bytes", "#activations", "#forward",    "#backward", "#other"};
  if (measured)
    keys.push_back("#measured");
  HtmlTable table(keys);
  const double all = double(std::max<int64_t>(1, get(entry, "flops")));
  auto addTimes = [&](std::vector<Cell> &cells, const Times &times) {
    for (const double time : times)
      cells.push_back(seconds(time));
  };
  Times together = {};
  double togetherMeasured = 0;
  int64_t records = 0, parameters = 0;
  for (const auto &[i, value] : llvm::enumerate(*entry.getArray("sums"))) {
    const json::Object &row = *value.getAsObject();
    const std::string layer = textOf(row, "layer");
    const double part = double(get(row, "flops")) / all;
    std::vector<Cell> cells = {word(layer),
                               count(get(row, "records")),
                               count(get(row, "parameters")),
                               count(get(row, "flops")),
                               {percent(part), part},
                               bytes(get(row, "bytes")),
                               bytes(get(row, "activation_bytes"))};
    addTimes(cells, estimates[layer]);
    if (measured)
      cells.push_back(milliseconds(sumOf(measurements[layer])));
    table.add(cells, rowOf(layer));
    for (size_t part = 0; part < together.size(); ++part)
      together[part] += estimates[layer][part];
    togetherMeasured += measured ? sumOf(measurements[layer]) : 0;
    records += get(row, "records");
    parameters += get(row, "parameters");
  }
  std::vector<Cell> total = {word("total"),
                             count(records),
                             count(parameters),
                             count(get(entry, "flops")),
                             {percent(1), 1},
                             bytes(get(entry, "bytes")),
                             bytes(get(entry, "activation_bytes"))};
  addTimes(total, together);
  if (measured)
    total.push_back(milliseconds(togetherMeasured));
  table.addTotal(total);
  return "<h3 id=\"" + anchor("layers") +
         "\">Layers</h3>\n<p class=\"note\">forward, backward and other are estimated.</p>\n" +
         table.str();
}

/// By layer and stage, beside the least where that is known.
std::string EntryPage::passes() {
  struct Sum {
    std::string layer, stage;
    int64_t records = 0, flops = 0, bytes = 0;
  };
  std::vector<Sum> sums;
  llvm::StringMap<size_t> found;
  for (const json::Value &value : *entry.getArray("layers")) {
    const json::Object &row = *value.getAsObject();
    const std::string layer = textOf(row, "layer"), stage = textOf(row, "stage");
    auto [place, isNew] = found.try_emplace(layer + "/" + stage, sums.size());
    if (isNew)
      sums.push_back({layer, stage});
    Sum &sum = sums[place->second];
    ++sum.records;
    sum.flops += get(row, "flops");
    sum.bytes += get(row, "bytes");
  }
  llvm::StringMap<const json::Object *> least;
  int64_t all = 0, allLeast = 0;
  for (const json::Value &value : *entry.getArray("passes")) {
    const json::Object &row = *value.getAsObject();
    least[textOf(row, "layer") + "/" + textOf(row, "stage")] = &row;
    all += get(row, "bytes");
    allLeast += get(row, "least_bytes");
  }
  HtmlTable table(
      {"layer", "stage", "#kernels", "#flops", "#bytes", "#least", "#factor", "#intensity"});
  for (const Sum &sum : sums) {
    // Where a layer has both, only what is no product has a least.
    const json::Object *row = least.lookup(sum.layer + "/" + sum.stage);
    const bool isKnown = row && get(*row, "records") == sum.records;
    const int64_t moved = isKnown ? get(*row, "bytes") : sum.bytes;
    const int64_t needed = isKnown ? get(*row, "least_bytes") : 0;
    const double intensity = moved > 0 ? double(sum.flops) / double(moved) : 0;
    table.add({word(sum.layer),
               word(sum.stage),
               count(sum.records),
               count(sum.flops),
               bytes(moved),
               isKnown ? bytes(needed) : Cell{"-", -1},
               isKnown ? Cell{formatFactor(moved, needed),
                              needed > 0 ? double(moved) / double(needed) : 0}
                       : Cell{"-", -1},
               {llvm::formatv("{0:F1}", intensity).str(), intensity}});
  }
  return "<h3 id=\"" + anchor("bytes") +
         "\">FLOPs and bytes beside the least</h3>\n<p>Without "
         "products, convolutions and attention: " +
         formatBytes(double(all)) + ", the least is " + formatBytes(double(allLeast)) + ", " +
         formatFactor(all, allLeast) + ".</p>\n" + table.str();
}

std::string EntryPage::rows() {
  HtmlTable table({"layer", "stage", "shape", "#parameters", "#flops", "#bytes", "#activations",
                   "#estimate", "kernel"});
  for (const auto &[value, time] :
       llvm::zip_equal(*entry.getArray("layers"), *details.getArray("seconds"))) {
    const json::Object &row = *value.getAsObject();
    const std::string kernel = escapeHtml(textOf(row, "kernel"));
    table.add({word(textOf(row, "layer")),
               word(textOf(row, "stage")),
               word(formatShape(row)),
               count(get(row, "parameters")),
               count(get(row, "flops")),
               bytes(get(row, "bytes")),
               bytes(get(row, "activation_bytes")),
               seconds(*time.getAsNumber()),
               {"<a href=\"#kernel-" + kernel + "\">" + kernel + "</a>"}});
  }
  return "<details id=\"" + anchor("kernels") + "\"><summary>All " +
         std::to_string(entry.getArray("layers")->size()) + " kernels in order</summary>\n" +
         table.str() + "</details>\n";
}

std::string EntryPage::buckets() {
  const json::Array *all = entry.getArray("buckets");
  if (!all)
    return "";
  double end = numberOf(entry, "estimated_seconds"), taken = 0, exposed = 0;
  for (const json::Value &value : *all) {
    const json::Object &row = *value.getAsObject();
    end = std::max(end, numberOf(row, "begin_seconds") + numberOf(row, "seconds"));
    taken += numberOf(row, "seconds");
    exposed += numberOf(row, "exposed_seconds");
  }
  HtmlTable table({"bucket", "behind", "timeline", "#tensors", "#parameters", "#size", "#begins",
                   "#takes", "#hidden", "#exposed"});
  for (const json::Value &value : *all) {
    const json::Object &row = *value.getAsObject();
    const double begin = numberOf(row, "begin_seconds"), takes = numberOf(row, "seconds"),
                 left = std::min(takes, numberOf(row, "exposed_seconds"));
    std::string bar = "<div>";
    auto add = [&](const char *part, double from, double length) {
      if (length > 0)
        bar += llvm::formatv("<i class=\"{0}\" style=\"left:{1:F2}%;width:{2:F2}%\"></i>", part,
                             100 * from / end, 100 * length / end);
    };
    add("forward", begin, takes - left);
    add("backward", begin + takes - left, left);
    table.add({word(textOf(row, "bucket")),
               word(textOf(row, "behind")),
               {bar + "</div>"},
               count(get(row, "tensors")),
               count(get(row, "parameters")),
               bytes(get(row, "bytes")),
               seconds(begin),
               seconds(takes),
               seconds(numberOf(row, "hidden_by_seconds")),
               seconds(left)});
  }
  return "<h3 id=\"" + anchor("buckets") + "\">Sums of gradients over ranks</h3>\n<p>Estimated " +
         formatSeconds(taken) + " in all, of which " + formatSeconds(exposed) +
         " are exposed.</p>\n" + table.str();
}

std::string EntryPage::str() {
  const bool isFirst = number == 0;
  std::string text = facts();
  // Networks of evaluation and inference are parts of those that are trained.
  const bool isTrained =
      llvm::any_of(estimates, [](const auto &entry) { return entry.second[1] > 0; });
  if (isFirst || isTrained)
    text += graphs();
  text += drawTimes() + sums() + drawMemory() + passes() + buckets() + rows();
  const std::string title = escapeHtml(name);
  if (isFirst)
    return "<section id=\"" + anchor("entry") + "\"><h2>" + title + "</h2>\n" + text +
           "</section>\n";
  return "<details id=\"" + anchor("entry") + "\"><summary>" + title + "</summary>\n<h2>" + title +
         "</h2>\n" + text + "</details>\n";
}

std::string printEntry(const json::Object &entry, const json::Object &details,
                       const json::Object *measured, size_t number) {
  return EntryPage(entry, details, measured, number).str();
}

} // namespace dlc::codegen::page
