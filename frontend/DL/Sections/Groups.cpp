// Parameter groups: patterns over the names of weights, and what they set.
#include "frontend/DL/Evaluation/Initialisers.h"
#include "frontend/DL/Sections/Sections.h"

#include "llvm/ADT/StringExtras.h"

namespace dlc::frontend {

llvm::ArrayRef<llvm::StringLiteral> groupSettingNames() {
  static constexpr llvm::StringLiteral names[] = {"lr_mult", "decay_mult", "frozen",
                                                  "init",    "optimizer",  "precision"};
  return names;
}

/// `*` within one part of a name: matched by going back to the last star.
static bool matchesPart(llvm::StringRef pattern, llvm::StringRef part) {
  size_t p = 0, i = 0, star = llvm::StringRef::npos, from = 0;
  while (i < part.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = i;
    } else if (p < pattern.size() && pattern[p] == part[i]) {
      ++p;
      ++i;
    } else if (star != llvm::StringRef::npos) {
      p = star + 1;
      i = ++from;
    } else {
      return false;
    }
  }
  return pattern.drop_front(p).find_first_not_of('*') == llvm::StringRef::npos;
}

bool matchesPattern(llvm::StringRef pattern, llvm::StringRef key) {
  llvm::SmallVector<llvm::StringRef> wanted, parts;
  pattern.split(wanted, '.');
  key.split(parts, '.');
  // reach[i]: the pattern so far matches the first i parts.
  llvm::SmallVector<bool> reach(parts.size() + 1, false);
  reach[0] = true;
  for (llvm::StringRef each : wanted) {
    llvm::SmallVector<bool> next(parts.size() + 1, false);
    for (size_t i = 0; i <= parts.size(); ++i) {
      if (each == "**")
        next[i] = reach[i] || (i && next[i - 1]);
      else if (i)
        next[i] = reach[i - 1] && matchesPart(each, parts[i - 1]);
    }
    reach = next;
  }
  return reach.back();
}

static void errorNoMatch(Evaluator &evaluator, const ast::PatternString &pattern) {
  llvm::SmallVector<const Variable *> variables;
  for (const auto &variable : evaluator.program.variables)
    if (variable->role == program::Role::Parameter)
      variables.push_back(variable.get());
  auto error = evaluator.error(pattern.range, "the pattern matches none of the " +
                                                  counted(variables.size(), "parameter"));
  const llvm::StringRef given = pattern.text.take_front(64);
  auto matches = [&](llvm::StringRef other) {
    return llvm::count_if(variables, [&](auto *each) { return matchesPattern(other, each->key); });
  };
  // "Tower1.*" is often meant as all of a block.
  llvm::SmallVector<llvm::StringRef> parts;
  given.split(parts, '.');
  for (llvm::StringRef &part : parts)
    if (part.find_first_not_of('*') == llvm::StringRef::npos && !part.empty())
      part = "**";
  if (std::string deeper = llvm::join(parts, "."); deeper != given && matches(deeper)) {
    error.hint("'*' is one part of a name: \"" + deeper + "\" matches " +
               std::to_string(matches(deeper)));
    return;
  }
  // "bias" is often meant as the bias of every layer.
  if (std::string anywhere = "**." + given.str(); parts.front() != "**" && matches(anywhere)) {
    error.hint("did you mean \"" + anywhere + "\"?");
    return;
  }
  std::string plain;
  llvm::copy_if(given, std::back_inserter(plain), [](char c) { return c != '*'; });
  // Those that begin alike come first.
  llvm::StringRef beginning = given.take_until([](char c) { return c == '*'; });
  llvm::SmallVector<std::tuple<size_t, unsigned, llvm::StringRef>> ranked;
  for (const Variable *variable : variables) {
    llvm::StringRef key = variable->key;
    auto [end, keyEnd] = std::mismatch(beginning.begin(), beginning.end(), key.begin(), key.end());
    ranked.push_back(
        {size_t(beginning.end() - end), llvm::StringRef(plain).trim('.').edit_distance(key), key});
  }
  llvm::sort(ranked);
  std::string hint;
  for (auto [missing, distance, key] : llvm::ArrayRef(ranked).take_front(2))
    hint += (hint.empty() ? "nearest names: '" : ", '") + key.str() + "'";
  error.hint(hint);
}

static std::string hintForGroupSetting(llvm::StringRef name,
                                       llvm::ArrayRef<llvm::StringRef> names) {
  if (name == "lr" || name == "learning_rate")
    return "lr_mult is a factor on the optimizer's learning rate";
  if (name == "weight_decay")
    return "decay_mult is a factor on the optimizer's weight decay";
  if (name == "requires_grad" || name == "trainable")
    return "did you mean 'frozen'?";
  std::string near = didYouMean(name, names);
  return near.empty() ? "it has " + llvm::join(names, ", ") : near;
}

static bool applySetting(Evaluator &evaluator, const ast::Setting &setting, const Value &value,
                         Variable &variable, bool inStep) {
  llvm::StringRef name = setting.name.text;
  const Plan *plan = value.getIf<Plan>();
  if (inStep && (name == "init" || name == "precision")) {
    evaluator.error(setting.name.range, "'" + name + "' is no setting of a step's group")
        .hint(llvm::Twine(name == "init" ? "a weight begins once" : "steps share their models") +
              ": set it in a group of the section");
    return false;
  }
  if (name == "init") {
    auto init =
        resolveInitialiser(evaluator, value, variable.fanIn, variable.fanOut, setting.value->range);
    variable.init = init ? init : variable.init;
    return bool(init);
  }
  if ((name == "lr_mult" || name == "decay_mult") && value.isNumber() && value.number() >= 0) {
    (name == "lr_mult" ? variable.settings.lrMult : variable.settings.decayMult) = value.number();
    return true;
  }
  if (name == "frozen" && value.is<bool>()) {
    variable.settings.frozen = value.as<bool>();
    return true;
  }
  // The models are built with it: program.precisionPatterns.
  if (const DType *dtype = value.getIf<DType>();
      name == "precision" && dtype && isPrecision(*dtype))
    return true;
  if (name == "optimizer" && plan && (*plan)->maker->category == Category::Optimizer) {
    variable.settings.optimizer = *plan;
    return true;
  }
  llvm::SmallVector<llvm::StringRef> names(groupSettingNames());
  if (!llvm::is_contained(names, name))
    evaluator.error(setting.name.range, "a group has no setting '" + name + "'")
        .hint(hintForGroupSetting(name, names));
  else
    evaluator.error(setting.value->range, "'" + name + "' of a group is " +
                                              (name == "frozen"      ? "true or false"
                                               : name == "optimizer" ? "an optimizer"
                                               : name == "precision" ? precisionList
                                                                     : "a number of 0 or more") +
                                              ", found " + describe(value));
  return false;
}

std::vector<Variable *> matchVariables(Evaluator &evaluator, const ast::PatternString &pattern) {
  std::vector<Variable *> members;
  for (const auto &variable : evaluator.program.variables)
    if (variable->role == program::Role::Parameter && matchesPattern(pattern.text, variable->key))
      members.push_back(variable.get());
  if (members.empty())
    errorNoMatch(evaluator, pattern);
  return members;
}

void applyGroups(Evaluator &evaluator, llvm::ArrayRef<ParameterGroup> groups, bool inStep) {
  for (const ParameterGroup &group : groups) {
    std::vector<Variable *> members;
    for (const ast::PatternString &pattern : group.node->patterns)
      llvm::append_range(members, matchVariables(evaluator, pattern));
    for (auto [setting, value] : llvm::zip(group.node->settings, group.settings))
      for (Variable *variable : members)
        if (value.isPoison() || !applySetting(evaluator, setting, value, *variable, inStep))
          break;
  }
}

} // namespace dlc::frontend
