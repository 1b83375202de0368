// See Foreign.h.
#include "frontend/DL/Foreign.h"
#include "frontend/DL/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace dlc::frontend {

namespace {
/// A word of elsewhere, and what it is here: a name, or for `hint` a whole sentence.
struct Foreign {
  llvm::StringLiteral word;
  llvm::StringLiteral native;
};
} // namespace

/// Names that no change of spelling leads to; those of classes are written as `plain` makes them.
static constexpr Foreign names[] = {{"cat", "concat"},
                                    {"concatenate", "concat"},
                                    {"view", "reshape"},
                                    {"squeeze", "reshape"},
                                    {"unsqueeze", "reshape"},
                                    {"permute", "transpose"},
                                    {"expand", "broadcast"},
                                    {"where", "select"},
                                    {"clip", "clamp"},
                                    {"bmm", "matmul"},
                                    {"mm", "matmul"},
                                    {"dot", "matmul"},
                                    {"detach", "stop_gradient"},
                                    {"grad", "gradient"},
                                    {"randn", "random_normal"},
                                    {"rand", "random_uniform"},
                                    {"bernoulli", "random_bernoulli"},
                                    {"cumsum", "cumulative_sum"},
                                    {"prod", "product"},
                                    {"dense", "linear"},
                                    {"innerproduct", "linear"},
                                    {"conv", "conv2d"},
                                    {"convolution", "conv2d"},
                                    {"deconvolution", "conv_transpose2d"},
                                    {"avgpool", "average_pool"},
                                    {"pooling", "max_pool"},
                                    {"adaptiveavgpool", "global_average_pool"},
                                    {"adaptivemaxpool", "global_max_pool"},
                                    {"lrn", "local_response_norm"},
                                    {"swish", "silu"},
                                    {"scaleddotproductattention", "attention"},
                                    {"interpolate", "upsample"},
                                    {"crossentropy", "softmax_cross_entropy"},
                                    {"nll", "softmax_cross_entropy"},
                                    {"softmaxwith", "softmax_cross_entropy"},
                                    {"bce", "sigmoid_cross_entropy"},
                                    {"bcewithlogits", "sigmoid_cross_entropy"},
                                    {"binarycrossentropywithlogits", "sigmoid_cross_entropy"},
                                    {"binarycrossentropy", "sigmoid_cross_entropy"},
                                    {"mse", "mean_squared_error"},
                                    {"euclidean", "mean_squared_error"},
                                    {"l1", "mean_absolute_error"},
                                    {"mae", "mean_absolute_error"},
                                    {"smoothl1", "huber"},
                                    {"kldiv", "kl_divergence"},
                                    {"clipgradnorm", "global_norm"},
                                    {"clipgradvalue", "value"},
                                    {"steplr", "step"},
                                    {"multisteplr", "multistep"},
                                    {"exponentiallr", "exponential"},
                                    {"polynomiallr", "polynomial"},
                                    {"cosineannealinglr", "cosine"},
                                    {"onecyclelr", "one_cycle"},
                                    {"reducelronplateau", "plateau"},
                                    {"linearlr", "warmup"}};

/// Names that are nothing here, with what is done instead.
static constexpr Foreign habits[] = {
    {"self", "nothing is kept in an object: y = linear(x, 10) owns its weights"},
    {"nn", "built-ins have no prefix: linear(x, 10)"},
    {"torch", "built-ins have no prefix: linear(x, 10)"},
    {"F", "built-ins have no prefix: relu(x)"},
    {"tf", "built-ins have no prefix: linear(x, 10)"},
    {"np", "built-ins have no prefix: exp(x)"},
    {"math", "built-ins have no prefix: sqrt(2)"},
    {"optim", "built-ins have no prefix: sgd(learning_rate=0.1)"},
    {"Sequential", "layers in a row are a pipe: x |> linear(300) |> relu"},
    {"sequential", "layers in a row are a pipe: x |> linear(300) |> relu"},
    {"super", "a model has no class: its body is what forward() is elsewhere"},
    {"print", "'dlc lsp' shows types and shapes, 'assert' checks them"},
    {"lambda", "a function is a 'block' of the file"},
    {"same", "a string: padding=\"same\""},
    {"True", "did you mean 'true'?"},
    {"False", "did you mean 'false'?"},
    {"None", "did you mean 'none'?"},
    {"inf", "there is no infinity: a large number, such as 1e30"}};

/// Arguments. A word may stand for several: the one that the call takes is meant.
static constexpr Foreign arguments[] = {{"lr", "learning_rate"},
                                        {"base_lr", "learning_rate"},
                                        {"eps", "epsilon"},
                                        {"dim", "axis"},
                                        {"dim", "axes"},
                                        {"dim", "order"},
                                        {"dims", "axes"},
                                        {"dims", "order"},
                                        {"axis", "axes"},
                                        {"axes", "axis"},
                                        {"p", "rate"},
                                        {"keepdim", "keep"},
                                        {"keepdims", "keep"},
                                        {"kernel_size", "kernel"},
                                        {"out_features", "features"},
                                        {"num_output", "features"},
                                        {"units", "features"},
                                        {"out_channels", "channels"},
                                        {"num_output", "channels"},
                                        {"filters", "channels"},
                                        {"pad", "padding"},
                                        {"strides", "stride"},
                                        {"group", "groups"},
                                        {"num_groups", "groups"},
                                        {"num_embeddings", "count"},
                                        {"num_classes", "count"},
                                        {"embedding_dim", "width"},
                                        {"padding_idx", "padding_index"},
                                        {"hidden_size", "hidden"},
                                        {"num_layers", "layers"},
                                        {"normalized_shape", "axes"},
                                        {"negative_slope", "slope"},
                                        {"elementwise_affine", "affine"},
                                        {"num_parameters", "count"},
                                        {"start_dim", "start"},
                                        {"is_causal", "causal"},
                                        {"attn_mask", "mask"},
                                        {"dropout_p", "dropout"},
                                        {"scale_factor", "factor"},
                                        {"upscale_factor", "factor"},
                                        {"ignore_index", "ignore"},
                                        {"pos_weight", "positive_weight"},
                                        {"gamma", "factor"},
                                        {"max_norm", "limit"},
                                        {"clip_value", "limit"},
                                        {"weight_filler", "init"}};

static constexpr Foreign argumentHabits[] = {
    {"in_features", "the input's size is known: leave it out"},
    {"in_channels", "the input's size is known: leave it out"},
    {"num_features", "the input's size is known: leave it out"},
    {"input_size", "the input's size is known: leave it out"},
    {"inplace", "no value changes in place: leave it out"},
    {"device", "where it runs is said to dlc: --target"},
    {"requires_grad", "frozen=true at a layer, or in a 'parameters' group"}};

static constexpr Foreign settings[] = {{"batch_size", "batch"},
                                       {"batchsize", "batch"},
                                       {"num_epochs", "epochs"},
                                       {"epoch", "epochs"},
                                       {"criterion", "loss"},
                                       {"opt", "optimizer"},
                                       {"solver", "optimizer"},
                                       {"scheduler", "schedule"},
                                       {"lr_scheduler", "schedule"},
                                       {"lr_policy", "schedule"},
                                       {"grad_clip", "clip"},
                                       {"clip_grad", "clip"},
                                       {"clip_gradients", "clip"},
                                       {"dtype", "precision"},
                                       {"amp", "precision"},
                                       {"iter_size", "accumulate"},
                                       {"accumulation_steps", "accumulate"}};

static constexpr Foreign settingHabits[] = {
    {"learning_rate", "an argument of the optimizer: sgd(learning_rate=0.1)"},
    {"lr", "an argument of the optimizer: sgd(learning_rate=0.1)"},
    {"weight_decay", "an argument of the optimizer: sgd(learning_rate=0.1, weight_decay=1e-4)"},
    {"momentum", "an argument of the optimizer: sgd(learning_rate=0.1, momentum=0.9)"},
    {"accuracy", "'metric accuracy = ...' makes a number to watch of it"},
    {"seed", "dlc-run takes it: --seed"},
    {"shuffle", "dlc-run shuffles"}};

static constexpr Foreign statements[] = {
    {"def", "'block Name(x) { ... return y }' is a function"},
    {"fn", "'block Name(x) { ... return y }' is a function"},
    {"func", "'block Name(x) { ... return y }' is a function"},
    {"function", "'block Name(x) { ... return y }' is a function"},
    {"class", "'model Name(x: f32[N, 784]) -> f32[N, 10] { ... return y }' is a network"},
    {"import", "from \"std/resnet.dl\" import Bottleneck"},
    {"elif", "'else if'"},
    {"while", "'repeat 3 { ... }' or 'for i in range(3) { ... }'"},
    {"let", "a value is bound by 'name = value'"},
    {"const", "a value is bound by 'name = value'"},
    {"var", "a value is bound by 'name = value'"},
    {"auto", "a value is bound by 'name = value'"},
    {"lambda", "a function is a 'block' of the file"},
    {"with", "gradients and phases are dlc's: leave it out"},
    {"self", "nothing is kept in an object: 'y = linear(x, 10)' owns its weights"},
    {"print", "'dlc lsp' shows types and shapes, 'assert' checks them"}};

static constexpr Foreign types[] = {{"float32", "f32"},   {"float", "f32"},   {"float64", "f64"},
                                    {"double", "f64"},    {"float16", "f16"}, {"half", "f16"},
                                    {"bfloat16", "bf16"}, {"int32", "i32"},   {"int", "i32"},
                                    {"int64", "i64"},     {"long", "i64"},    {"uint8", "u8"},
                                    {"byte", "u8"},       {"Tensor", "f32"},  {"tensor", "f32"}};

static llvm::StringRef lookUp(llvm::ArrayRef<Foreign> table, llvm::StringRef word) {
  auto found = llvm::find_if(table, [&](const Foreign &each) { return each.word == word; });
  return found == table.end() ? llvm::StringRef() : llvm::StringRef(found->native);
}

static std::string question(llvm::StringRef name) {
  return name.empty() ? "" : ("did you mean '" + name + "'?").str();
}

/// A name without what other libraries write otherwise: capitals, '_', "Loss", "2d".
static std::string plain(llvm::StringRef word) {
  std::string text;
  for (char c : word)
    if (c != '_')
      text += llvm::toLower(c);
  llvm::StringRef rest = text;
  if (rest.size() > 4)
    rest.consume_back("loss");
  return rest.str();
}

static llvm::StringRef withoutRank(llvm::StringRef word) {
  return word.size() > 2 && word.back() == 'd' &&
                 llvm::StringRef("123").contains(word[word.size() - 2])
             ? word.drop_back(2)
             : word;
}

llvm::StringRef nativeName(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates) {
  std::string whole = plain(word);
  for (llvm::StringRef wanted : {llvm::StringRef(whole), withoutRank(whole)}) {
    auto same =
        llvm::find_if(candidates, [&](llvm::StringRef each) { return plain(each) == wanted; });
    if (same != candidates.end())
      return *same;
    llvm::StringRef native = lookUp(names, wanted);
    if (!native.empty() && llvm::is_contained(candidates, native))
      return native;
  }
  return {};
}

std::string hintForName(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates) {
  if (llvm::StringRef habit = lookUp(habits, word); !habit.empty())
    return habit.str();
  llvm::StringRef native = nativeName(word, candidates);
  return native.empty() ? didYouMean(word, candidates) : question(native);
}

std::string hintForArgument(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates) {
  for (const Foreign &each : arguments)
    if (each.word == word && llvm::is_contained(candidates, each.native))
      return question(each.native);
  llvm::StringRef habit = lookUp(argumentHabits, word);
  return habit.empty() ? didYouMean(word, candidates) : habit.str();
}

std::string hintForSetting(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates) {
  if (llvm::StringRef habit = lookUp(settingHabits, word); !habit.empty())
    return habit.str();
  llvm::StringRef native = lookUp(settings, word);
  if (!llvm::is_contained(candidates, native))
    native = nearestName(word, candidates);
  return native.empty() ? "" : ("did you mean the setting '" + native + "'?").str();
}

llvm::StringRef hintForStatement(llvm::StringRef word) { return lookUp(statements, word); }

std::string hintForMethod(llvm::StringRef object, llvm::StringRef method) {
  static constexpr llvm::StringLiteral training[] = {"backward", "step", "zero_grad", "train",
                                                     "eval"};
  if (llvm::is_contained(training, method))
    return "the train section does it: leave it out";
  if (method == "append")
    return ("'" + object + " = " + object + " + [...]'").str();
  llvm::StringRef habit = hintForStatement(object);
  return habit.empty() ? "a value is bound to a name: 'name = ...'" : habit.str();
}

std::string hintForType(llvm::StringRef word) { return question(lookUp(types, word)); }

} // namespace dlc::frontend
