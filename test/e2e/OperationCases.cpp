// Turns the attributes of a reference case of one operation into a model in the dl language whose
// training step computes the output, and the gradients of all inputs and parameters when `dy` flows
// in.
#include "test/e2e/OperationCases.h"

#include <functional>
#include <set>

using nlohmann::json;

namespace dlc::test {
namespace {

std::string join(const json &numbers) {
  std::string out = "(";
  for (const json &n : numbers)
    out += n.dump() + ", ";
  return out + ")";
}

std::string number(const json &value) { return value.is_array() ? join(value) : value.dump(); }
std::string boolean(const json &value) { return value.get<bool>() ? "true" : "false"; }

std::string convolution(const json &a) {
  const json &p = a["padding_top_left_bottom_right"];
  return "conv2d(x, " + a["channels_out"].dump() + ", " + join(a["kernel"]) +
         ", stride=" + join(a["stride"]) + ", padding=((" + p[0].dump() + ", " + p[2].dump() +
         "), (" + p[1].dump() + ", " + p[3].dump() + ")), dilation=" + join(a["dilation"]) +
         ", groups=" + a["groups"].dump() + ", bias=" + boolean(a["bias"]) + ", name=\"op\")";
}

std::string pooling(const json &a) {
  std::string out = a["op"].get<std::string>() + "(x, " + number(a["kernel"]) +
                    ", stride=" + number(a["stride"]) + ", padding=" + number(a["padding"]);
  if (a.contains("ceil_mode"))
    out += ", ceil_mode=" + boolean(a["ceil_mode"]);
  if (a.contains("count_include_pad"))
    out += ", count_include_pad=" + boolean(a["count_include_pad"]);
  return out + ")";
}

std::string recurrent(const json &a) {
  return a["op"].get<std::string>() + "(x, " + a["hidden"].dump() +
         ", layers=" + a["layers"].dump() + ", name=\"op\")[0]";
}

/// The expression of the case's output in terms of its inputs; empty for an operation that this
/// table does not know.
std::string expression(const json &a) {
  const std::string op = a["op"];
  static const std::map<std::string, std::function<std::string(const json &)>> table = {
      {"conv2d", convolution},
      {"max_pool", pooling},
      {"average_pool", pooling},
      {"linear",
       [](const json &a) {
         return "linear(x, " + a["channels_out"].dump() + ", bias=" + boolean(a["bias"]) +
                ", name=\"op\")";
       }},
      {"matmul", [](const json &) { return "a @ b"; }},
      {"attention",
       [](const json &a) { return "attention(q, k, v, causal=" + boolean(a["causal"]) + ")"; }},
      {"add", [](const json &) { return "a + b"; }},
      {"multiply", [](const json &) { return "a * b"; }},
      {"divide", [](const json &) { return "a / b"; }},
      {"reduce_mean", [](const json &a) { return "mean(x, axes=" + join(a["axes"]) + ")"; }},
      {"reduce_max", [](const json &a) { return "max(x, axes=" + join(a["axes"]) + ")"; }},
      {"transpose", [](const json &a) { return "transpose(x, " + join(a["permutation"]) + ")"; }},
      {"slice",
       [](const json &a) {
         std::string axes;
         for (int64_t axis = 0; axis < a["axis"].get<int64_t>(); ++axis)
           axes += ":, ";
         return "x[" + axes + a["begin"].dump() + ":" + a["end"].dump() + "]";
       }},
      {"concat", [](const json &a) { return "concat([a, b, c], axis=" + a["axis"].dump() + ")"; }},
      // Not in training it is one whose statistics are given: a frozen one.
      {"batch_norm",
       [](const json &a) {
         return "batch_norm(x, epsilon=" + a["epsilon"].dump() +
                (a["training"].get<bool>() ? "" : ", frozen=true") + ", name=\"op\")";
       }},
      {"embedding",
       [](const json &a) {
         return "embedding(index, " + a["count"].dump() + ", " + a["width"].dump() +
                ", name=\"op\")";
       }},
      {"gelu", [](const json &) { return "gelu(x)"; }},
      {"gelu_tanh", [](const json &) { return "gelu(x, approximate=\"tanh\")"; }},
      {"softmax", [](const json &a) { return "softmax(x, " + a["axis"].dump() + ")"; }},
      {"log_softmax", [](const json &a) { return "log_softmax(x, " + a["axis"].dump() + ")"; }},
      {"layer_norm",
       [](const json &a) {
         return "layer_norm(x, epsilon=" + a["epsilon"].dump() + ", name=\"op\")";
       }},
      {"group_norm",
       [](const json &a) {
         return "group_norm(x, " + a["groups"].dump() + ", epsilon=" + a["epsilon"].dump() +
                ", name=\"op\")";
       }},
      {"conv_transpose2d",
       [](const json &a) {
         return "conv_transpose2d(x, " + a["channels_out"].dump() + ", " + a["kernel"].dump() +
                ", stride=" + a["stride"].dump() + ", padding=" + a["padding"].dump() +
                ", output_padding=" + a["output_padding"].dump() +
                ", groups=" + a["groups"].dump() + ", name=\"op\")";
       }},
      {"upsample",
       [](const json &a) {
         return "upsample(x, " + a["factor"].dump() + ", mode=" + a["mode"].dump() + ")";
       }},
      {"lstm", recurrent},
      {"gru", recurrent},
      {"local_response_norm",
       [](const json &a) {
         return "local_response_norm(x, " + a["size"].dump() + ", alpha=" + a["alpha"].dump() +
                ", beta=" + a["beta"].dump() + ", k=" + a["k"].dump() + ")";
       }},
  };
  if (auto row = table.find(op); row != table.end())
    return row->second(a);
  static const std::set<std::string> plain = {
      "relu", "sigmoid",   "tanh",     "exp",        "elu",
      "silu", "hardswish", "softplus", "leaky_relu", "global_average_pool"};
  return plain.count(op) ? op + "(x)" : "";
}

/// The loss of the model's output, which is x, for an operation that is one; else empty.
std::string lossOf(const json &a) {
  const std::string op = a["op"];
  if (op == "softmax_cross_entropy")
    return op + "(output, label, label_smoothing=" +
           (a.contains("label_smoothing") ? a["label_smoothing"].dump() : "0") + ")";
  if (op == "huber")
    return "huber(output, target, delta=" + a["delta"].dump() + ")";
  static const std::set<std::string> plain = {"mean_squared_error", "mean_absolute_error",
                                              "sigmoid_cross_entropy"};
  return plain.count(op) ? op + "(output, target)" : "";
}

/// Which axis of the output counts samples.
size_t batchAxisOf(const json &a) { return a.value("layout", "").starts_with("T N") ? 1 : 0; }

/// f32[N, 3, 4], where the axis of the samples is one if it is as long as the batch.
std::string typeOf(const char *dtype, const std::vector<uint64_t> &shape, uint64_t batch,
                   size_t axis = 0) {
  std::string out = std::string(dtype) + "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i ? ", " : "") + (i == axis && shape[i] == batch ? "N" : std::to_string(shape[i]));
  return out + "]";
}

} // namespace

std::string operationModel(const json &attributes,
                           const std::map<std::string, std::vector<uint64_t>> &shapes) {
  const std::string loss = lossOf(attributes), body = loss.empty() ? expression(attributes) : "x";
  if (body.empty())
    return "";
  const std::vector<uint64_t> &output = loss.empty() ? shapes.at("output") : shapes.at("input.x");
  const size_t axis = batchAxisOf(attributes);
  const uint64_t batch = output[axis];
  std::string inputs;
  for (const auto &[name, shape] : shapes)
    if (name.starts_with("input.") && name != "input.label" && name != "input.target" &&
        !name.starts_with("input.running_"))
      inputs += (inputs.empty() ? "" : ", ") + name.substr(6) + ": " +
                typeOf(name == "input.index" ? "i32" : "f32", shape, batch, axis);
  std::string text = "model Case(" + inputs + ") -> " + typeOf("f32", output, batch, axis) +
                     " {\n  return " + body + "\n}\n";
  text += "train Case {\n";
  if (shapes.contains("input.label"))
    text += "  label: i32[N]\n";
  if (shapes.contains("input.target"))
    text += "  target: " + typeOf("f32", shapes.at("input.target"), batch) + "\n";
  if (loss.empty())
    text += "  dy: " + typeOf("f32", output, batch, axis) + "\n";
  text += "  loss = " + (loss.empty() ? "sum(output * dy)" : loss) + "\n";
  return text + "  optimizer = sgd(learning_rate=0.0)\n  batch = " + std::to_string(batch) +
         "\n}\n";
}

} // namespace dlc::test
