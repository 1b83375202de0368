// Compares dlc, through its command line tools, with values that PyTorch computed in float64.
//
//   check-goldens FOLDER --work DIR --operations 'conv2d_*'
//       single operations: output and every gradient
//   check-goldens FOLDER --work DIR --network lenet --model lenet.dl --layers conv1,conv2
//       a network: loss, activations, gradients
//   check-goldens FOLDER --work DIR --network lstm_ptb --model lstm.dl --words
//       one that reads words, [steps, samples], with a label each; its layers have PyTorch's names
//
// The limit is four times the error of PyTorch's own float32 (stored with each value), as if that
// were 2.5e-7 larger: what another order of summation can cost. --factor takes the place of four,
// for algorithms that err more. Prints a line a tensor; exits 1 if one is beyond its limit, if a
// tool fails, or if nothing was compared.
#include "test/e2e/Formula.h"
#include "test/e2e/OperationCases.h"
#include "test/e2e/Tensors.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fnmatch.h>
#include <fstream>
#include <nlohmann/json.hpp>

using nlohmann::json;
namespace fs = std::filesystem;

namespace dlc::test {
namespace {

struct Checker {
  std::string work, flags;
  double factor;
  int compared = 0, failed = 0;

  void report(const std::string &name, double error, double float32Error) {
    const double limit = factor * (float32Error + 2.5e-7);
    const bool good = error <= limit;
    std::printf("%-58s %9.2e  limit %9.2e%s\n", name.c_str(), error, limit, good ? "" : "  FAILED");
    ++compared;
    failed += !good;
  }

  /// Runs a tool; a failure counts and is shown.
  bool run(const std::string &command) {
    if (std::system(command.c_str()) == 0)
      return true;
    std::printf("FAILED: %s\n", command.c_str());
    ++failed;
    return false;
  }

  /// Runs one entry on `inputs` and `parameters`. The goldens' rate is constant: in an epoch as
  /// long as this one a schedule stays where it begins.
  bool step(const std::string &module, const std::string &entry, int steps,
            const Tensors &parameters, const Tensors &inputs, Tensors &out) {
    writeTensors(work + "/inputs.safetensors", inputs);
    std::string command = "dlc-run step " + module + " --entry " + entry + " --inputs " + work +
                          "/inputs.safetensors --save " + work +
                          "/out.safetensors --epoch-steps 1000000000 --steps " +
                          std::to_string(steps) + " > /dev/null";
    if (!parameters.empty()) {
      writeTensors(work + "/parameters.safetensors", parameters);
      command += " --parameters " + work + "/parameters.safetensors";
    }
    if (!run(command))
      return false;
    out = readTensors(work + "/out.safetensors");
    return true;
  }

  void operation(const fs::path &file);
  void network(const fs::path &file, const std::string &model,
               const std::vector<std::string> &layers, bool words);
  void summary(const std::string &name, const json &expected, const Tensor &value,
               double float32Error);
};

/// The name that a layer has for the parameter of a case: weight_hh_l1 for hidden_weight_1.
std::string layerName(const std::string &parameter) {
  for (const auto &[theirs, ours] :
       {std::pair("input_weight_", "weight_ih_l"), std::pair("hidden_weight_", "weight_hh_l"),
        std::pair("input_bias_", "bias_ih_l"), std::pair("hidden_bias_", "bias_hh_l")})
    if (parameter.starts_with(theirs))
      return "op." + (ours + parameter.substr(std::strlen(theirs)));
  return "op." + parameter;
}

/// The model's inputs and parameters of a case, under the names that the model gives them.
void splitCase(const Tensors &golden, Tensors &inputs, Tensors &parameters,
               std::map<std::string, std::vector<uint64_t>> &shapes) {
  for (const auto &[name, tensor] : golden) {
    shapes[name] = tensor.shape;
    if (name.starts_with("input."))
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
  Tensors inputs, parameters, trained, inferred;
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
  if (!run("dlc " + source + " -o " + module + " --input-gradients --weight-gradients " + flags) ||
      !step(module, "train_step", 1, parameters, inputs, trained))
    return;
  report(name + " output", maxError(trained[isLoss ? "loss" : "output"], golden.at("output")),
         float32["output"]);
  for (const auto &[key, expected] : golden)
    if (key.starts_with("gradient.") && key != "gradient.output") {
      const std::string tensor = key.substr(9);
      const std::string layers = layerName(tensor);
      const std::string ours = parameters.contains(layers) ? "gradient." + layers : key;
      report(name + " " + key, maxError(trained[ours], expected), float32[key]);
    }
}

/// A tensor of a network against its summary: norm, product with a probe vector, samples, each
/// relative to the norm.
void Checker::summary(const std::string &name, const json &expected, const Tensor &value,
                      double float32Error) {
  const double norm = expected["l2"];
  const std::vector<double> probe =
      formula("probe" + std::to_string(int(expected["index"])), value.values.size());
  double squares = 0, dot = 0;
  for (size_t i = 0; i < value.values.size(); ++i) {
    squares += value.values[i] * value.values[i];
    dot += value.values[i] * probe[i];
  }
  double error = std::abs(std::sqrt(squares) - norm) / norm;
  error = std::max(error, std::abs(dot - double(expected["dot"])) / norm);
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
  report(name, error, float32Error);
}

void Checker::network(const fs::path &file, const std::string &model,
                      const std::vector<std::string> &layers, bool words) {
  const json golden = json::parse(std::ifstream(file));
  const std::vector<uint64_t> shape = golden["input"];
  const json &gradients = golden["first_step"]["gradients"],
             &finals = golden["parameters_after_3_steps"];
  Tensors parameters;
  std::vector<std::string> keys;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const std::vector<uint64_t> dims = gradients[i]["shape"];
    uint64_t count = 1;
    for (uint64_t d : dims)
      count *= d;
    const double scale =
        dims.size() > 1 ? std::sqrt(6.0 / (double(count) / double(dims[0]))) : 0.05;
    keys.push_back(layers.empty() ? gradients[i]["name"].get<std::string>()
                                  : layers.at(i / 2) + (i % 2 ? ".bias" : ".weight"));
    parameters[keys.back()] =
        makeTensor(dims, formulaF32("parameter" + std::to_string(i), count, scale));
  }
  uint64_t count = 1;
  for (uint64_t d : shape)
    count *= d;
  const uint64_t classes = golden["first_step"]["logits"]["shape"].back();
  const Tensors inputs =
      words ? Tensors{{"word", makeTensor(shape, formulaLabels("x", count, classes))},
                      {"label", makeTensor(shape, formulaLabels("label", count, classes))}}
            : Tensors{{"image", makeTensor(shape, formulaF32("x", count))},
                      {"label", makeTensor({shape[0]}, formulaLabels("label", shape[0], 10))}};

  const std::string module = work + "/network.so", batch = std::to_string(shape[words ? 1 : 0]),
                    steps = words ? " -D T=" + std::to_string(shape[0]) : "";
  Tensors first, second, third;
  if (!run("dlc " + model + " -o " + module + " -D N=" + batch + steps + " -D learning_rate=" +
           golden["learning_rate"].dump() + " --weight-gradients " + flags) ||
      !step(module, "train_step", 1, parameters, inputs, first) ||
      !step(module, "train_step", 2, parameters, inputs, second) ||
      !step(module, "train_step", 3, parameters, inputs, third))
    return;

  double worst = 0;
  for (size_t i = 0; i < gradients.size(); ++i) {
    worst = std::max(worst, double(gradients[i]["float32_error"]));
    summary("gradient." + keys[i], gradients[i], first["gradient." + keys[i]],
            gradients[i]["float32_error"]);
  }
  summary("logits", golden["first_step"]["logits"], first["output"], worst);
  const Tensors *results[] = {&first, &second, &third};
  for (int i = 0; i < 3; ++i) {
    const double expected = golden["losses"][i];
    report("loss " + std::to_string(i + 1),
           std::abs(results[i]->at("loss").values.at(0) - expected) / expected, worst);
  }
  for (size_t i = 0; i < finals.size(); ++i)
    summary(keys[i] + " after 3 steps", finals[i], third[keys[i]], worst);
}

} // namespace
} // namespace dlc::test

int main(int argc, char **argv) {
  CLI::App app("compares dlc with reference values");
  std::string folder, work, operations, network, model, flags;
  double factor = 4;
  bool words = false;
  std::vector<std::string> layers;
  app.add_option("folder", folder, "folder with ops/ and nets/")->required();
  app.add_option("--work", work, "folder for files made on the way")->required();
  app.add_option("--operations", operations, "pattern of case names");
  app.add_option("--network", network, "name of a network");
  app.add_option("--model", model, "its source");
  app.add_option("--layers", layers, "names of its layers in order")->delimiter(',');
  app.add_flag("--words", words, "its inputs are words");
  app.add_option("--flags", flags, "more of dlc's flags");
  app.add_option("--factor", factor, "of the limit");
  CLI11_PARSE(app, argc, argv);

  fs::create_directories(work);
  dlc::test::Checker checker{work, flags, factor};
  std::vector<fs::path> files;
  if (!operations.empty())
    for (const fs::directory_entry &file : fs::directory_iterator(folder + "/ops"))
      if (fnmatch(operations.c_str(), file.path().stem().c_str(), 0) == 0)
        files.push_back(file.path());
  std::sort(files.begin(), files.end());
  for (const fs::path &file : files)
    checker.operation(file);
  if (!network.empty())
    checker.network(folder + "/nets/" + network + ".json", model, layers, words);
  std::printf("%d compared, %d failed\n", checker.compared, checker.failed);
  return checker.failed || !checker.compared;
}
