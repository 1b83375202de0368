//===- Choose.cpp - layouts and candidates of all regions together ----------------------------===//
//
//   %y = dl.fused(%x, %w) {          %y = dl.fused(%x, %w) {candidate = #program.candidate<
//   ^bb0(%x, %w):                        generator = "library", schedule = "cuDNN, TF32", ...>}
//     %0 = dl.convolution %x, %w ->      : (... #nhwc, ... #nhwc) -> ... #nhwc {
//     dl.yield %0 }                    %1 = dl.convert_layout %x ...
//                                      %2 = dl.convert_layout %w ...
//                                      %0 = dl.convolution %1, %2
//                                      %3 = dl.convert_layout %0 ...
//                                      dl.yield %3 }
//
// Runs on regions, since only what goes into one and comes out of one is stored. Tensors that must
// lie alike (a parameter, its gradient and its slots; what a read gives and an assignment takes; a
// tensor and its sum over ranks) are one class, and a class has one layout. Inputs and results of
// entries, both sides of a reshape, constants, and all that a product, a softmax or a transposition
// reads or writes are row-major; what is cut or joined along its leading axis lies as its parts do;
// any other class may have a layout that a candidate of a region around it asks for.
//
// Classes and regions are the nodes of a PBQP (Pbqp.h). A class chooses a layout, which costs
// nothing; a region one of its candidates' layouts, which costs the candidate's seconds; along an
// edge stands the conversion at the region's border where the two differ, done by its code, which
// takes the longer for it, or, where that reads elements many times, by a kernel of its own. What a
// candidate prepares of an operand that stays as it is, a weight where the model is used, costs
// nothing; what several regions may want of the same value, as the steps of a recurrent layer do,
// each pays a share of.
//
// Edges cannot say that two regions share a conversion, nor that one kernel converts several
// tensors, and a graph that is not series-parallel is not solved exactly. So the solution is held
// against those of the graph in which convolutions must take a layout, and of them the one with the
// least seconds as they will be reported is taken: the choice is never dearer than a forced layout.
//
// A kernel that only converts leaves a second copy of its tensor, which may live when a step holds
// the most. So the graph is solved once more with a price on each byte of such copies, and that
// solution is taken where it copies less and its seconds are a thousandth more at most.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Facts/Names.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "dialects/Program/Layout.h"
#include "passes/DL/Choice/EqualRegions.h"
#include "passes/DL/Choice/Pbqp.h"
#include "passes/DL/Memory/Buffers.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Simplify/DeadCode.h"
#include "passes/DL/Simplify/Unchanging.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>
#include <map>
#include <set>

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

//===------------------------------------------------------------------------------------------===//
// Layouts of a region
//===------------------------------------------------------------------------------------------===//

RankedTensorType dlc::dl::inLayout(RankedTensorType type, program::LayoutAttr layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}

void dlc::dl::storeAs(Block &region, const Layouts &layouts) {
  Location loc = region.getParentOp()->getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(&region);
  for (auto [argument, layout] : llvm::zip(region.getArguments(), layouts)) {
    auto logical = cast<RankedTensorType>(argument.getType());
    if (logical.getEncoding() == layout)
      continue;
    argument.setType(inLayout(logical, layout));
    auto converted = ConvertLayoutOp::create(builder, loc, logical, argument);
    argument.replaceAllUsesExcept(converted, converted);
  }
  Operation *yield = region.getTerminator();
  builder.setInsertionPoint(yield);
  auto ofResults = ArrayRef(layouts).drop_front(region.getNumArguments());
  for (auto [yielded, layout] : llvm::zip_equal(yield->getOpOperands(), ofResults))
    if (RankedTensorType type = inLayout(typeOf(yielded.get()), layout);
        type != yielded.get().getType())
      yielded.set(builder.createOrFold<ConvertLayoutOp>(loc, type, yielded.get()));
}

/// All tensors that a kernel reads or writes in memory, in the order of Layouts.
static SmallVector<Value> storedBy(FusedOp fused) {
  SmallVector<Value> all(fused.getOperands());
  llvm::append_range(all, fused.getResults());
  return all;
}

/// Whether the op can have all its tensors in any one layout.
static bool takesAnyLayout(Operation &op) {
  if (auto index = dyn_cast<IndexOp>(op))
    return !index.isView() && index.keepsOrder() && !index.looksUp();
  auto anchor = dyn_cast<AnchorOp>(op);
  return !anchor || anchor.takesAnyLayout();
}

/// Whether a kernel takes its tensors row-major and no other way.
static bool isRowMajor(FusedOp fused) {
  return !llvm::all_of(fused.getBody().front(), takesAnyLayout);
}

//===------------------------------------------------------------------------------------------===//
// Classes of tensors
//===------------------------------------------------------------------------------------------===//

namespace {

/// Stored tensors and variables that must lie alike.
class LayoutClasses {
public:
  explicit LayoutClasses(ModuleOp module);

  /// The number of a tensor's or variable's class.
  unsigned of(Value value) { return numberOf(value.getAsOpaquePointer()); }
  unsigned of(StringAttr variable) { return numberOf(variable.getAsOpaquePointer()); }
  /// Whether the class may have that layout.
  bool allows(unsigned number, program::LayoutAttr layout) const {
    return !fixed.contains(number) &&
           (!inPieces.contains(number) || program::keepsLeadingAxis(layout));
  }
  size_t size() const { return numbers.size(); }

private:
  using Item = const void *;
  unsigned numberOf(Item item) {
    return numbers.try_emplace(classes.getOrInsertLeaderValue(item), numbers.size()).first->second;
  }
  template <typename A, typename B> void unite(A a, B b) {
    classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  }
  void addEntry(EntryOp entry);
  void addUpdate(MultiTensorOp update);

  llvm::EquivalenceClasses<Item> classes;
  llvm::DenseMap<Item, unsigned> numbers; ///< of leaders
  SmallVector<Value> rowMajor;            ///< values whose classes are fixed
  SmallVector<Value> pieces; ///< values that are pieces of others along the leading axis
  llvm::DenseSet<unsigned> fixed, inPieces;
};

} // namespace

void LayoutClasses::addUpdate(MultiTensorOp update) {
  for (int64_t i = 0; i < update.getCount(); ++i) {
    for (int64_t stream = 1; stream < int64_t(update.getStreams()); ++stream)
      unite(update.getTensor(0, i), update.getTensor(stream, i));
    for (int64_t run = 0; run < update.getResultStreams(); ++run)
      unite(update.getTensor(0, i), update.getResultTensor(run, i));
  }
}

/// Whether operands and results of an op are memory of each other in each layout that keeps the
/// leading axis.
static bool isCutByLeadingAxis(Operation *op) {
  auto index = dyn_cast<IndexOp>(op);
  if (!index || index.isView() || !(index.canLieInOperand() || index.canHoldOperands()))
    return false;
  ArrayRef<int64_t> shape = typeOf(op->getResult(0)).getShape();
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return !shape.empty() && typeOf(operand).getShape().drop_front() == shape.drop_front();
  });
}

void LayoutClasses::addEntry(EntryOp entry) {
  llvm::append_range(rowMajor, entry.getBlock().getArguments());
  for (Operation &op : entry.getBlock())
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](ReadOp read) { unite(read.getResult(), read.getVariableAttr().getAttr()); })
        .Case(
            [&](AssignOp assign) { unite(assign.getValue(), assign.getVariableAttr().getAttr()); })
        .Case([&](MultiTensorOp update) { addUpdate(update); })
        .Case([&](AllReduceOp reduced) {
          for (auto [x, y] : llvm::zip_equal(reduced.getXs(), reduced.getYs()))
            unite(x, y);
        })
        .Case([&](ReturnOp end) {
          // A gradient lies as its variable does.
          for (auto [i, value] : llvm::enumerate(end.getOutputs()))
            if (entry.getOutputKind(i) != program::ValueKind::Gradient)
              rowMajor.push_back(value);
        })
        .Case([&](FusedOp fused) {
          if (isRowMajor(fused) || runsNothing(fused))
            llvm::append_range(rowMajor, storedBy(fused));
        })
        .Default([&](Operation *other) {
          if (isCutByLeadingAxis(other)) {
            for (Value operand : other->getOperands())
              unite(operand, other->getResult(0));
            pieces.push_back(other->getResult(0));
            return;
          }
          llvm::append_range(rowMajor, other->getOperands());
          llvm::append_range(rowMajor, other->getResults());
        });
}

LayoutClasses::LayoutClasses(ModuleOp module) {
  for (auto variable : module.getOps<VariableOp>())
    if (variable.getOf())
      unite(variable.getSymNameAttr(), variable.getOfAttr().getAttr());
  for (auto entry : module.getOps<EntryOp>())
    addEntry(entry);
  for (Value value : rowMajor)
    fixed.insert(of(value));
  for (Value value : pieces)
    inPieces.insert(of(value));
}

//===------------------------------------------------------------------------------------------===//
// Candidates of regions
//===------------------------------------------------------------------------------------------===//

namespace {

/// What a source answers, asked once for equal regions.
class KnownCandidates {
public:
  KnownCandidates(ModuleOp module, CandidateSource &source);
  /// Of a region that runs.
  const std::vector<Candidate> &of(FusedOp fused) { return entryOf(fused).all; }
  /// Of one, in layouts that need not be those of a candidate; none if no kernel holds it so.
  const std::vector<Candidate> &in(FusedOp fused, const Layouts &layouts);

private:
  struct Known {
    FusedOp first;
    std::vector<Candidate> all;
    std::vector<std::pair<Layouts, std::vector<Candidate>>> others;
  };
  Known &entryOf(FusedOp fused);
  CandidateSource &source;
  llvm::DenseMap<size_t, std::vector<std::unique_ptr<Known>>> byHash;
};

} // namespace

/// Made for the first of equal regions, which then stands in it.
KnownCandidates::Known &KnownCandidates::entryOf(FusedOp fused) {
  auto &alike = byHash[hashOfRegion(fused)];
  for (auto &known : alike)
    if (haveEqualRegions(known->first, fused))
      return *known;
  alike.push_back(std::make_unique<Known>(Known{fused, {}, {}}));
  return *alike.back();
}

const std::vector<Candidate> &KnownCandidates::in(FusedOp fused, const Layouts &layouts) {
  Known &known = entryOf(fused);
  for (const auto &[asked, candidates] : known.others)
    if (asked == layouts)
      return candidates;
  ScopedDiagnosticHandler silence(fused.getContext(), [](Diagnostic &) {});
  known.others.emplace_back(layouts, source.candidatesIn(fused, layouts));
  return known.others.back().second;
}

KnownCandidates::KnownCandidates(ModuleOp module, CandidateSource &source) : source(source) {
  SmallVector<FusedOp> distinct;
  module.walk([&](FusedOp fused) {
    if (!runsNothing(fused) && entryOf(fused).first == fused)
      distinct.push_back(fused);
  });
  source.expect(distinct);
  for (FusedOp fused : distinct)
    entryOf(fused).all = source.candidates(fused);
}

//===------------------------------------------------------------------------------------------===//
// The choice
//===------------------------------------------------------------------------------------------===//

namespace {

class Chooser {
public:
  Chooser(ModuleOp module, CandidateSource &source, bool prepares)
      : module(module), source(source), prepares(prepares), classes(module), known(module, source),
        unchanging(module) {}
  LogicalResult run();

private:
  struct Region {
    FusedOp fused;
    SmallVector<unsigned> classes; ///< of each stored tensor
    std::vector<Candidate> candidates;
    SmallVector<unsigned> firsts; ///< number of the first candidate of each layout
    unsigned choice = 0;          ///< of the firsts

    const Candidate &first(unsigned number) const { return candidates[firsts[number]]; }
    const Candidate &chosen() const { return first(choice); }
  };
  /// Of a choice: seconds, and the bytes of tensors that kernels of their own convert.
  struct Price {
    double seconds = 0;
    int64_t copiedBytes = 0;
  };
  /// What a choice leaves to convolutions.
  enum class Leaves { All, RowMajor, Others };
  LogicalResult collect();
  void countWishes();
  double preparedShare(FusedOp fused, const Candidate &candidate) const;
  std::vector<Candidate> withPrepared(FusedOp fused, std::vector<Candidate> all) const;
  void addAlternatives(const Region &region);
  bool leaves(const Region &region, unsigned first, Leaves what) const;
  double secondsIn(const Region &region, const Layouts &layouts);
  double conversionSeconds(const Region &region, size_t place, program::LayoutAttr stored,
                           program::LayoutAttr seen);
  double borderSeconds(const Region &region, unsigned first, size_t place,
                       program::LayoutAttr layout);
  bool isCopied(const Region &region, program::LayoutAttr stored, program::LayoutAttr seen) const;
  void addToGraph(const Region &region, Leaves what, double copiedByte, PbqpGraph &graph);
  void solveFor(Leaves what, double copiedByte = 0);
  Price price();
  void countFromNearest(Region &region);
  void chooseLayouts();
  double conversionsOf(const Region &region, const Layouts &layouts);
  Layouts layoutsOf(const Region &region) const;
  Layouts layoutsInside(const Region &region) const;
  LogicalResult record(const Region &region);
  FailureOr<Value> convert(OpBuilder &builder, Location loc, Value value,
                           program::LayoutAttr layout);
  LogicalResult convertOperands(const Region &region, const Layouts &inside);
  LogicalResult convertResults(const Region &region, const Layouts &inside);
  LogicalResult apply();
  void countInside(const Region &region);
  void recordConversions(EntryOp entry) const;

  ModuleOp module;
  CandidateSource &source;
  const bool prepares;
  LayoutClasses classes;
  KnownCandidates known;
  Unchanging unchanging;
  /// How many regions have a candidate that makes a form of a value.
  std::map<std::pair<const void *, std::string>, unsigned> wishes;
  std::vector<Region> regions;
  std::vector<SmallVector<program::LayoutAttr>> alternatives; ///< of each class, row-major first
  std::vector<program::LayoutAttr> chosen;                    ///< of each class
  llvm::DenseMap<std::pair<Value, program::LayoutAttr>, Value> conversions; ///< of operands
  /// Bytes of each tensor whose layout changes, by entry: where a kernel that does more reads or
  /// writes it, and by kernels of their own.
  llvm::DenseMap<Operation *, SmallVector<int64_t>> convertedInside, convertedApart;
};

} // namespace

/// `source` has no candidates for the region.
static LogicalResult refuse(FusedOp fused, CandidateSource &source) {
  InFlightDiagnostic error = fused.emitError("no generator of the target takes this kernel");
  if (std::string layer = qualifiedName(fused.getLoc()); !layer.empty())
    error << " of " << layer;
  if (std::string reason = source.refusal(fused); !reason.empty())
    error << ": " << reason;
  return error;
}

void Chooser::countWishes() {
  module.walk([&](FusedOp fused) {
    if (runsNothing(fused))
      return;
    std::set<std::pair<const void *, std::string>> here;
    for (const Candidate &candidate : known.of(fused))
      if (candidate.preparedOperand)
        here.emplace(fused.getOperand(*candidate.preparedOperand).getAsOpaquePointer(),
                     candidate.preparedForm);
    for (const auto &wish : here)
      ++wishes[wish];
  });
}

/// The part of a candidate's preparation that exec-prepare-operands takes from it.
double Chooser::preparedShare(FusedOp fused, const Candidate &candidate) const {
  if (!prepares || !candidate.preparedOperand)
    return 0;
  Value operand = fused.getOperand(*candidate.preparedOperand);
  if (unchanging.contains(operand))
    return 1;
  auto wish = wishes.find({operand.getAsOpaquePointer(), candidate.preparedForm});
  return wish == wishes.end() ? 0 : 1 - 1.0 / wish->second;
}

/// What the candidates cost where operands have been prepared, the one to take first in front of
/// those of its layouts.
std::vector<Candidate> Chooser::withPrepared(FusedOp fused, std::vector<Candidate> all) const {
  auto isPrepared = [&](const Candidate &candidate) { return preparedShare(fused, candidate) > 0; };
  for (Candidate &candidate : all)
    candidate.seconds = std::max(0.0, candidate.seconds - preparedShare(fused, candidate) *
                                                              candidate.preparationSeconds);
  for (auto first = all.begin(); first != all.end();) {
    auto end = std::find_if(first, all.end(), [&](const Candidate &candidate) {
      return candidate.layouts != first->layouts;
    });
    auto best = std::find_if(first, end, [&](const Candidate &candidate) {
      return candidate.pinnedPrepared && isPrepared(candidate);
    });
    if (best == end) {
      best = first;
      for (auto each = first; each != end; ++each)
        if (!first->pinned && isPrepared(*each) && each->seconds < best->seconds)
          best = each;
    }
    std::rotate(first, best, std::next(best));
    first = end;
  }
  return all;
}

LogicalResult Chooser::collect() {
  countWishes();
  WalkResult result = module.walk([&](FusedOp fused) -> WalkResult {
    if (runsNothing(fused))
      return WalkResult::advance();
    Region region{fused, {}, withPrepared(fused, known.of(fused)), {}};
    if (region.candidates.empty())
      return refuse(fused, source);
    for (Value value : storedBy(fused))
      region.classes.push_back(classes.of(value));
    const std::vector<Candidate> &all = region.candidates;
    for (unsigned i = 0; i < all.size(); ++i)
      if (i == 0 || all[i].layouts != all[i - 1].layouts)
        region.firsts.push_back(i);
    regions.push_back(std::move(region));
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (auto entry : module.getOps<EntryOp>())
    for (Operation &op : entry.getBlock())
      for (Value value : op.getResults())
        classes.of(value);
  for (auto variable : module.getOps<VariableOp>())
    classes.of(variable.getSymNameAttr());
  alternatives.assign(classes.size(), {program::LayoutAttr()});
  for (const Region &region : regions)
    addAlternatives(region);
  chosen.assign(classes.size(), program::LayoutAttr());
  return success();
}

void Chooser::addAlternatives(const Region &region) {
  for (unsigned first : region.firsts)
    for (auto [number, layout] : llvm::zip_equal(region.classes, region.candidates[first].layouts))
      if (classes.allows(number, layout) && !llvm::is_contained(alternatives[number], layout))
        alternatives[number].push_back(layout);
}

static bool isRowMajor(const Layouts &layouts) {
  return llvm::none_of(layouts, [](program::LayoutAttr layout) { return bool(layout); });
}

/// Whether a region may take its candidates of that layout: another is left only where one of them
/// is a convolution's own code for it.
bool Chooser::leaves(const Region &region, unsigned first, Leaves what) const {
  const bool wantsRows = what == Leaves::RowMajor;
  auto isLeft = [&](unsigned number) {
    return isRowMajor(region.first(number).layouts) == wantsRows &&
           (wantsRows || region.first(number).isDirected);
  };
  return what == Leaves::All || isLeft(first) ||
         llvm::none_of(llvm::seq<unsigned>(region.firsts.size()), isLeft);
}

/// More than any network takes, and little enough that microseconds still count beside it.
static constexpr double impossible = 1e6;

/// Of a region whose code sees its tensors so.
double Chooser::secondsIn(const Region &region, const Layouts &layouts) {
  for (unsigned first : region.firsts)
    if (region.candidates[first].layouts == layouts)
      return region.candidates[first].seconds;
  const std::vector<Candidate> here = withPrepared(region.fused, known.in(region.fused, layouts));
  return here.empty() ? impossible : here.front().seconds;
}

/// Of one of its tensors, stored in one layout and seen in another.
double Chooser::conversionSeconds(const Region &region, size_t place, program::LayoutAttr stored,
                                  program::LayoutAttr seen) {
  const RankedTensorType type = typeOf(storedBy(region.fused)[place]);
  return place < region.fused->getNumOperands() ? source.conversionSeconds(type, stored, seen)
                                                : source.conversionSeconds(type, seen, stored);
}

/// What it costs a region that one of its tensors lies in a layout, and not in its candidate's.
double Chooser::borderSeconds(const Region &region, unsigned first, size_t place,
                              program::LayoutAttr layout) {
  const Candidate &candidate = region.first(first);
  program::LayoutAttr own = candidate.layouts[place];
  if (own == layout)
    return 0;
  if (!source.convertsItself(region.fused) || !source.estimatesConversions())
    return conversionSeconds(region, place, layout, own);
  Layouts mixed = candidate.layouts;
  mixed[place] = layout;
  return std::max(0.0, secondsIn(region, mixed) - candidate.seconds);
}

/// Whether a kernel of its own turns one of the region's tensors.
bool Chooser::isCopied(const Region &region, program::LayoutAttr stored,
                       program::LayoutAttr seen) const {
  return stored != seen && !source.convertsItself(region.fused);
}

/// A node for the region, behind those of all classes, and its edges. `copiedByte`: what a byte of
/// a copy counts beside its seconds.
void Chooser::addToGraph(const Region &region, Leaves what, double copiedByte, PbqpGraph &graph) {
  const SmallVector<Value> values = storedBy(region.fused);
  std::vector<double> seconds;
  for (unsigned i = 0; i < region.firsts.size(); ++i)
    seconds.push_back(region.first(i).seconds + (leaves(region, i, what) ? 0 : impossible));
  const unsigned node = graph.addNode(seconds);
  for (auto [place, number] : llvm::enumerate(region.classes)) {
    PbqpMatrix costs(seconds.size(), alternatives[number].size());
    for (size_t i = 0; i < costs.rows(); ++i)
      for (size_t j = 0; j < costs.columns(); ++j) {
        const program::LayoutAttr stored = alternatives[number][j];
        costs.at(i, j) = borderSeconds(region, i, place, stored);
        if (isCopied(region, stored, region.first(i).layouts[place]))
          costs.at(i, j) += copiedByte * double(program::storageBytes(typeOf(values[place])));
      }
    graph.addEdge(node, number, costs);
  }
}

/// The seconds of all regions and conversions as they stand, each conversion of a value once.
Chooser::Price Chooser::price() {
  Price price;
  std::set<std::pair<const void *, const void *>> converted;
  for (const Region &region : regions) {
    const Layouts inside =
        source.estimatesConversions() ? layoutsInside(region) : region.chosen().layouts;
    price.seconds += secondsIn(region, inside);
    const SmallVector<Value> values = storedBy(region.fused);
    for (auto [place, number] : llvm::enumerate(region.classes)) {
      const program::LayoutAttr stored = chosen[number], seen = inside[place];
      const bool isShared = place < region.fused->getNumOperands();
      if (stored != seen &&
          (!isShared ||
           converted.insert({values[place].getAsOpaquePointer(), seen.getAsOpaquePointer()})
               .second)) {
        price.seconds += conversionSeconds(region, place, stored, seen);
        if (isCopied(region, stored, seen))
          price.copiedBytes += program::storageBytes(typeOf(values[place]));
      }
    }
  }
  return price;
}

void Chooser::solveFor(Leaves what, double copiedByte) {
  PbqpGraph graph;
  for (const auto &list : alternatives)
    graph.addNode(std::vector<double>(list.size(), 0));
  for (const Region &region : regions)
    addToGraph(region, what, copiedByte, graph);
  // Conversions make every choice possible.
  PbqpSolution solution = *solve(graph);
  for (size_t number = 0; number < alternatives.size(); ++number)
    chosen[number] = alternatives[number][solution.choice[number]];
  for (auto [i, region] : llvm::enumerate(regions))
    region.choice = solution.choice[alternatives.size() + i];
}

/// Code that converts its tensors itself sees them as they lie: of its candidates it has that of
/// which fewest bytes lie otherwise.
void Chooser::countFromNearest(Region &region) {
  if (!source.convertsItself(region.fused) || !source.estimatesConversions())
    return;
  const SmallVector<Value> values = storedBy(region.fused);
  auto otherwise = [&](unsigned first) {
    int64_t bytes = 0;
    for (auto [value, number, layout] :
         llvm::zip_equal(values, region.classes, region.first(first).layouts))
      bytes += layout == chosen[number] ? 0 : program::storageBytes(typeOf(value));
    return bytes;
  };
  region.choice = 0;
  for (unsigned first = 1; first < region.firsts.size(); ++first)
    if (otherwise(first) < otherwise(region.choice))
      region.choice = first;
}

/// The part of a choice's seconds that fewer copies may cost: far less than estimates can tell.
static constexpr double worthFewerCopies = 1e-3;

void Chooser::chooseLayouts() {
  if (llvm::all_of(alternatives, [](const auto &list) { return list.size() == 1; }))
    return;
  Price least{std::numeric_limits<double>::infinity()};
  Leaves best = Leaves::All;
  for (Leaves what : {Leaves::All, Leaves::RowMajor, Leaves::Others}) {
    solveFor(what);
    if (const Price found = price(); found.seconds < least.seconds) {
      least = found;
      best = what;
    }
  }
  // Only those stay that pay twice.
  solveFor(best, source.secondsPerCopiedByte());
  if (const Price sparing = price(); sparing.copiedBytes >= least.copiedBytes ||
                                     sparing.seconds > (1 + worthFewerCopies) * least.seconds)
    solveFor(best);
  llvm::for_each(regions, [&](Region &region) { countFromNearest(region); });
}

Layouts Chooser::layoutsOf(const Region &region) const {
  return llvm::map_to_vector(region.classes, [&](unsigned number) { return chosen[number]; });
}

/// Those that its code sees: what converts its tensors itself sees them as they lie.
Layouts Chooser::layoutsInside(const Region &region) const {
  return source.convertsItself(region.fused) ? layoutsOf(region) : region.chosen().layouts;
}

/// At the region's border, for a candidate that computes in `layouts`.
double Chooser::conversionsOf(const Region &region, const Layouts &layouts) {
  double seconds = 0;
  for (unsigned first = 0; first < region.firsts.size(); ++first)
    if (region.first(first).layouts == layouts)
      for (auto [place, number] : llvm::enumerate(region.classes))
        seconds += borderSeconds(region, first, place, chosen[number]);
  return seconds;
}

program::CandidateAttr Candidate::asAttr(MLIRContext *context) const {
  Builder builder(context);
  return program::CandidateAttr::get(
      context, builder.getStringAttr(generator), builder.getStringAttr(schedule),
      builder.getF64FloatAttr(seconds), int64_t(workspaceBytes), !inPlace);
}

/// Before types change: the first candidate in the layouts that the region's code sees, and the
/// cheapest of all others, beside the choices of the rest.
LogicalResult Chooser::record(const Region &region) {
  FusedOp fused = region.fused;
  const Layouts layouts = layoutsInside(region);
  std::vector<Candidate> here;
  for (const Candidate &candidate : region.candidates)
    if (candidate.layouts == layouts)
      here.push_back(candidate);
  if (here.empty())
    here = withPrepared(fused, known.in(fused, layouts));
  if (here.empty())
    return refuse(fused, source);
  std::optional<Candidate> second;
  auto consider = [&](const Candidate &candidate, double price) {
    if (!second || price < second->seconds) {
      second = candidate;
      second->seconds = price;
    }
  };
  for (const Candidate &candidate : ArrayRef(here).drop_front())
    consider(candidate, candidate.seconds);
  for (const Candidate &candidate : region.candidates)
    if (candidate.layouts != layouts)
      consider(candidate, candidate.seconds + conversionsOf(region, candidate.layouts));
  MLIRContext *context = fused.getContext();
  fused.setCandidateAttr(here.front().asAttr(context));
  if (second)
    fused.setSecondBestAttr(second->asAttr(context));
  return success();
}

/// A kernel that does nothing else.
FailureOr<Value> Chooser::convert(OpBuilder &builder, Location loc, Value value,
                                  program::LayoutAttr layout) {
  auto stored = typeOf(value);
  auto from = cast_or_null<program::LayoutAttr>(stored.getEncoding());
  auto fused = FusedOp::create(builder, loc, inLayout(stored, layout), value);
  Block &body = fused.getBody().emplaceBlock();
  Value x = body.addArgument(inLayout(stored, nullptr), loc);
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  YieldOp::create(inside, loc, x);
  const Layouts layouts = {from, layout};
  std::vector<Candidate> candidates = source.candidatesIn(fused, layouts);
  if (candidates.empty())
    return refuse(fused, source);
  fused.setCandidateAttr(candidates.front().asAttr(fused.getContext()));
  storeAs(body, layouts);
  convertedApart[fused->getParentOp()].push_back(program::storageBytes(stored));
  return fused.getResult(0);
}

void Chooser::countInside(const Region &region) {
  FusedOp fused = region.fused;
  if (!source.convertsItself(fused))
    return;
  const Layouts &wanted = region.chosen().layouts;
  for (auto [value, number, layout] : llvm::zip_equal(storedBy(fused), region.classes, wanted))
    if (chosen[number] != layout)
      convertedInside[fused->getParentOp()].push_back(program::storageBytes(typeOf(value)));
}

/// For the report.
void Chooser::recordConversions(EntryOp entry) const {
  auto inside = convertedInside.lookup(entry), apart = convertedApart.lookup(entry);
  if (inside.empty() && apart.empty())
    return;
  Builder builder(entry.getContext());
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  entry->setAttr("dl.conversions",
                 builder.getDictionaryAttr({number("apart", apart.size()),
                                            number("apart_bytes", llvm::sum_of(apart)),
                                            number("inside", inside.size()),
                                            number("inside_bytes", llvm::sum_of(inside))}));
}

LogicalResult Chooser::convertOperands(const Region &region, const Layouts &inside) {
  FusedOp fused = region.fused;
  for (OpOperand &operand : fused->getOpOperands()) {
    const program::LayoutAttr wanted = inside[operand.getOperandNumber()];
    Value value = operand.get();
    if (typeOf(value).getEncoding() == wanted)
      continue;
    Value &known = conversions[{value, wanted}];
    if (!known) {
      OpBuilder builder(fused);
      builder.setInsertionPointAfterValue(value);
      FailureOr<Value> made = convert(builder, fused.getLoc(), value, wanted);
      if (failed(made))
        return failure();
      known = *made;
    }
    operand.set(known);
  }
  return success();
}

LogicalResult Chooser::convertResults(const Region &region, const Layouts &inside) {
  FusedOp fused = region.fused;
  OpBuilder builder(fused.getContext());
  builder.setInsertionPointAfter(fused);
  auto ofResults = ArrayRef(inside).drop_front(fused->getNumOperands());
  for (auto [result, layout] : llvm::zip_equal(fused.getResults(), ofResults)) {
    auto stored = typeOf(result);
    if (stored.getEncoding() == layout)
      continue;
    result.setType(inLayout(stored, layout));
    FailureOr<Value> made = convert(builder, fused.getLoc(), result,
                                    cast_or_null<program::LayoutAttr>(stored.getEncoding()));
    if (failed(made))
      return failure();
    result.replaceAllUsesExcept(*made, made->getDefiningOp());
  }
  return success();
}

LogicalResult Chooser::apply() {
  auto inChosen = [&](RankedTensorType type, unsigned number) {
    return chosen[number] ? inLayout(type, chosen[number]) : type;
  };
  std::vector<Layouts> inside;
  for (Region &region : regions) {
    countInside(region);
    inside.push_back(layoutsInside(region));
    storeAs(region.fused.getBody().front(), inside.back());
  }
  for (auto entry : module.getOps<EntryOp>())
    for (Operation &op : entry.getBlock())
      for (Value value : op.getResults())
        value.setType(inChosen(typeOf(value), classes.of(value)));
  for (auto variable : module.getOps<VariableOp>())
    variable.setType(inChosen(variable.getTensorType(), classes.of(variable.getSymNameAttr())));
  // Results first: what converts an operand then takes what is stored.
  for (auto [region, layouts] : llvm::zip_equal(regions, inside))
    if (failed(convertResults(region, layouts)))
      return failure();
  for (auto [region, layouts] : llvm::zip_equal(regions, inside))
    if (failed(convertOperands(region, layouts)))
      return failure();
  for (auto entry : module.getOps<EntryOp>()) {
    TypeRange results = entry.getReturn().getOutputs().getTypes();
    entry.setFunctionType(FunctionType::get(entry.getContext(), entry.getArgumentTypes(), results));
    recordConversions(entry);
  }
  return success();
}

LogicalResult Chooser::run() {
  if (failed(collect()))
    return failure();
  chooseLayouts();
  for (const Region &region : regions)
    if (failed(record(region)))
      return failure();
  return apply();
}

namespace {
struct Choose : PassWrapper<Choose, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Choose)

  Choose(std::shared_ptr<CandidateSource> source, bool prepares)
      : source(std::move(source)), prepares(prepares) {}
  StringRef getArgument() const override { return "dl-choose"; }
  StringRef getDescription() const override {
    return "chooses the layouts of all tensors and the code of all regions together";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    source->addDialects(registry);
  }
  void runOnOperation() override {
    // What nothing uses shall have no say.
    for (auto entry : getOperation().getOps<EntryOp>())
      eraseDeadOps(entry);
    if (failed(Chooser(getOperation(), *source, prepares).run()))
      signalPassFailure();
  }

  std::shared_ptr<CandidateSource> source;
  bool prepares;
};
} // namespace

std::unique_ptr<Pass> dlc::dl::createChoose(std::shared_ptr<CandidateSource> source,
                                            bool prepares) {
  return std::make_unique<Choose>(std::move(source), prepares);
}
