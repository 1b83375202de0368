//===- GoldenCases.cpp - reference cases of single operations as dl entries -------------------===//
#include "test/gradients/GoldenCases.h"
#include <cmath>
#include <cstdio>
#include <functional>

using nlohmann::json;

namespace dlc::gradients {
namespace {

using interpreter::Shape;

std::string typeOf(const Shape &shape, const char *element = "f64") {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

std::string listOf(const std::vector<int64_t> &numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "]";
}

/// As MLIR reads a float.
std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17e", value);
  return text;
}

/// Writes one entry, line by line. Values are text: "%x".
class Writer {
public:
  Writer(const json &attributes, const interpreter::Tensors &tensors)
      : a(attributes), tensors(tensors), output(tensors.at("output").shape) {}

  /// An argument with the value of a tensor of the file; "%x" for input.x.
  std::string argument(const std::string &name, const char *element = "f64") {
    std::string value = "%" + name.substr(name.find('.') + 1);
    types[value] = typeOf(tensors.at(name).shape, element);
    arguments.push_back(name);
    signature += (signature.empty() ? "" : ", ") + value + ": " + types[value];
    return value;
  }
  bool has(const std::string &name) const { return tensors.count(name) != 0; }
  const Shape &shapeOf(const std::string &name) const { return tensors.at(name).shape; }
  const std::string &type(const std::string &value) const { return types.at(value); }

  /// A new value of `type` by an op, written without its results, of which this is the first.
  std::string op(const std::string &text, const std::string &type, int results = 1) {
    std::string value = "%" + std::to_string(types.size());
    body += "  " + value + ":" + std::to_string(results) + " = " + text + "\n";
    types[value] = type;
    return value;
  }
  std::string unary(const std::string &name, const std::string &x) {
    return op(name + " " + x + " : " + type(x), type(x));
  }
  std::string binary(const std::string &name, const std::string &x, const std::string &y) {
    return op(name + " " + x + ", " + y + " : " + type(x), type(x));
  }
  std::string broadcast(const std::string &x, const std::vector<int64_t> &dims) {
    std::string to = typeOf(output);
    return op("dl.broadcast " + x + " dims = " + listOf(dims) + " : " + type(x) + " to " + to, to);
  }
  std::string withBias(const std::string &y) {
    return has("parameter.bias") ? binary("dl.add", y, broadcast(argument("parameter.bias"), {1}))
                                 : y;
  }
  GoldenEntry finish(const std::string &result) const {
    return {"dl.entry @f(" + signature + ") -> " + type(result) +
                " attributes {kind = #program.entry<train>} {\n" + body + "  dl.return " + result +
                " : " + type(result) + "\n}",
            arguments};
  }

  const json &a;
  const interpreter::Tensors &tensors;
  const Shape &output;

private:
  std::string signature, body;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> types;
};

std::string window(const std::vector<int64_t> &kernel, int64_t stride, int64_t padding) {
  return " kernel = " + listOf(kernel) + " strides = " + listOf({stride, stride}) +
         " padding = " + listOf({padding, padding, padding, padding}) + " dilations = [1, 1]";
}

GoldenEntry convolution(Writer &w) {
  std::vector<int64_t> p = w.a["padding_top_left_bottom_right"];
  std::string x = w.argument("input.x"), filter = w.argument("parameter.weight");
  std::string y =
      w.op("dl.convolution " + x + ", " + filter + " strides = " + listOf(w.a["stride"]) +
               " padding = " + listOf({p[0], p[2], p[1], p[3]}) +
               " dilations = " + listOf(w.a["dilation"]) + " groups = " + w.a["groups"].dump() +
               " : " + w.type(x) + ", " + w.type(filter),
           typeOf(w.output));
  return w.finish(w.withBias(y));
}

GoldenEntry transposedConvolution(Writer &w) {
  int64_t stride = w.a["stride"], p = w.a["padding"];
  std::string x = w.argument("input.x"), filter = w.argument("parameter.weight");
  std::string to = typeOf(w.output);
  std::string y =
      w.op("dl.convolution_backward_data " + x + ", " + filter +
               " strides = " + listOf({stride, stride}) + " padding = " + listOf({p, p, p, p}) +
               " dilations = [1, 1] groups = " + w.a["groups"].dump() + " : " + w.type(x) + ", " +
               w.type(filter) + " to " + to,
           to);
  return w.finish(w.withBias(y));
}

GoldenEntry pooling(Writer &w) {
  std::string x = w.argument("input.x"), to = typeOf(w.output);
  int64_t kernel = w.a["kernel"];
  bool counts = w.a.value("count_include_pad", false);
  return w.finish(w.op("dl." + w.a["op"].get<std::string>() + " " + x +
                           window({kernel, kernel}, w.a["stride"], w.a["padding"]) +
                           (counts ? " count_include_pad" : "") + " : " + w.type(x) + " -> " + to,
                       to));
}

GoldenEntry globalAveragePool(Writer &w) {
  const Shape &shape = w.shapeOf("input.x");
  std::string x = w.argument("input.x"), to = typeOf(w.output);
  return w.finish(w.op("dl.average_pool " + x + window({shape[2], shape[3]}, 1, 0) + " : " +
                           w.type(x) + " -> " + to,
                       to));
}

GoldenEntry linear(Writer &w) {
  std::string x = w.argument("input.x"), weight = w.argument("parameter.weight");
  std::string y =
      w.op("dl.matmul " + x + ", " + weight + " transpose_b : " + w.type(x) + ", " + w.type(weight),
           typeOf(w.output));
  return w.finish(w.withBias(y));
}

GoldenEntry matmul(Writer &w) {
  std::string a = w.argument("input.a"), b = w.argument("input.b");
  return w.finish(
      w.op("dl.matmul " + a + ", " + b + " : " + w.type(a) + ", " + w.type(b), typeOf(w.output)));
}

GoldenEntry attention(Writer &w) {
  std::string q = w.argument("input.q"), k = w.argument("input.k"), v = w.argument("input.v");
  double scale = 1 / std::sqrt(double(w.shapeOf("input.q")[3]));
  return w.finish(w.op("dl.attention " + q + ", " + k + ", " + v + " scale = " + number(scale) +
                           (w.a["causal"].get<bool>() ? " causal" : "") + " : " + w.type(q) + ", " +
                           w.type(k) + ", " + w.type(v),
                       typeOf(w.output), /*results=*/2));
}

GoldenEntry binary(Writer &w) {
  std::vector<std::string> operands;
  for (const char *name : {"input.a", "input.b"}) {
    std::string value = w.argument(name);
    std::vector<int64_t> dims;
    for (size_t axis = 0; axis < w.output.size(); ++axis)
      dims.push_back(int64_t(axis));
    operands.push_back(w.type(value) == typeOf(w.output) ? value : w.broadcast(value, dims));
  }
  return w.finish(w.binary("dl." + w.a["op"].get<std::string>(), operands[0], operands[1]));
}

GoldenEntry unary(Writer &w) {
  return w.finish(w.unary("dl." + w.a["op"].get<std::string>(), w.argument("input.x")));
}

GoldenEntry reduceMax(Writer &w) {
  std::string x = w.argument("input.x");
  return w.finish(w.op("dl.reduce max " + x + " axes = " + listOf(w.a["axes"]) + " : " + w.type(x),
                       typeOf(w.output)));
}

GoldenEntry transpose(Writer &w) {
  std::string x = w.argument("input.x");
  return w.finish(
      w.op("dl.transpose " + x + " order = " + listOf(w.a["permutation"]) + " : " + w.type(x),
           typeOf(w.output)));
}

GoldenEntry slice(Writer &w) {
  std::string x = w.argument("input.x");
  std::vector<int64_t> starts(w.output.size(), 0), steps(w.output.size(), 1);
  starts[w.a["axis"].get<size_t>()] = w.a["begin"];
  return w.finish(w.op("dl.slice " + x + " starts = " + listOf(starts) + " sizes = " +
                           listOf(w.output) + " steps = " + listOf(steps) + " : " + w.type(x),
                       typeOf(w.output)));
}

GoldenEntry crossEntropy(Writer &w) {
  if (w.a.contains("label_smoothing"))
    return {};
  int64_t samples = w.shapeOf("input.x")[0];
  std::string x = w.argument("input.x"), label = w.argument("input.label", "i32");
  std::string each = w.op("dl.softmax_cross_entropy " + x + ", " + label +
                              " axis = 1 : " + w.type(x) + ", " + w.type(label),
                          typeOf({samples}));
  std::string sum = w.op("dl.reduce sum " + each + " axes = [0] : " + w.type(each), typeOf({}));
  std::string count =
      w.op("dl.constant dense<" + std::to_string(samples) + ".0> : " + typeOf({}), typeOf({}));
  return w.finish(w.binary("dl.divide", sum, count));
}

std::string affine(Writer &w) {
  std::string text;
  for (const char *name : {"scale", "bias"}) {
    std::string value = w.argument(std::string("parameter.") + name);
    text += std::string(" ") + name + "(" + value + " : " + w.type(value) + ")";
  }
  return text;
}

GoldenEntry batchNorm(Writer &w) {
  std::string x = w.argument("input.x"), setting = " epsilon = 1.0e-05 : " + w.type(x);
  if (w.a["training"])
    return w.finish(w.op("dl.batch_norm " + x + affine(w) + setting, w.type(x), /*results=*/3));
  std::string mean = w.argument("input.running_mean"),
              variance = w.argument("input.running_variance");
  return w.finish(
      w.op("dl.batch_norm_inference " + x + ", " + mean + ", " + variance + affine(w) + setting,
           w.type(x)));
}

GoldenEntry layerNorm(Writer &w) {
  std::string x = w.argument("input.x");
  std::string axis = std::to_string(w.output.size() - 1);
  return w.finish(w.op("dl.layer_norm " + x + affine(w) + " axes = [" + axis +
                           "] epsilon = 1.0e-05 : " + w.type(x),
                       w.type(x)));
}

GoldenEntry groupNorm(Writer &w) {
  std::string x = w.argument("input.x");
  return w.finish(w.op("dl.group_norm " + x + affine(w) + " groups = " + w.a["groups"].dump() +
                           " epsilon = 1.0e-05 : " + w.type(x),
                       w.type(x)));
}

GoldenEntry localResponseNorm(Writer &w) {
  std::string x = w.argument("input.x"), settings = " size = " + w.a["size"].dump();
  for (const char *name : {"alpha", "beta", "k"})
    settings += std::string(" ") + name + " = " + number(w.a[name]);
  return w.finish(w.op("dl.local_response_norm " + x + settings + " : " + w.type(x), w.type(x)));
}

GoldenEntry softmax(Writer &w) {
  int64_t axis = w.a["axis"];
  std::string x = w.argument("input.x");
  axis += axis < 0 ? int64_t(w.output.size()) : 0;
  return w.finish(w.op("dl." + w.a["op"].get<std::string>() + " " + x +
                           " axis = " + std::to_string(axis) + " : " + w.type(x),
                       w.type(x)));
}

GoldenEntry concat(Writer &w) {
  std::string parts, types;
  for (const char *name : {"input.a", "input.b", "input.c"}) {
    std::string part = w.argument(name), comma = parts.empty() ? "" : ", ";
    parts += comma + part;
    types += comma + w.type(part);
  }
  return w.finish(w.op("dl.concat " + parts + " axis = " + w.a["axis"].dump() + " : " + types,
                       typeOf(w.output)));
}

GoldenEntry embedding(Writer &w) {
  std::string table = w.argument("parameter.weight"), index = w.argument("input.index", "i32");
  return w.finish(w.op("dl.gather " + table + ", " + index + " axis = 0 : " + w.type(table) + ", " +
                           w.type(index),
                       typeOf(w.output)));
}

GoldenEntry gelu(Writer &w) {
  std::string x = w.argument("input.x");
  return w.finish(w.op("dl.gelu " + x + " exact : " + w.type(x), w.type(x)));
}

GoldenEntry geluByTanh(Writer &w) { return w.finish(w.unary("dl.gelu", w.argument("input.x"))); }

/// The mean over all elements.
GoldenEntry elementLoss(Writer &w) {
  std::string x = w.argument("input.x"), target = w.argument("input.target");
  std::string delta = w.a.contains("delta") ? " delta = " + number(w.a["delta"]) : "";
  std::string each = w.op("dl." + w.a["op"].get<std::string>() + " " + x + ", " + target + delta +
                              " : " + w.type(x),
                          w.type(x));
  const Shape &shape = w.shapeOf("input.x");
  std::string sum = w.op("dl.reduce sum " + each + " axes = [0, 1] : " + w.type(x), typeOf({}));
  std::string count =
      w.op("dl.constant dense<" + std::to_string(shape[0] * shape[1]) + ".0> : " + typeOf({}),
           typeOf({}));
  return w.finish(w.binary("dl.divide", sum, count));
}

} // namespace

GoldenEntry goldenEntry(const json &attributes, const interpreter::Tensors &tensors) {
  static const std::map<std::string, std::function<GoldenEntry(Writer &)>> writers = {
      {"conv2d", convolution},
      {"conv_transpose2d", transposedConvolution},
      {"max_pool", pooling},
      {"average_pool", pooling},
      {"linear", linear},
      {"global_average_pool", globalAveragePool},
      {"matmul", matmul},
      {"attention", attention},
      {"softmax_cross_entropy", crossEntropy},
      {"add", binary},
      {"multiply", binary},
      {"divide", binary},
      {"relu", unary},
      {"sigmoid", unary},
      {"tanh", unary},
      {"exp", unary},
      {"reduce_max", reduceMax},
      {"transpose", transpose},
      {"slice", slice},
      {"batch_norm", batchNorm},
      {"layer_norm", layerNorm},
      {"group_norm", groupNorm},
      {"softmax", softmax},
      {"log_softmax", softmax},
      {"gelu_tanh", geluByTanh},
      {"gelu", gelu},
      {"concat", concat},
      {"embedding", embedding},
      {"local_response_norm", localResponseNorm},
      {"huber", elementLoss},
      {"sigmoid_cross_entropy", elementLoss},
  };
  auto found = writers.find(attributes["op"].get<std::string>());
  if (found == writers.end())
    return {};
  Writer writer(attributes, tensors);
  return found->second(writer);
}

} // namespace dlc::gradients
