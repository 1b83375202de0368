//===- LockFile.cpp - see LockFile.h ----------------------------------------------------------===//
#include "codegen/Tune/LockFile.h"
#include "codegen/Compile/KernelCache.h"
#include "codegen/Kernel/Status.h"
#include "codegen/Plan/ModuleCompiler.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Json.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
namespace json = llvm::json;

namespace dlc::codegen {

static constexpr int64_t version = 2; ///< as checkVersion says
/// Candidates that are estimated to take this many times as long as the fastest are not timed: the
/// loops of last resort, which would take as long as all others together.
static constexpr double hopeless = 10;

std::vector<const GeneratedCandidate *> contendersOf(const KernelOffer &offer) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const GeneratedCandidate &one : offer.candidates)
    fastest = std::min(fastest, one.candidate.cost);
  std::vector<const GeneratedCandidate *> contenders;
  for (const GeneratedCandidate &one : offer.candidates)
    if (one.candidate.cost <= hopeless * fastest)
      contenders.push_back(&one);
  return contenders;
}

std::string problemHash(StringRef text) { return hexadecimal(hashText(text)); }

//===------------------------------------------------------------------------------------------===//
// Problems
//===------------------------------------------------------------------------------------------===//

template <typename T> static std::string textOf(const T &printed) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << printed;
  return text;
}

static std::vector<std::string> textsOf(TypeRange types) {
  std::vector<std::string> texts;
  for (Type type : types)
    texts.push_back(textOf(type));
  return texts;
}

llvm::Expected<TunedProblem> TunedProblem::get(StringRef text, MLIRContext &context) {
  FailureOr<OwningOpRef<ModuleOp>> module = parseKernel(text, &context);
  if (failed(module))
    return llvm::createStringError("the text of a kernel cannot be read");
  Block &block = kernelBlock(**module);
  FailureOr<KernelSpec> spec = KernelSpec::get(block);
  if (failed(spec))
    return llvm::createStringError("the text of a kernel is none");
  TunedProblem problem;
  problem.hash = problemHash(text);
  problem.name = spec->stem();
  Operation *anchor = spec->anchorOp();
  problem.op = anchor ? anchor->getName().getStringRef().str() : "map";
  if (anchor)
    problem.attributes = textOf(anchor->getAttrDictionary());
  problem.operands = textsOf(block.getArgumentTypes());
  problem.results = textsOf(block.back().getOperandTypes());
  for (Operation &op : block.without_terminator())
    if (&op != anchor)
      problem.fused.push_back(op.getName().getStringRef().str());
  return problem;
}

//===------------------------------------------------------------------------------------------===//
// Writing
//===------------------------------------------------------------------------------------------===//

static json::Value toJson(const std::vector<std::string> &texts) { return json::Array(texts); }

static json::Value toJson(const TunedProblem &problem) {
  return json::Object{{"hash", problem.hash},
                      {"name", problem.name},
                      {"op", problem.op},
                      {"attributes", problem.attributes},
                      {"operands", toJson(problem.operands)},
                      {"results", toJson(problem.results)},
                      {"fused", toJson(problem.fused)}};
}

static json::Value toJson(const MeasuredCandidate &candidate) {
  return json::Object{
      {"generator", candidate.generator}, {"algorithm", candidate.algorithm},
      {"schedule", candidate.schedule},   {"workspace", int64_t(candidate.workspaceBytes)},
      {"seconds", candidate.seconds},     {"preparing", candidate.preparing}};
}

static json::Value toJson(const TunedKernel &kernel) {
  json::Array others;
  for (const MeasuredCandidate &other : kernel.others)
    others.push_back(toJson(other));
  json::Object object{{"problem", toJson(kernel.problem)},
                      {"layers", toJson(kernel.layers)},
                      {"chosen", toJson(kernel.chosen)},
                      {"others", std::move(others)}};
  if (kernel.chosenPrepared)
    object["chosen_prepared"] = toJson(*kernel.chosenPrepared);
  return object;
}

llvm::Error LockFile::write(const std::string &path) const {
  std::string text =
      llvm::formatv("{{\n  \"dlc_plan\": {0},\n  \"target\": {1},\n  \"machine\": {2},\n  "
                    "\"kernels\": [",
                    version, json::Value(target), json::Value(machine));
  for (auto [i, kernel] : llvm::enumerate(kernels))
    text += llvm::formatv("{0}\n    {1}", i == 0 ? "" : ",", toJson(kernel)).str();
  text += "\n  ]\n}\n";
  return toError(runtime::writeFile(path, text));
}

//===------------------------------------------------------------------------------------------===//
// Reading
//===------------------------------------------------------------------------------------------===//

namespace {
/// Reads the fields of one object, and knows which there are.
class Fields {
public:
  Fields(const json::Value &value, json::Path path) : object(value.getAsObject()), path(path) {
    if (!object)
      path.report("expected an object");
    valid = object != nullptr;
  }

  /// A field that must be there. `read` is called with its value and place.
  template <typename Read> Fields &take(StringLiteral name, Read &&read) {
    if (!valid)
      return *this;
    if (!object->get(name))
      path.field(name).report("missing");
    valid = object->get(name);
    return takeIfThere(name, read);
  }
  template <typename Read> Fields &takeIfThere(StringLiteral name, Read &&read) {
    if (!valid)
      return *this;
    taken.push_back(name);
    if (const json::Value *value = object->get(name))
      valid = read(*value, path.field(name));
    return *this;
  }
  Fields &take(StringLiteral name, std::string &result) {
    return take(name, [&](const json::Value &value, json::Path at) {
      return json::fromJSON(value, result, at);
    });
  }
  Fields &take(StringLiteral name, std::vector<std::string> &result) {
    return take(name, [&](const json::Value &value, json::Path at) {
      return json::fromJSON(value, result, at);
    });
  }

  /// Whether all was there and nothing else is.
  bool done() {
    if (!valid)
      return false;
    for (const auto &[name, value] : *object)
      if (!llvm::is_contained(taken, StringRef(name))) {
        path.field(name).report("unknown field");
        return false;
      }
    return true;
  }

private:
  const json::Object *object;
  json::Path path;
  SmallVector<StringRef> taken;
  bool valid;
};
} // namespace

static bool isHash(StringRef text) {
  return text.size() == 2 * sizeof(KernelKey) &&
         llvm::all_of(text, [](char c) { return llvm::isDigit(c) || (c >= 'a' && c <= 'f'); });
}

static bool fromJSON(const json::Value &value, TunedProblem &problem, json::Path path) {
  bool valid = Fields(value, path)
                   .take("hash", problem.hash)
                   .take("name", problem.name)
                   .take("op", problem.op)
                   .take("attributes", problem.attributes)
                   .take("operands", problem.operands)
                   .take("results", problem.results)
                   .take("fused", problem.fused)
                   .done();
  if (valid && !isHash(problem.hash)) {
    path.field("hash").report("expected 32 hexadecimal digits");
    return false;
  }
  return valid;
}

static bool readBytes(const json::Value &value, uint64_t &bytes, json::Path path) {
  std::optional<int64_t> number = value.getAsInteger();
  if (!number || *number < 0) {
    path.report("expected a whole number of 0 or more");
    return false;
  }
  bytes = *number;
  return true;
}

static bool readSeconds(const json::Value &value, double &seconds, bool mayBeNone,
                        json::Path path) {
  std::optional<double> number = value.getAsNumber();
  if (!number || !(mayBeNone ? *number >= 0 : *number > 0) || !std::isfinite(*number)) {
    path.report(mayBeNone ? StringLiteral("expected a number of 0 or more")
                          : StringLiteral("expected a number above 0"));
    return false;
  }
  seconds = *number;
  return true;
}

static bool fromJSON(const json::Value &value, MeasuredCandidate &candidate, json::Path path) {
  return Fields(value, path)
      .take("generator", candidate.generator)
      .take("algorithm", candidate.algorithm)
      .take("schedule", candidate.schedule)
      .take("workspace",
            [&](const json::Value &bytes, json::Path at) {
              return readBytes(bytes, candidate.workspaceBytes, at);
            })
      .take("seconds",
            [&](const json::Value &seconds, json::Path at) {
              return readSeconds(seconds, candidate.seconds, /*mayBeNone=*/false, at);
            })
      .take("preparing",
            [&](const json::Value &seconds, json::Path at) {
              return readSeconds(seconds, candidate.preparing, /*mayBeNone=*/true, at);
            })
      .done();
}

static bool fromJSON(const json::Value &value, TunedKernel &kernel, json::Path path) {
  auto read = [](auto &result) {
    return [&](const json::Value &field, json::Path at) {
      using json::fromJSON;
      return fromJSON(field, result, at);
    };
  };
  return Fields(value, path)
      .take("problem", read(kernel.problem))
      .take("layers", kernel.layers)
      .take("chosen", read(kernel.chosen))
      .takeIfThere("chosen_prepared", read(kernel.chosenPrepared))
      .take("others", read(kernel.others))
      .done();
}

/// Before all else, since another version may have other fields.
static bool checkVersion(const json::Value &value, json::Path path) {
  const json::Object *object = value.getAsObject();
  const json::Value *found = object ? object->get("dlc_plan") : nullptr;
  if (found && found->getAsInteger() == version)
    return true;
  if (found)
    path.field("dlc_plan").report("expected version 2");
  else
    path.report("expected an object with the field dlc_plan");
  return false;
}

static bool checkDistinct(ArrayRef<TunedKernel> kernels, json::Path path) {
  llvm::StringMap<size_t> known;
  for (auto [i, kernel] : llvm::enumerate(kernels))
    if (!known.try_emplace(kernel.problem.hash, i).second) {
      path.field("kernels").index(i).field("problem").report("stands in the plan twice");
      return false;
    }
  return true;
}

static bool fromJSON(const json::Value &value, LockFile &file, json::Path path) {
  return checkVersion(value, path) &&
         Fields(value, path)
             .take("dlc_plan", [](const json::Value &, json::Path) { return true; })
             .take("target", file.target)
             .take("machine", file.machine)
             .take("kernels",
                   [&](const json::Value &kernels, json::Path at) {
                     return json::fromJSON(kernels, file.kernels, at);
                   })
             .done() &&
         checkDistinct(file.kernels, path);
}

/// A hash stands in a plan once, but for layers that are named so.
static unsigned findLine(StringRef text, StringRef hash) {
  return 1 + text.take_front(text.find(("\"" + hash + "\"").str())).count('\n');
}

llvm::Expected<LockFile> LockFile::read(const std::string &path, const Target &target) {
  constexpr uint64_t limit = 256 << 20;
  llvm::Expected<std::vector<std::byte>> bytes = toExpected(runtime::readWholeFile(path, limit));
  if (!bytes)
    return bytes.takeError();
  StringRef text(reinterpret_cast<const char *>(bytes->data()), bytes->size());
  if (llvm::Error deep = toError(runtime::checkJsonDepth(text).in(path)))
    return std::move(deep);
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value) {
    std::string why = llvm::toString(value.takeError());
    return llvm::createStringError(
        path + ": expected the JSON that dlc tune writes: " + StringRef(why).rtrim().str());
  }
  LockFile file;
  json::Path::Root root("plan");
  if (!fromJSON(*value, file, root))
    return llvm::createStringError(path + ": " + llvm::toString(root.getError()));
  if (std::string own = target.description(); file.target != own)
    return llvm::createStringError(path + ": tuned for another machine, " + file.target +
                                   "; this compiles for " + own);
  for (TunedKernel &kernel : file.kernels)
    kernel.line = findLine(text, kernel.problem.hash);
  return file;
}

//===------------------------------------------------------------------------------------------===//
// Use
//===------------------------------------------------------------------------------------------===//

PinnedChoices LockFile::choices() const {
  auto known = std::make_shared<llvm::StringMap<PinnedKernel>>();
  for (const TunedKernel &kernel : kernels) {
    PinnedKernel &pinned = (*known)[kernel.problem.hash];
    pinned.chosen = kernel.chosen.name();
    auto know = [&](const MeasuredCandidate &one) {
      pinned.seconds.try_emplace(one.name(), PinnedKernel::Seconds{one.seconds, one.preparing});
    };
    know(kernel.chosen);
    if (kernel.chosenPrepared) {
      pinned.chosenPrepared = kernel.chosenPrepared->name();
      know(*kernel.chosenPrepared);
    }
    llvm::for_each(kernel.others, know);
  }
  return [known](StringRef text) -> const PinnedKernel * {
    auto found = known->find(problemHash(text));
    return found == known->end() ? nullptr : &found->second;
  };
}

/// "conv1/forward"; what it computes where no layer runs it.
static std::string labelOf(const TunedKernel &kernel) {
  return kernel.layers.empty() ? kernel.problem.name : kernel.layers.front();
}

/// The chosen candidates that the target's generators do not offer: "'cpu-gemm: 8x48'".
static std::string missingIn(const KernelOffer &offer, const TunedKernel &kernel) {
  SmallVector<std::string> missing;
  auto check = [&](const MeasuredCandidate &one) {
    if (llvm::none_of(offer.candidates, [&](const GeneratedCandidate &candidate) {
          return candidate.name() == one.name();
        }))
      missing.push_back("'" + one.name() + "'");
  };
  check(kernel.chosen);
  if (kernel.chosenPrepared)
    check(*kernel.chosenPrepared);
  return llvm::join(missing, " and no ");
}

std::vector<Misfit> LockFile::findMisfits(const Selectors &selectors) const {
  llvm::StringMap<const KernelOffer *> asked;
  for (const KernelOffer *offer : selectors.offers())
    asked[problemHash(offer->text)] = offer;
  llvm::StringSet<> known, named;
  std::vector<Misfit> misfits;
  for (const TunedKernel &kernel : kernels) {
    const KernelOffer *offer = asked.lookup(kernel.problem.hash);
    known.insert(kernel.problem.hash);
    if (!offer)
      misfits.push_back(
          {kernel.line, "the model has no such kernel as that of " + labelOf(kernel)});
    else if (const std::string missing = missingIn(*offer, kernel); !missing.empty())
      misfits.push_back(
          {kernel.line, "for " + labelOf(kernel) + " there is no " + missing + " any longer"});
  }
  // In several layouts it is still one kernel for people.
  for (const KernelOffer *offer : selectors.used->offers())
    if (!known.contains(problemHash(offer->text)) && contendersOf(*offer).size() > 1 &&
        named.insert(offer->stem).second)
      misfits.push_back({0, "nothing was measured for " + offer->stem});
  return misfits;
}

} // namespace dlc::codegen
