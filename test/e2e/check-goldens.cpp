// Compares dlc, through its command line tools, with values that PyTorch computed in float64.
//
//   check-goldens FOLDER --work DIR --operations 'conv2d_*'
//       single operations: output and every gradient
//   check-goldens FOLDER --work DIR --network lenet --model lenet.dl
//       three training steps of a network whose parameters the model declares in the order of the
//       reference: losses, logits, gradients of the first step, parameters and statistics after the
//       third. With --words it reads words, [steps, samples], with a label each; with --wide the
//       model is one in f64, and all is within a few of its roundings
//
// The limit is four times the error of PyTorch's own float32 (stored with each value), as if that
// were 2.5e-7 larger: what another order of summation can cost. --factor takes the place of four.
// What Winograd's minimal filtering computes may err more: by which transforms the module does it,
// for an operation each tensor by itself. Which algorithm runs is the processor's choice, and not
// the test's to know.
//
// Where rounding decides which of two nearly equal values a ReLU or a maximum passes on, float32
// takes another branch than float64 did: gradients behind it then differ by 0.5 to 2 % in a deep
// network, also PyTorch's own (float32_error), and which ones do is chance. --choices LIMIT is what
// the gradients of such a network, and what training makes of them, may differ by. Its logits and
// its first loss are continuous, and are held to what sums of float32 cost.
//
// Prints a line a tensor; exits 1 if one is beyond its limit, if a tool fails, or if nothing was
// compared.
#include "dlc/module.h"
#include "test/e2e/OperationCases.h"
#include "test/e2e/Tensors.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fnmatch.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

using nlohmann::json;
namespace fs = std::filesystem;

namespace dlc::test {
namespace {

/// Layer, stage: "op", "backward_data".
using Place = std::pair<std::string, std::string>;

/// What stands in the place of four for a kernel, by its schedule and name; 0 if that need not be
/// more. F(m x m, r x r) works with m + r - 1 points of an axis. F(2x2, 3x3), with 4, errs as sums
/// do. With 6 and 8 points an image of 28x28 with one channel has the largest errors: in eight
/// draws of it 10 and 16 times what the factor multiplies, so that twice as much holds for other
/// draws.
double factorOf(const std::string &kernel, const std::string &schedule) {
  std::smatch tile, taps;
  if (!std::regex_search(schedule, tile, std::regex("winograd tile ([0-9]+)x([0-9]+)")) ||
      !std::regex_search(kernel, taps, std::regex("conv([0-9]+)x([0-9]+)")))
    return 0;
  int points = 0;
  for (int axis : {1, 2})
    points = std::max(points, std::stoi(tile[axis]) + std::stoi(taps[axis]) - 1);
  return points <= 4 ? 0 : points <= 6 ? 20 : 32;
}

/// Of all kernels of a module's training step that err more than sums.
std::map<Place, double> factorsOf(const std::string &module) {
  auto loaded = runtime::Module::load(module);
  if (!loaded.ok())
    return {};
  const json report = json::parse((*loaded)->plan().report);
  std::map<std::string, std::string> schedules;
  for (const json &row : report["schedules"])
    schedules[row["kernel"]] = row["schedule"];
  std::map<Place, double> factors;
  for (const json &entry : report["entries"])
    if (entry["name"] == "train_step")
      for (const json &row : entry["layers"])
        if (const double factor = factorOf(row["kernel"], schedules[row["kernel"]]); factor > 0)
          factors[{row["layer"], row["stage"]}] = factor;
  return factors;
}

struct Checker {
  std::string work, flags, device, runner;
  double factor, choices;
  bool wide;
  /// Of the module that is checked.
  std::map<Place, double> factors = {};
  int compared = 0, failed = 0;

  /// `algorithm`: see factorOf.
  void report(const std::string &name, double error, double float32Error, double least = 0,
              double algorithm = 0) {
    // Sums of thousands of numbers in another order: PyTorch rounds at 1.1e-16 too.
    constexpr double wideLimit = 1e-12;
    const double limit =
        wide ? wideLimit : std::max(std::max(factor, algorithm) * (float32Error + 2.5e-7), least);
    const bool good = error <= limit;
    std::printf("%-58s %9.2e  limit %9.2e%s\n", name.c_str(), error, limit, good ? "" : "  FAILED");
    ++compared;
    failed += !good;
  }

  /// In a network each error goes on into all that follows.
  double largestFactor() const {
    double largest = 0;
    for (const auto &[place, value] : factors)
      largest = std::max(largest, value);
    return largest;
  }

  /// Runs a tool; a failure counts and is shown.
  bool run(const std::string &command) {
    if (std::system(command.c_str()) == 0)
      return true;
    std::printf("FAILED: %s\n", command.c_str());
    ++failed;
    return false;
  }

  /// What `step` starts from.
  void write(Tensors parameters, Tensors inputs) {
    for (Tensors *tensors : {&parameters, &inputs})
      for (auto &[name, tensor] : *tensors)
        if (wide && tensor.dtype == DLC_F32)
          tensor.dtype = DLC_F64;
    writeTensors(work + "/inputs.safetensors", inputs);
    writeTensors(work + "/parameters.safetensors", parameters);
  }

  /// Runs the training step on what `write` wrote, and reads of what it saves what is wanted; its
  /// losses stand in losses.json, a line each. The goldens' rate is constant: in an epoch as long
  /// as this one a schedule stays where it begins.
  bool step(const std::string &module, int steps, Tensors &out,
            const std::function<bool(const std::string &name)> &wanted = {}) {
    if (!run(runner + " step " + module + " --entry train_step" +
             (device.empty() ? "" : " --device " + device) + " --inputs " + work +
             "/inputs.safetensors --parameters " + work + "/parameters.safetensors --save " + work +
             "/out.safetensors --epoch-steps 1000000000 --json --steps " + std::to_string(steps) +
             " > " + work + "/losses.json"))
      return false;
    out = readTensors(work + "/out.safetensors", nullptr, wanted);
    return true;
  }

  void operation(const fs::path &file);
  void network(const fs::path &file, const std::string &model, bool words);
  void summary(const std::string &name, const json &expected, const Tensor &value,
               double float32Error, double least = 0);
};

/// The name that a layer has for the parameter or statistic of a case: weight_hh_l1 for
/// hidden_weight_1, weight for a norm's scale.
std::string layerName(const std::string &parameter) {
  for (const auto &[theirs, ours] :
       {std::pair("input_weight_", "weight_ih_l"), std::pair("hidden_weight_", "weight_hh_l"),
        std::pair("input_bias_", "bias_ih_l"), std::pair("hidden_bias_", "bias_hh_l")})
    if (parameter.starts_with(theirs))
      return "op." + (ours + parameter.substr(std::strlen(theirs)));
  if (parameter == "scale")
    return "op.weight";
  return "op." + (parameter == "running_variance" ? "running_var" : parameter);
}

/// The model's inputs and parameters of a case, under the names that the model gives them.
void splitCase(const Tensors &golden, Tensors &inputs, Tensors &parameters,
               std::map<std::string, std::vector<uint64_t>> &shapes) {
  for (const auto &[name, tensor] : golden) {
    shapes[name] = tensor.shape;
    if (name.starts_with("input.running_"))
      parameters[layerName(name.substr(6))] = tensor;
    else if (name.starts_with("input."))
      inputs[name.substr(6)] = tensor;
    else if (name.starts_with("parameter."))
      parameters[layerName(name.substr(10))] = tensor;
  }
}

void Checker::operation(const fs::path &file) {
  runtime::Metadata metadata;
  const Tensors golden = readTensors(file.string(), &metadata);
  const json attributes = json::parse(metadata.at("case"));
  const json &float32 = attributes["float32_error"];
  Tensors inputs, parameters, trained;
  std::map<std::string, std::vector<uint64_t>> shapes;
  splitCase(golden, inputs, parameters, shapes);
  const std::string text = operationModel(attributes, shapes), name = file.stem().string();
  if (text.empty()) {
    std::printf("FAILED: %s: no model for this operation\n", name.c_str());
    ++failed;
    return;
  }
  const bool isLoss = golden.at("output").shape.empty();
  if (!isLoss)
    inputs["dy"] = golden.at("gradient.output");
  const std::string source = work + "/" + name + ".dl", module = work + "/" + name + ".so";
  std::ofstream(source) << text;
  write(parameters, inputs);
  if (!run("dlc " + source + " -o " + module + " --input-gradients --weight-gradients " + flags) ||
      !step(module, 1, trained))
    return;
  factors = factorsOf(module);
  report(name + " output", maxError(trained[isLoss ? "loss" : "output"], golden.at("output")),
         float32["output"], 0, factors[{"op", "forward"}]);
  const bool isFrozen = !attributes.value("training", true);
  for (const auto &[key, expected] : golden)
    if (key.starts_with("gradient.") && key != "gradient.output") {
      const std::string tensor = key.substr(9);
      // Nothing asks for the gradient of what is frozen.
      const std::string layers = layerName(tensor);
      const bool isParameter = parameters.contains(layers);
      if (isFrozen && isParameter)
        continue;
      const std::string ours = isParameter ? "gradient." + layers : key;
      report(name + " " + key, maxError(trained[ours], expected), float32[key], 0,
             factors[{"op", isParameter ? "backward_filter" : "backward_data"}]);
    }
}

/// A tensor of a network against its summary: norm, product with a probe vector, samples, each
/// relative to the norm.
void Checker::summary(const std::string &name, const json &expected, const Tensor &value,
                      double float32Error, double least) {
  const double norm = expected["l2"];
  const Projection found = project(value, "probe" + std::to_string(int(expected["index"])));
  double error = std::abs(found.norm - norm) / norm;
  error = std::max(error, std::abs(found.dot - double(expected["dot"])) / norm);
  const double typical = norm / std::sqrt(double(value.values.size()));
  double samples = 0;
  for (size_t i = 0; i < expected["at"].size(); ++i) {
    const size_t at = expected["at"][i];
    if (at >= value.values.size())
      return report(name, INFINITY, float32Error);
    samples += std::pow((value.values[at] - double(expected["values"][i])) / typical, 2);
  }
  // The samples' errors are summed up as a norm, like the error of the whole tensor that
  // float32_error is.
  error = std::max(error, std::sqrt(samples / double(expected["at"].size())));
  report(name, error, float32Error, least, largestFactor());
}

/// Whether torchvision or the reference's own code names a normalisation so.
bool isNorm(const std::string &name) {
  return name.find("bn") != std::string::npos || name.find("norm") != std::string::npos ||
         name.find("downsample.1") != std::string::npos;
}

/// Parameter `number` of the references' formula.
Tensor makeParameter(size_t number, const json &described) {
  const std::vector<uint64_t> shape = described["shape"];
  const std::string name = described["name"];
  uint64_t count = 1;
  for (uint64_t size : shape)
    count *= size;
  double scale = 0.05, offset = 0;
  if (shape.size() > 1) {
    scale = std::sqrt(6.0 / (double(count) / double(shape[0])));
  } else if (isNorm(name)) {
    scale = 0.25;
    offset = name.ends_with("weight") ? 0.75 : 0;
  }
  return formulaTensor(shape, "parameter" + std::to_string(number), scale, offset);
}

/// The keys of a role, in the order in which the model declares them.
std::vector<std::string> readKeys(const std::string &list, const std::string &role) {
  std::vector<std::string> keys;
  std::ifstream file(list);
  for (std::string line; std::getline(file, line);)
    if (line.find(" " + role + " ") != std::string::npos)
      keys.push_back(line.substr(0, line.find(' ')));
  return keys;
}

void Checker::network(const fs::path &file, const std::string &model, bool words) {
  const json golden = json::parse(std::ifstream(file));
  const std::vector<uint64_t> shape = golden["input"];
  const json &gradients = golden["first_step"]["gradients"],
             &logits = golden["first_step"]["logits"], &finals = golden["parameters_after_3_steps"],
             &statistics = golden["running_statistics_after_3_steps"];
  const std::string module = work + "/network.so", names = work + "/names.txt",
                    steps = words ? " -D T=" + std::to_string(shape[0]) : "",
                    compile = "dlc " + model + " -D N=" + std::to_string(shape[words ? 1 : 0]) +
                              steps + " -D learning_rate=" + golden["learning_rate"].dump();
  if (!run(compile + " --emit=names > " + names) ||
      !run(compile + " -o " + module + " --weight-gradients " + flags))
    return;
  const std::vector<std::string> keys = readKeys(names, "parameter"),
                                 running = readKeys(names, "statistic");
  if (keys.size() != gradients.size() || running.size() != statistics.size()) {
    std::printf("FAILED: %zu parameters and %zu statistics, expected %zu and %zu\n", keys.size(),
                running.size(), gradients.size(), statistics.size());
    ++failed;
    return;
  }
  const uint64_t classes = std::vector<uint64_t>(logits["shape"]).back();
  {
    Tensors parameters;
    for (size_t i = 0; i < keys.size(); ++i)
      parameters[keys[i]] = makeParameter(i, gradients[i]);
    const int below = static_cast<int>(classes);
    write(parameters, words ? Tensors{{"word", formulaLabels(shape, "x", below)},
                                      {"label", formulaLabels(shape, "label", below)}}
                            : Tensors{{"image", formulaTensor(shape, "x")},
                                      {"label", formulaLabels({shape[0]}, "label", below)}});
  }
  Tensors out;
  auto isOfFirst = [](const std::string &name) {
    return name == "output" || name.starts_with("gradient.");
  };
  if (!step(module, 1, out, isOfFirst))
    return;
  factors = factorsOf(module);
  double worst = 0;
  for (size_t i = 0; i < gradients.size(); ++i) {
    worst = std::max(worst, double(gradients[i]["float32_error"]));
    summary("gradient." + keys[i], gradients[i], out["gradient." + keys[i]],
            gradients[i]["float32_error"], choices);
  }
  // Of logits the references have no float32_error. In ResNet-50, whose last batch norms divide by
  // the deviation of a few pixels, sums of float32 cost 3e-5.
  constexpr double deepSums = 1e-5;
  const double continuous = choices > 0 ? deepSums : worst;
  if (choices > 0)
    worst = 0;
  summary("logits", logits, out["output"], continuous);
  auto isVariable = [&](const std::string &name) {
    return std::ranges::find(keys, name) != keys.end() ||
           std::ranges::find(running, name) != running.end();
  };
  out.clear();
  if (!step(module, 3, out, isVariable))
    return;
  std::ifstream losses(work + "/losses.json");
  for (int i = 0; i < 3; ++i) {
    std::string line;
    std::getline(losses, line);
    const double expected = golden["losses"][i];
    const json found = json::parse(line, nullptr, /*allow_exceptions=*/false);
    const double error =
        found.is_object() ? std::abs(found.value("loss", double(NAN)) - expected) / expected : NAN;
    if (i == 0)
      report("loss 1", error, continuous, 0, largestFactor());
    else
      report("loss " + std::to_string(i + 1), error, worst, choices, largestFactor());
  }
  for (size_t i = 0; i < finals.size(); ++i)
    summary(keys[i] + " after 3 steps", finals[i], out[keys[i]], worst, choices);
  for (size_t i = 0; i < statistics.size(); ++i)
    summary(running[i] + " after 3 steps", statistics[i], out[running[i]], worst, choices);
}

} // namespace
} // namespace dlc::test

int main(int argc, char **argv) {
  CLI::App app("compares dlc with reference values");
  std::string folder, work, operations, network, model, flags;
  double factor = 4, choices = 0;
  std::string device, runner = "dlc-run";
  bool words = false, wide = false;
  app.add_option("folder", folder, "folder with ops/ and nets/")->required();
  app.add_option("--work", work, "folder for files made on the way")->required();
  app.add_option("--operations", operations, "pattern of case names");
  app.add_option("--network", network, "name of a network");
  app.add_option("--model", model, "its source");
  app.add_flag("--words", words, "its inputs are words");
  app.add_flag("--wide", wide, "it computes in f64");
  app.add_option("--device", device, "that runs, such as simt; default: the module's");
  app.add_option("--runner", runner, "what runs modules in place of dlc-run");
  app.add_option("--flags", flags, "more of dlc's flags");
  app.add_option("--factor", factor, "of the limit, where no algorithm errs more than sums");
  app.add_option("--choices", choices, "what other choices of ReLUs and maxima may cost");
  CLI11_PARSE(app, argc, argv);

  fs::create_directories(work);
  dlc::test::Checker checker{work, flags, device, runner, factor, choices, wide};
  std::vector<fs::path> files;
  if (!operations.empty())
    for (const fs::directory_entry &file : fs::directory_iterator(folder + "/ops"))
      if (fnmatch(operations.c_str(), file.path().stem().c_str(), 0) == 0)
        files.push_back(file.path());
  std::sort(files.begin(), files.end());
  for (const fs::path &file : files)
    checker.operation(file);
  if (!network.empty())
    checker.network(folder + "/nets/" + network + ".json", model, words);
  std::printf("%d compared, %d failed\n", checker.compared, checker.failed);
  return checker.failed || !checker.compared;
}
