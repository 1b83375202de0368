// See Foreign.h.
#include "frontend/DL/Syntax/Foreign.h"
#include "frontend/DL/Syntax/Diagnostics.h"

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
                                    {"linearlr", "warmup"},
                                    {"henormal", "kaiming_normal"},
                                    {"heuniform", "kaiming_uniform"},
                                    {"kaiming", "kaiming_normal"},
                                    {"msra", "kaiming_normal"},
                                    {"xavier", "xavier_uniform"},
                                    {"glorot", "xavier_uniform"},
                                    {"glorotuniform", "xavier_uniform"},
                                    {"glorotnormal", "xavier_normal"},
                                    {"gaussian", "normal"},
                                    {"truncnormal", "truncated_normal"},
                                    {"zeroslike", "zeros"},
                                    {"oneslike", "ones"},
                                    {"fulllike", "full"},
                                    {"batchnormalization", "batch_norm"},
                                    {"layernormalization", "layer_norm"},
                                    {"fullyconnected", "linear"},
                                    {"maxpooling", "max_pool"},
                                    {"averagepooling", "average_pool"},
                                    {"globalaveragepooling", "global_average_pool"},
                                    {"globalmaxpooling", "global_max_pool"},
                                    {"upsampling", "upsample"},
                                    {"multiheadattention", "attention"},
                                    {"hardtanh", "clamp"},
                                    {"mul", "multiply"},
                                    {"sub", "subtract"},
                                    {"power", "pow"},
                                    {"categoricalcrossentropy", "softmax_cross_entropy"},
                                    {"sparsecategoricalcrossentropy", "softmax_cross_entropy"},
                                    {"categoricalaccuracy", "accuracy"},
                                    {"sparsecategoricalaccuracy", "accuracy"},
                                    {"clipbyvalue", "value"},
                                    {"clipbynorm", "parameter_norm"},
                                    {"clipbyglobalnorm", "global_norm"},
                                    {"cosineannealingwarmrestarts", "cosine_restarts"},
                                    {"cosinedecay", "cosine"},
                                    {"exponentialdecay", "exponential"},
                                    {"cycliclr", "cyclic"},
                                    {"constantlr", "constant"},
                                    {"poly", "polynomial"}};

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
    {"inf", "there is no infinity: a large number, such as 1e30"},
    {"str", "format(\"layer{}\", i) puts numbers into a string"},
    {"cast", "f32(x) casts to f32, i32(x) to i32"},
    {"Parameter", "parameter w: f32[3] = normal(0, 0.02)"},
    {"Variable", "parameter w: f32[3] = normal(0, 0.02)"},
    {"Input", "an input stands in the model's head: model Name(x: f32[N, 784])"},
    {"Activation", "the function itself: x |> relu"},
    {"keras", "built-ins have no prefix: linear(x, 10)"},
    {"layers", "built-ins have no prefix: linear(x, 10)"},
    {"jnp", "built-ins have no prefix: exp(x)"},
    {"numpy", "built-ins have no prefix: exp(x)"},
    {"this", "nothing is kept in an object: y = linear(x, 10) owns its weights"},
    {"valid", "padding=0, which is the default"},
    {"null", "did you mean 'none'?"},
    {"nullptr", "did you mean 'none'?"},
    {"NULL", "did you mean 'none'?"},
    {"nan", "there is no such number"},
    {"PI", "did you mean 'pi'?"},
    {"TRUE", "did you mean 'true'?"},
    {"FALSE", "did you mean 'false'?"},
    {"isinstance", "values of compile time compare by '==': x == none"},
    {"input", "an input stands in the model's head: model Name(x: f32[N, 784])"}};

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
                                        {"weight_filler", "init"},
                                        {"beta", "momentum"},
                                        {"nesterov_momentum", "nesterov"},
                                        {"wd", "weight_decay"},
                                        {"decay", "weight_decay"},
                                        {"l2", "weight_decay"},
                                        {"alpha", "slope"},
                                        {"a", "slope"},
                                        {"stddev", "std"},
                                        {"sigma", "std"},
                                        {"mu", "mean"},
                                        {"loc", "mean"},
                                        {"scale", "std"},
                                        {"minval", "low"},
                                        {"maxval", "high"},
                                        {"min", "low"},
                                        {"max", "high"},
                                        {"T_max", "epochs"},
                                        {"T_0", "epochs"},
                                        {"T_mult", "multiply"},
                                        {"step_size", "epochs"},
                                        {"stepsize", "steps"},
                                        {"milestones", "epochs"},
                                        {"total_iters", "epochs"},
                                        {"total_steps", "steps"},
                                        {"num_steps", "steps"},
                                        {"max_iter", "steps"},
                                        {"eta_min", "end"},
                                        {"monitor", "metric"},
                                        {"drop_prob", "rate"},
                                        {"smoothing", "label_smoothing"},
                                        {"pool_size", "kernel"},
                                        {"kernel_shape", "kernel"},
                                        {"dilation_rate", "dilation"},
                                        {"use_bias", "bias"},
                                        {"bias_term", "bias"},
                                        {"kernel_initializer", "init"},
                                        {"bias_initializer", "bias_init"},
                                        {"bias_filler", "bias_init"},
                                        {"input_dim", "count"},
                                        {"output_dim", "width"},
                                        {"perm", "order"},
                                        {"target_shape", "shape"},
                                        {"newshape", "shape"},
                                        {"reduce", "reduction"},
                                        {"labels", "label"},
                                        {"targets", "target"},
                                        {"y_true", "label"},
                                        {"y_true", "target"},
                                        {"y_pred", "logits"},
                                        {"y_pred", "a"},
                                        {"input", "x"},
                                        {"input", "logits"},
                                        {"input", "a"},
                                        {"inputs", "x"},
                                        {"topk", "k"},
                                        {"size", "factor"},
                                        {"lr_decay", "rate_decay"}};

static constexpr Foreign argumentHabits[] = {
    {"in_features", "the input's size is known: leave it out"},
    {"in_channels", "the input's size is known: leave it out"},
    {"num_features", "the input's size is known: leave it out"},
    {"input_size", "the input's size is known: leave it out"},
    {"inplace", "no value changes in place: leave it out"},
    {"device", "where it runs is said to dlc: --target"},
    {"requires_grad", "frozen=true at a layer, or in a 'parameters' group"},
    {"trainable", "frozen=true at a layer, or in a 'parameters' group"},
    {"weight_decay", "an argument of the optimizer; decay_mult is a factor on it"},
    {"activation", "a function behind it: |> relu"},
    {"padding_mode", "padding is with zeros: leave it out"},
    {"data_format", "images are [N, channels, height, width]: leave it out"},
    {"input_shape", "the input's size is known: leave it out"},
    {"params", "what is trained is the section's models: leave it out"},
    {"parameters", "what is trained is the section's models: leave it out"},
    {"training", "dlc knows the phase: leave it out"},
    {"track_running_stats", "they are always kept: leave it out"},
    {"from_logits", "it takes logits always: leave it out"},
    {"maximize", "a loss with '-' before it: leave it out"},
    {"fused", "dlc chooses: leave it out"},
    {"foreach", "dlc chooses: leave it out"}};

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
                                       {"accumulation_steps", "accumulate"},
                                       {"bs", "batch"},
                                       {"minibatch", "batch"},
                                       {"max_epochs", "epochs"},
                                       {"max_epoch", "epochs"},
                                       {"n_epochs", "epochs"},
                                       {"loss_fn", "loss"},
                                       {"objective", "loss"},
                                       {"cost", "loss"},
                                       {"optim", "optimizer"},
                                       {"lr_schedule", "schedule"},
                                       {"gradient_clip_val", "clip"},
                                       {"ema_decay", "ema"},
                                       {"gradient_accumulation_steps", "accumulate"}};

/// Theano's dnn.conv.algo_fwd and algo_bwd_*; those of cuDNN as NVCaffe prints them.
static constexpr ForeignAlgorithm algorithms[] = {
    {"auto", "heuristic", "PyTorch"},
    {"guess_once", "heuristic", "Theano"},
    {"guess_on_shape_change", "heuristic", "Theano"},
    {"time_once", "heuristic", "Theano", "'dlc tune' times algorithms"},
    {"time_on_shape_change", "heuristic", "Theano", "'dlc tune' times algorithms"},
    {"none", "gemm", "Theano"},
    {"small", "gemm", "Theano"},
    {"large", "gemm", "Theano"},
    {"deterministic", "heuristic", "Theano", "all our algorithms are deterministic"},
    {"winograd_non_fused", "winograd", "Theano"},
    {"winograd_nonfused", "winograd", "NVCaffe"},
    {"implicit_gemm", "gemm", "NVCaffe"},
    {"implicit_precomp_gemm", "gemm", "NVCaffe"},
    {"fft_tiling", "fft", "Theano"}};

static constexpr Foreign settingHabits[] = {
    {"learning_rate", "an argument of the optimizer: sgd(learning_rate=0.1)"},
    {"lr", "an argument of the optimizer: sgd(learning_rate=0.1)"},
    {"weight_decay", "an argument of the optimizer: sgd(learning_rate=0.1, weight_decay=1e-4)"},
    {"momentum", "an argument of the optimizer: sgd(learning_rate=0.1, momentum=0.9)"},
    {"accuracy", "'metric accuracy = ...' makes a number to watch of it"},
    {"metric", "a metric has a name: 'metric top = ...'"},
    {"seed", "dlc-run takes it: --seed"},
    {"shuffle", "dlc-run shuffles"},
    {"metrics", "'metric accuracy = accuracy(output, label)' makes a number to watch"},
    {"device", "where it runs is said to dlc: --target"},
    {"data", "dlc-run takes it: --data"},
    {"dataset", "dlc-run takes it: --data"},
    {"num_workers", "dlc-run takes it: --threads"},
    {"num_threads", "dlc-run takes it: --threads"}};

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
    {"print", "'dlc lsp' shows types and shapes, 'assert' checks them"},
    {"int", "a value is bound without a type: 'name = value'"},
    {"float", "a value is bound without a type: 'name = value'"},
    {"double", "a value is bound without a type: 'name = value'"},
    {"long", "a value is bound without a type: 'name = value'"},
    {"string", "a value is bound without a type: 'name = value'"},
    {"Tensor", "a value is bound without a type: 'name = value'"},
    {"static", "a value is bound by 'name = value'"},
    {"yield", "'return' gives what a block computes"},
    {"del", "a name ends with its body: leave it out"},
    {"pass", "a body may be empty: leave it out"},
    {"break", "a loop runs to its end: 'if' leaves out what is not wanted"},
    {"continue", "a loop runs to its end: 'if' leaves out what is not wanted"},
    {"try", "an error is one of compile time: leave it out"},
    {"raise", "'assert condition, \"message\"' reports an error"},
    {"throw", "'assert condition, \"message\"' reports an error"},
    {"global", "a block sees the constants of the file: leave it out"},
    {"switch", "'if ... { } else if ... { } else { }'"},
    {"match", "'if ... { } else if ... { } else { }'"},
    {"do", "'repeat 3 { ... }' or 'for i in range(3) { ... }'"},
    {"is", "'==' compares"},
    {"in", "'in' belongs to 'for'; '==' compares"},
    {"struct", "'model Name(x: f32[N, 784]) -> f32[N, 10] { ... return y }' is a network"},
    {"using", "from \"std/resnet.dl\" import Bottleneck"},
    {"include", "from \"std/resnet.dl\" import Bottleneck"},
    {"require", "from \"std/resnet.dl\" import Bottleneck"},
    {"async", "nothing waits at run time: leave it out"},
    {"end", "a body ends with '}'"},
    {"network", "'model Name(x: f32[N, 784]) -> f32[N, 10] { ... return y }' is a network"},
    {"net", "'model Name(x: f32[N, 784]) -> f32[N, 10] { ... return y }' is a network"}};

static constexpr Foreign types[] = {
    {"float32", "f32"}, {"float", "f32"},  {"float64", "f64"},   {"double", "f64"},
    {"float16", "f16"}, {"half", "f16"},   {"bfloat16", "bf16"}, {"int32", "i32"},
    {"int", "i32"},     {"int64", "i64"},  {"long", "i64"},      {"uint8", "u8"},
    {"byte", "u8"},     {"Tensor", "f32"}, {"tensor", "f32"},    {"tf32", "f32"}};

namespace {
/// A built-in that is given what another one takes. '$' stands for what it was given.
struct ForeignValue {
  llvm::StringLiteral builtin;
  bool isTensor;
  llvm::StringLiteral hint;
};
} // namespace

static constexpr ForeignValue values[] = {{"len", true, "size($, 0)"},
                                          {"range", true, "range(size($, 0))"},
                                          {"int", true, "i32($) casts it"},
                                          {"float", true, "f32($) casts it"},
                                          {"max", false, "maximum(a, b) is the larger of two"},
                                          {"min", false, "minimum(a, b) is the smaller of two"},
                                          {"sum", false, "a loop adds numbers: s = s + n"},
                                          {"channels", false, "a number is its own size"},
                                          {"tensor", true, "it is a tensor already"}};

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
  if (llvm::StringRef type = lookUp(types, word); !type.empty())
    return question(type);
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

const ForeignAlgorithm *findForeignAlgorithm(llvm::StringRef word) {
  auto *found = llvm::find_if(
      algorithms, [&](const ForeignAlgorithm &each) { return word.equals_insensitive(each.word); });
  return found == std::end(algorithms) ? nullptr : found;
}

std::string hintForSetting(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates) {
  if (llvm::StringRef habit = lookUp(settingHabits, word); !habit.empty())
    return habit.str();
  llvm::StringRef native = lookUp(settings, word);
  if (!llvm::is_contained(candidates, native))
    native = nearestName(word, candidates);
  return native.empty() ? "" : ("did you mean the setting '" + native + "'?").str();
}

std::string hintForValue(llvm::StringRef builtin, bool isTensor, llvm::StringRef source) {
  auto found = llvm::find_if(values, [&](const ForeignValue &each) {
    return each.builtin == builtin && each.isTensor == isTensor;
  });
  if (found == std::end(values))
    return "";
  auto [before, after] = llvm::StringRef(found->hint).split('$');
  bool hasPlace = before.size() != found->hint.size();
  return (before + (!hasPlace ? "" : source.empty() ? "x" : source) + after).str();
}

llvm::StringRef hintForStatement(llvm::StringRef word) { return lookUp(statements, word); }

std::string hintForMember(llvm::StringRef source, llvm::StringRef member) {
  static constexpr llvm::StringLiteral casts[] = {"to",     "astype", "type", "float",   "half",
                                                  "double", "long",   "int",  "bfloat16"};
  static constexpr llvm::StringLiteral moves[] = {"cuda", "cpu",        "device", "numpy",
                                                  "item", "contiguous", "clone",  "copy"};
  if (llvm::is_contained(casts, member))
    return ("f32(" + source + ") casts it to f32, i32(" + source + ") to i32").str();
  if (llvm::is_contained(moves, member))
    return "where a value lies is dlc's: leave it out";
  return ("functions take it: relu(" + source + ")").str();
}

std::string hintForMethod(llvm::StringRef object, llvm::StringRef method) {
  static constexpr llvm::StringLiteral training[] = {"backward", "step", "zero_grad", "train",
                                                     "eval",     "fit",  "compile"};
  if (llvm::is_contained(training, method))
    return "the train section does it: leave it out";
  if (method == "append")
    return ("'" + object + " = " + object + " + [...]'").str();
  llvm::StringRef habit = hintForStatement(object);
  return habit.empty() ? "a value is bound to a name: 'name = ...'" : habit.str();
}

std::string hintForType(llvm::StringRef word) { return question(lookUp(types, word)); }

bool isBatchElsewhere(llvm::StringRef dimension) {
  static constexpr llvm::StringLiteral batches[] = {"B", "b", "n", "BS", "None"};
  return llvm::is_contained(batches, dimension) || dimension.starts_with_insensitive("batch");
}

} // namespace dlc::frontend
