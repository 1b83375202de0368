//===- Optimizers.cpp - the rules, one after the other ----------------------------------------===//
//
// Formulas, their order and their defaults are PyTorch's, so that the same settings give the same
// numbers; muon's products are of the parameter's type, where PyTorch's are of bf16. A new
// optimizer is a body and a row here.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Rules/Optimizers.h"
#include "dialects/DL/Ops/DLMatmulOps.h"

using namespace mlir;
using namespace dlc::dl;

/// What is decayed is part of the gradient. Without decay there is nothing to add, and where the
/// gradient is 0 many rules leave all as it is.
static Value addDecay(OptimizerBody &b, Value gradient) {
  if (b.optimizer.number(decaySetting) == 0)
    return gradient;
  return b.add(gradient, b.multiply(b.setting(decaySetting), b.parameter()));
}

/// A step along the running sum of `g`, to which `added` is added.
static Value momentumStep(OptimizerBody &b, Value rate, Value g, Value added) {
  if (b.optimizer.number("momentum") != 0) {
    Value momentum = b.setting("momentum");
    Value v = b.add(b.multiply(momentum, b.slot("momentum")), added);
    b.setSlot("momentum", v);
    g = b.optimizer.number("nesterov") ? b.add(g, b.multiply(momentum, v)) : v;
  }
  return b.subtract(b.parameter(), b.multiply(rate, g));
}

static Value sgd(OptimizerBody &b) {
  Value rate = b.setting(rateSetting), g = addDecay(b, b.gradient()), added = g;
  if (b.optimizer.number("momentum") != 0 && b.optimizer.number("dampening") != 0) {
    Value damped = b.multiply(b.subtract(b.number(1), b.setting("dampening")), g);
    Value step = b.step();
    added = b.select(b.compare(Predicate::EQ, step, b.splatLike(step, 0)), g, damped);
  }
  return momentumStep(b, rate, g, added);
}

/// `ratio`, or 1 where one of the norms that it is made of is 0.
static Value trustRatio(OptimizerBody &b, Value norm, Value other, Value ratio) {
  Value one = b.splatLike(ratio, 1);
  return b.select(b.above(norm, 0), b.select(b.above(other, 0), ratio, one), one);
}

/// You, Gitman and Ginsburg 2017, as SGD on gradients that are scaled for each parameter.
static Value lars(OptimizerBody &b) {
  Value norm = b.norm(b.parameter()), slope = b.norm(b.gradient());
  auto setting = [&](StringRef name) { return b.castLike(b.setting(name), norm); };
  Value limit = b.add(b.add(slope, b.multiply(setting(decaySetting), norm)), setting("epsilon"));
  Value ratio = b.divide(b.multiply(setting("trust_coefficient"), norm), limit);
  Value g = b.multiplyBy(addDecay(b, b.gradient()), trustRatio(b, norm, slope, ratio));
  return momentumStep(b, b.setting(rateSetting), g, g);
}

static std::optional<OptimizerRule::Mistake> checkLars(function_ref<double(StringRef)> value) {
  if (value("nesterov") && value("momentum") == 0)
    return std::pair("nesterov", "nesterov needs a momentum");
  return {};
}

static std::optional<OptimizerRule::Mistake> checkSgd(function_ref<double(StringRef)> value) {
  if (value("nesterov") && (value("momentum") == 0 || value("dampening") != 0))
    return std::pair("nesterov", "nesterov needs a momentum and no dampening");
  return {};
}

/// The part `kept` of an average, and the rest from `value`; also the slot's next value.
static Value updateAverage(OptimizerBody &b, StringRef slot, Value kept, Value value) {
  Value rest = b.subtract(b.number(1), kept);
  Value next = b.add(b.multiply(kept, b.slot(slot)), b.multiply(rest, value));
  b.setSlot(slot, next);
  return next;
}

static Value rmsprop(OptimizerBody &b) {
  Value rate = b.setting(rateSetting), g = addDecay(b, b.gradient()), alpha = b.setting("alpha");
  Value variance = updateAverage(b, "square_average", alpha, b.multiply(g, g));
  if (b.optimizer.number("centered")) {
    Value mean = updateAverage(b, "gradient_average", alpha, g);
    // Rounding may leave less than nothing where the gradient hardly changes.
    variance = b.maximum(b.subtract(variance, b.multiply(mean, mean)), b.number(0));
  }
  g = b.divide(g, b.add(b.sqrt(variance), b.setting("epsilon")));
  if (b.optimizer.number("momentum") != 0) {
    g = b.add(b.multiply(b.setting("momentum"), b.slot("momentum")), g);
    b.setSlot("momentum", g);
  }
  return b.subtract(b.parameter(), b.multiply(rate, g));
}

/// 1 - beta^t, by tanh: the difference would lose digits where the power is near 1.
static Value correctionOf(OptimizerBody &b, Value beta, Value t) {
  Value half = b.tanh(b.scale(b.multiply(t, b.log(beta)), 0.5));
  return b.divide(b.scale(half, -2), b.subtract(b.number(1), half));
}

/// The quotient of the corrected moments.
static Value adamDirection(OptimizerBody &b, Value g, bool amsgrad) {
  Value beta1 = b.setting("beta1"), beta2 = b.setting("beta2"), t = b.updateNumber();
  Value mean = updateAverage(b, "gradient_average", beta1, g);
  Value squares = updateAverage(b, "square_average", beta2, b.multiply(g, g));
  if (amsgrad) {
    squares = b.maximum(b.slot("largest_square_average"), squares);
    b.setSlot("largest_square_average", squares);
  }
  Value root = b.sqrt(b.divide(squares, correctionOf(b, beta2, t)));
  return b.divide(b.divide(mean, correctionOf(b, beta1, t)), b.add(root, b.setting("epsilon")));
}

static Value adamStep(OptimizerBody &b, Value g) {
  return b.multiply(b.setting(rateSetting),
                    adamDirection(b, g, b.optimizer.number("amsgrad") != 0));
}

/// You et al. 2020: the direction of adam and its decay, as long as the parameter is.
static Value lamb(OptimizerBody &b) {
  Value direction = b.add(adamDirection(b, b.gradient(), false),
                          b.multiply(b.setting(decaySetting), b.parameter()));
  Value norm = b.norm(b.parameter()), length = b.norm(direction);
  Value ratio = trustRatio(b, norm, length, b.divide(norm, length));
  return b.subtract(b.parameter(),
                    b.multiply(b.setting(rateSetting), b.multiplyBy(direction, ratio)));
}

static Value adam(OptimizerBody &b) {
  return b.subtract(b.parameter(), adamStep(b, addDecay(b, b.gradient())));
}

/// The parameter without the part that decays by itself.
static Value decayed(OptimizerBody &b) {
  Value part = b.multiply(b.setting(rateSetting), b.setting(decaySetting));
  return b.subtract(b.parameter(), b.multiply(part, b.parameter()));
}

static Value adamw(OptimizerBody &b) {
  Value rest = decayed(b);
  return b.subtract(rest, adamStep(b, b.gradient()));
}

/// What muon does with a parameter that is no matrix: adamw at the same rate.
static Value muonOfVector(OptimizerBody &b) {
  Value rest = decayed(b), direction = adamDirection(b, b.gradient(), /*amsgrad=*/false);
  return b.subtract(rest, b.multiply(b.setting(rateSetting), direction));
}

static Value adagrad(OptimizerBody &b) {
  Value g = addDecay(b, b.gradient()), rate = b.setting(rateSetting);
  if (b.optimizer.number("rate_decay") != 0) {
    Value before = b.subtract(b.updateNumber(), b.number(1));
    rate = b.divide(rate, b.add(b.number(1), b.multiply(before, b.setting("rate_decay"))));
  }
  Value sum = b.add(b.slot("square_sum", b.optimizer.number("initial")), b.multiply(g, g));
  b.setSlot("square_sum", sum);
  Value root = b.add(b.sqrt(sum), b.setting("epsilon"));
  return b.subtract(b.parameter(), b.multiply(rate, b.divide(g, root)));
}

static Value adadelta(OptimizerBody &b) {
  Value g = addDecay(b, b.gradient()), rho = b.setting("rho"), epsilon = b.setting("epsilon");
  Value squares = updateAverage(b, "square_average", rho, b.multiply(g, g));
  Value moved = b.sqrt(b.add(b.slot("delta_average"), epsilon));
  Value delta = b.multiply(b.divide(moved, b.sqrt(b.add(squares, epsilon))), g);
  updateAverage(b, "delta_average", rho, b.multiply(delta, delta));
  return b.subtract(b.parameter(), b.multiply(b.setting(rateSetting), delta));
}

/// Towards the orthogonal matrix that is nearest to `x`, whose norm is 1 at most: each step is an
/// odd polynomial of the singular values, by products with the smaller of its Gram matrices. They
/// end between 0.7 and 1.2 (Jordan et al. 2024).
static Value orthogonalise(TensorBuilder &b, Value x) {
  constexpr int steps = 5;
  constexpr double first = 3.4445, third = -4.775, fifth = 2.0315;
  const bool isTall = b.typeOf(x).getDimSize(0) > b.typeOf(x).getDimSize(1);
  auto product = [&](Value a, Value c, bool transposeA = false, bool transposeC = false) -> Value {
    return MatmulOp::create(b.builder, b.loc, a, c, transposeA, transposeC);
  };
  for (int step = 0; step < steps; ++step) {
    Value gram = product(x, x, isTall, !isTall), kept = b.scale(gram, third);
    Value change = b.add(kept, b.scale(product(gram, gram), fifth));
    Value straight = b.scale(x, first);
    x = b.add(straight, isTall ? product(x, change) : product(change, x));
  }
  return x;
}

/// A step of one length along all directions of a matrix: as long as one of `rows` by `columns`
/// should be, or as adamw's.
static Value muonDirection(TensorBuilder &b, Value x, bool asAdamw) {
  const double rows = b.typeOf(x).getDimSize(0), columns = b.typeOf(x).getDimSize(1);
  const double length =
      asAdamw ? 0.2 * std::sqrt(std::max(rows, columns)) : std::sqrt(std::max(1.0, rows / columns));
  Value direction = orthogonalise(b, x);
  return length == 1 ? direction : b.scale(direction, length);
}

static Value muon(OptimizerBody &b) {
  Value g = b.gradient();
  if (b.optimizer.number("momentum") != 0) {
    Value momentum = b.setting("momentum"), average = updateAverage(b, "momentum", momentum, g);
    Value rest = b.subtract(b.number(1), momentum);
    g = b.optimizer.number("nesterov") ? b.add(b.multiply(rest, g), b.multiply(momentum, average))
                                       : average;
  }
  constexpr double epsilon = 1e-7; // PyTorch's; the setting is adamw's
  Value norm = b.atLeast(b.norm(g), epsilon);
  Value unit = b.multiplyBy(g, b.divide(b.splatLike(norm, 1), norm));
  const bool asAdamw = b.optimizer.number("match_adamw") != 0;
  Value direction = b.ofMatrix(unit, [asAdamw](TensorBuilder &ops, Value matrix) {
    return muonDirection(ops, matrix, asAdamw);
  });
  Value rest = decayed(b);
  return b.subtract(rest, b.multiply(b.setting(rateSetting), direction));
}

static std::vector<OptimizerRule> makeRules() {
  auto rate = [](std::optional<double> usual = {}) { return OptimizerSetting{rateSetting, usual}; };
  auto number = [](StringLiteral name, double usual) { return OptimizerSetting{name, usual}; };
  auto beta = [](StringLiteral name, double usual) {
    return OptimizerSetting{name, usual, false, 1.0, "betas"};
  };
  auto flag = [](StringLiteral name) { return OptimizerSetting{name, 0.0, true}; };
  const OptimizerSetting momentum = number("momentum", 0), nesterov = flag("nesterov"),
                         beta1 = beta("beta1", 0.9), beta2 = beta("beta2", 0.999),
                         amsgrad = flag("amsgrad"), decay = number(decaySetting, 0),
                         epsilon = number("epsilon", 1e-8);
  return {
      {"sgd",
       "stochastic gradient descent",
       {rate(), momentum, number("dampening", 0), nesterov, decay},
       sgd,
       checkSgd},
      {"lars",
       "layer-wise adaptive rates",
       {rate(), number("momentum", 0.9), nesterov, decay, number("trust_coefficient", 1e-3),
        epsilon},
       lars,
       checkLars},
      {"adam", "adaptive moments", {rate(1e-3), beta1, beta2, epsilon, decay, amsgrad}, adam},
      {"adamw",
       "adam with decoupled decay",
       {rate(1e-3), beta1, beta2, epsilon, number(decaySetting, 0.01), amsgrad},
       adamw},
      {"lamb",
       "layer-wise adaptive moments",
       {rate(1e-3), beta1, beta2, number("epsilon", 1e-6), number(decaySetting, 0.01)},
       lamb},
      {"muon",
       "momentum of a matrix made orthogonal; adamw for what has one axis",
       {rate(1e-3), OptimizerSetting{"momentum", 0.95, false, 1.0},
        OptimizerSetting{"nesterov", 1.0, true}, number(decaySetting, 0.1), flag("match_adamw"),
        beta1, beta2, epsilon},
       muon,
       nullptr,
       muonOfVector},
      {"rmsprop",
       "divides by a running root mean square",
       {rate(0.01), number("alpha", 0.99), epsilon, momentum, flag("centered"), decay},
       rmsprop},
      {"adagrad",
       "divides by the root of all squares so far",
       {rate(0.01), number("rate_decay", 0), number("epsilon", 1e-10), number("initial", 0), decay},
       adagrad},
      {"adadelta",
       "adapts by running squares of gradients and updates",
       {rate(1), OptimizerSetting{"rho", 0.9, false, 1.0}, number("epsilon", 1e-6), decay},
       adadelta},
  };
}

ArrayRef<OptimizerRule> dlc::dl::optimizerRules() {
  static const std::vector<OptimizerRule> rules = makeRules();
  return rules;
}

const OptimizerRule *dlc::dl::findOptimizer(StringRef name) {
  const auto *rule =
      llvm::find_if(optimizerRules(), [&](const OptimizerRule &each) { return each.name == name; });
  return rule == optimizerRules().end() ? nullptr : rule;
}

const OptimizerSetting *OptimizerRule::findSetting(StringRef name) const {
  auto setting =
      llvm::find_if(settings, [&](const OptimizerSetting &each) { return each.name == name; });
  return setting == settings.end() ? nullptr : &*setting;
}

std::string OptimizerSetting::describeRange() const {
  return limit ? "0 or more and below " + std::to_string(int(*limit)) : "0 or more";
}

//===------------------------------------------------------------------------------------------===//
// OptimizerAttr
//===------------------------------------------------------------------------------------------===//

/// The setting of `name` among `settings`; nothing where none is given.
static std::optional<double> lookup(DictionaryAttr settings, StringRef name) {
  Attribute value = settings.get(name);
  if (auto flag = dyn_cast_or_null<BoolAttr>(value))
    return flag.getValue();
  if (auto number = dyn_cast_or_null<FloatAttr>(value))
    return number.getValueAsDouble();
  return {};
}

double OptimizerAttr::number(StringRef name) const {
  const OptimizerSetting *setting = getRule().findSetting(name);
  assert(setting && "a body names only the settings of its rule");
  std::optional<double> given = lookup(getSettings(), name);
  return given ? *given : *setting->defaultValue;
}

const OptimizerRule &OptimizerAttr::getRule() const { return *findOptimizer(getName()); }

static LogicalResult verifySetting(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                   const OptimizerSetting &setting, Attribute value) {
  if (setting.isFlag)
    return isa<BoolAttr>(value)
               ? success()
               : LogicalResult(emitError() << "'" << setting.name << "' of " << name
                                           << " is true or false, found " << value);
  auto number = dyn_cast<FloatAttr>(value);
  if (!number || !number.getType().isF64())
    return emitError() << "'" << setting.name << "' of " << name << " is an f64, found " << value;
  if (!setting.isAllowed(number.getValueAsDouble()))
    return emitError() << "'" << setting.name << "' of " << name << " is "
                       << setting.describeRange() << ", found " << value;
  return success();
}

LogicalResult OptimizerAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                    DictionaryAttr settings) {
  const OptimizerRule *rule = findOptimizer(name);
  if (!rule || !rule->body)
    return emitError() << "there is no optimizer '" << name << "'";
  for (NamedAttribute given : settings) {
    const OptimizerSetting *setting = rule->findSetting(given.getName());
    if (!setting)
      return emitError() << name << " has no setting '" << given.getName().getValue() << "'";
    if (failed(verifySetting(emitError, name, *setting, given.getValue())))
      return failure();
  }
  for (const OptimizerSetting &setting : rule->settings)
    if (!setting.defaultValue && !settings.get(setting.name))
      return emitError() << name << " needs '" << setting.name << "'";
  if (!rule->check)
    return success();
  auto valueOf = [&](StringRef each) {
    std::optional<double> value = lookup(settings, each);
    return value ? *value : *rule->findSetting(each)->defaultValue;
  };
  if (auto mistake = rule->check(valueOf))
    return emitError() << mistake->second;
  return success();
}
