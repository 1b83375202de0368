//===- LayeredGraph.cpp - a graph drawn by ranks ----------------------------------------------===//
#include "codegen/Plan/LayeredGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace dlc::codegen {

static constexpr double rankHeight = 54, nodeHeight = 28, laneWidth = 12, gap = 14, margin = 16;

unsigned LayeredGraph::add(Node node) {
  nodes.push_back(std::move(node));
  return nodes.size() - 1;
}

std::string escapeHtml(llvm::StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream stream(escaped);
  llvm::printHTMLEscaped(text, stream);
  return escaped;
}

/// At most 26 characters: what makes names differ is at both ends.
static std::string shorten(const std::string &label) {
  constexpr size_t most = 26, side = 12;
  if (label.size() <= most)
    return label;
  return label.substr(0, side) + ".." + label.substr(label.size() - side);
}

namespace {
/// A node, or the place in a rank that an edge passes.
struct Place {
  int node = -1; ///< -1: an edge passes
  double width = laneWidth;
  double x = 0;
  std::vector<unsigned> above, below; ///< places in the ranks next to this one
};

class Layout {
public:
  Layout(std::vector<double> widths, const std::map<std::pair<unsigned, unsigned>, double> &weights)
      : widths(std::move(widths)), weights(weights) {
    for (const auto &[edge, weight] : weights)
      if (edge.first != edge.second)
        edges.push_back(edge);
    findOrder();
    findRanks();
    addPlaces();
    orderRanks();
    setPositions();
  }

  std::vector<double> widths;
  const std::map<std::pair<unsigned, unsigned>, double> &weights;
  std::vector<std::pair<unsigned, unsigned>> edges; ///< sorted
  std::vector<unsigned> position;                   ///< of each node in an order that edges follow
  std::vector<unsigned> rank;
  std::vector<Place> places; ///< the nodes' first
  std::vector<std::vector<unsigned>> ranks;
  /// Of each edge: the places that it goes through, both ends included; only the ends if it goes
  /// up.
  std::vector<std::vector<unsigned>> ways;

  bool goesUp(std::pair<unsigned, unsigned> edge) const {
    return position[edge.first] > position[edge.second];
  }

private:
  /// Kahn's order; where a cycle leaves no node to go on with, the one is taken that lacks the
  /// least.
  void findOrder() {
    std::vector<unsigned> missing(widths.size(), 0);
    std::vector<double> lacking(widths.size(), 0);
    for (const auto &edge : edges) {
      ++missing[edge.second];
      lacking[edge.second] += weights.at(edge);
    }
    std::set<unsigned> left, ready;
    for (unsigned node = 0; node < widths.size(); ++node)
      (missing[node] == 0 ? ready : left).insert(node);
    position.assign(widths.size(), 0);
    for (unsigned number = 0; number < widths.size(); ++number) {
      std::set<unsigned> &from = ready.empty() ? left : ready;
      auto next = from.begin();
      if (ready.empty())
        next = std::min_element(from.begin(), from.end(),
                                [&](unsigned a, unsigned b) { return lacking[a] < lacking[b]; });
      const unsigned node = *next;
      from.erase(next);
      position[node] = number;
      for (auto edge = llvm::lower_bound(edges, std::pair(node, 0u));
           edge != edges.end() && edge->first == node; ++edge) {
        lacking[edge->second] -= weights.at(*edge);
        if (--missing[edge->second] == 0 && left.erase(edge->second))
          ready.insert(edge->second);
      }
    }
  }

  void findRanks() {
    rank.assign(widths.size(), 0);
    std::vector<std::pair<unsigned, unsigned>> down, byTarget;
    llvm::copy_if(edges, std::back_inserter(down), [&](auto edge) { return !goesUp(edge); });
    llvm::sort(down, [&](auto a, auto b) { return position[a.first] < position[b.first]; });
    for (auto [from, to] : down)
      rank[to] = std::max(rank[to], rank[from] + 1);
    // What begins somewhere stands above what reads it first.
    std::vector<unsigned> reader(widths.size(), ~0u);
    std::vector<bool> hasSource(widths.size(), false);
    for (auto [from, to] : down) {
      reader[from] = std::min(reader[from], rank[to]);
      hasSource[to] = true;
    }
    for (unsigned node = 0; node < widths.size(); ++node)
      if (!hasSource[node] && reader[node] != ~0u)
        rank[node] = reader[node] - 1;
  }

  void addPlaces() {
    for (unsigned node = 0; node < widths.size(); ++node) {
      Place &place = places.emplace_back();
      place.node = int(node);
      place.width = widths[node];
      ranks.resize(std::max<size_t>(ranks.size(), rank[node] + 1));
      ranks[rank[node]].push_back(node);
    }
    // What one node gives to several far away goes one way as long as it can.
    std::map<std::pair<unsigned, unsigned>, unsigned> lanes;
    for (const auto &edge : edges) {
      auto &way = ways.emplace_back(1, edge.first);
      for (unsigned at = rank[edge.first] + 1; !goesUp(edge) && at < rank[edge.second]; ++at) {
        auto [lane, isNew] = lanes.try_emplace({edge.first, at}, places.size());
        if (isNew) {
          places.emplace_back();
          ranks[at].push_back(lane->second);
        }
        way.push_back(lane->second);
      }
      way.push_back(edge.second);
      for (size_t i = 1; !goesUp(edge) && i < way.size(); ++i)
        if (!llvm::is_contained(places[way[i]].above, way[i - 1])) {
          places[way[i]].above.push_back(way[i - 1]);
          places[way[i - 1]].below.push_back(way[i]);
        }
    }
  }

  void orderRank(std::vector<unsigned> &row, std::vector<double> &index, bool isDown) {
    std::vector<std::tuple<double, size_t, unsigned>> keyed; ///< in their order where equal
    for (const unsigned place : row) {
      const auto &others = isDown ? places[place].above : places[place].below;
      double sum = 0;
      for (const unsigned other : others)
        sum += index[other];
      keyed.emplace_back(others.empty() ? index[place] : sum / double(others.size()), keyed.size(),
                         place);
    }
    llvm::sort(keyed);
    for (auto [i, entry] : llvm::enumerate(keyed)) {
      row[i] = std::get<2>(entry);
      // Of the whole width, as ranks differ in how many they are.
      index[row[i]] = (double(i) + 0.5) / double(row.size());
    }
  }

  void orderRanks() {
    std::vector<double> index(places.size(), 0);
    for (auto &row : ranks)
      for (auto [i, place] : llvm::enumerate(row))
        index[place] = (double(i) + 0.5) / double(row.size());
    for (int sweep = 0; sweep < 12; ++sweep) {
      for (size_t i = 0; i < ranks.size(); ++i)
        orderRank(ranks[i], index, /*isDown=*/true);
      for (size_t i = ranks.size(); i-- > 0;)
        orderRank(ranks[i], index, /*isDown=*/false);
    }
  }

  double distance(const std::vector<unsigned> &row, size_t i) const {
    return (places[row[i - 1]].width + places[row[i]].width) / 2 + gap;
  }

  /// Puts a rank's places as near to where they want to be as their order and widths allow, by the
  /// sum of squares: neighbours that want to overlap become blocks around the mean of their wishes.
  void settle(const std::vector<unsigned> &row, const std::vector<double> &wish) {
    struct Block {
      double sum, weight;
      size_t size;
      double mean() const { return sum / weight; }
    };
    std::vector<Block> blocks;
    std::vector<double> shift(row.size(), 0);
    for (size_t i = 0; i < row.size(); ++i) {
      shift[i] = i == 0 ? 0 : shift[i - 1] + distance(row, i);
      // Straight lanes matter more than nodes above each other.
      const double weight = places[row[i]].node < 0 ? 2 : 1;
      blocks.push_back({weight * (wish[i] - shift[i]), weight, 1});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
        const Block last = blocks.back();
        blocks.pop_back();
        blocks.back() = {blocks.back().sum + last.sum, blocks.back().weight + last.weight,
                         blocks.back().size + last.size};
      }
    }
    size_t i = 0;
    for (const Block &block : blocks)
      for (size_t end = i + block.size; i < end; ++i)
        places[row[i]].x = block.mean() + shift[i];
  }

  void setPositions() {
    for (const auto &row : ranks) {
      double x = 0;
      for (size_t i = 0; i < row.size(); ++i)
        places[row[i]].x = x += i == 0 ? 0 : distance(row, i);
      for (const unsigned place : row)
        places[place].x -= x / 2;
    }
    for (int sweep = 0; sweep < 24; ++sweep)
      for (size_t step = 0; step < ranks.size(); ++step) {
        const bool isDown = sweep % 2 == 0;
        const auto &row = ranks[isDown ? step : ranks.size() - 1 - step];
        std::vector<double> wish;
        for (const unsigned place : row) {
          double sum = 0;
          size_t count = 0;
          const Place &here = places[place];
          // In the last sweeps both sides count.
          for (const auto *others : {&here.above, &here.below})
            if (others == (isDown ? &here.above : &here.below) || sweep >= 12)
              for (const unsigned other : *others) {
                sum += places[other].x;
                ++count;
              }
          wish.push_back(count == 0 ? here.x : sum / double(count));
        }
        settle(row, wish);
      }
    double left = 0;
    for (const Place &place : places)
      left = std::min(left, place.x - place.width / 2);
    for (Place &place : places)
      place.x += margin - left;
  }
};
} // namespace

static std::string number(double value) { return llvm::formatv("{0:F1}", value).str(); }

static std::string point(double x, double y) { return number(x) + " " + number(y); }

static double middleOf(unsigned rank) { return margin + nodeHeight / 2 + rank * rankHeight; }

static std::string drawWay(const Layout &layout, size_t edge) {
  const auto &way = layout.ways[edge];
  unsigned at = layout.rank[way.front()];
  const double half = nodeHeight / 2;
  const bool isUp = layout.goesUp(layout.edges[edge]);
  auto x = [&](unsigned place) { return layout.places[place].x; };
  if (isUp) {
    const double from = middleOf(at), to = middleOf(layout.rank[way.back()]);
    const double side = std::max(x(way.front()), x(way.back())) + 70;
    return "<path class=\"up\" d=\"M" + point(x(way.front()), from + half) + " C" +
           point(side, from + 40) + " " + point(side, to - 40) + " " +
           point(x(way.back()), to - half) + "\"/>\n";
  }
  std::string path = "M" + point(x(way.front()), middleOf(at) + half);
  for (size_t i = 1; i < way.size(); ++i, ++at) {
    const double from = middleOf(at) + half, to = middleOf(at + 1) - half;
    const double bend = (to - from) / 2;
    path += " C" + point(x(way[i - 1]), from + bend) + " " + point(x(way[i]), to - bend) + " " +
            point(x(way[i]), to);
    if (i + 1 < way.size())
      path += " V" + number(to + nodeHeight);
  }
  return "<path d=\"" + path + "\"/>\n";
}

std::string LayeredGraph::draw() const {
  std::vector<double> widths;
  for (const Node &node : nodes)
    widths.push_back(18 + 6.9 * double(shorten(node.label).size()));
  const Layout layout(std::move(widths), edges);
  double width = 0;
  for (const Place &place : layout.places)
    width = std::max(width, place.x + place.width / 2);
  const std::string size = number(width + margin + (layout.edges.empty() ? 0 : 8));
  const std::string height =
      number(2 * margin + nodeHeight + (layout.ranks.size() - 1) * rankHeight);
  std::string svg = "<svg class=\"graph\" viewBox=\"0 0 " + size + " " + height + "\" width=\"" +
                    size + "\" height=\"" + height + "\" role=\"img\">\n";
  for (size_t edge = 0; edge < layout.edges.size(); ++edge)
    svg += drawWay(layout, edge);
  for (auto [i, node] : llvm::enumerate(nodes)) {
    const double x = layout.places[i].x, y = middleOf(layout.rank[i]);
    const double wide = layout.places[i].width;
    const std::string box = "x=\"" + number(x - wide / 2) + "\" y=\"" + number(y - nodeHeight / 2) +
                            "\" width=\"" + number(wide) + "\" height=\"" + number(nodeHeight) +
                            "\" rx=\"5\"";
    if (!node.link.empty())
      svg += "<a href=\"" + escapeHtml(node.link) + "\">";
    svg += "<g class=\"node " + node.classes + "\"><title>" + escapeHtml(node.title) +
           "</title><rect " + box + "/>";
    if (node.heat > 0)
      svg += "<rect class=\"heat\" opacity=\"" + llvm::formatv("{0:F2}", node.heat).str() + "\" " +
             box + "/>";
    svg += "<text x=\"" + number(x) + "\" y=\"" + number(y + 4) + "\">" +
           escapeHtml(shorten(node.label)) + "</text></g>";
    svg += node.link.empty() ? "\n" : "</a>\n";
  }
  return svg + "</svg>\n";
}

} // namespace dlc::codegen
