// The mistakes of the first day, each with the exact line that helps: what is written as in Python,
// C++, PyTorch, Keras or Caffe, slips of the hand, and what is said elsewhere in another place.
// Here those in a train section.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend::test;

/// A train section of the model M from an image; what it needs and `body` does not say stands
/// behind it. The body begins in line 5.
static std::string inTrain(llvm::StringRef body) {
  std::string text = "model M(image: f32[N, 784]) -> f32[N, 10] {\n  return linear(image, 10)\n}\n"
                     "train M {\n";
  llvm::SmallVector<llvm::StringRef> lines;
  if (!body.empty())
    body.split(lines, '\n');
  for (llvm::StringRef standard : {"label: i32[N]", "loss = softmax_cross_entropy(output, label)",
                                   "optimizer = sgd(learning_rate=0.1)", "batch = 4"}) {
    llvm::StringRef word = standard.take_while([](char c) { return llvm::isAlpha(c); });
    auto binds = [&](llvm::StringRef line) {
      return line.starts_with(word) && !llvm::isAlnum(line.drop_front(word.size()).front());
    };
    if (llvm::none_of(lines, binds))
      lines.push_back(standard);
  }
  for (llvm::StringRef line : lines)
    text += "  " + line.str() + "\n";
  return text + "}\n";
}

// clang-format off
static const ErrorCase settings[] = {
{"OptUnknownArg", R"dl(optimizer = sgd(learning_rate=0.1, beta=0.9))dl",
R"dl(test.dl:5:38: error: sgd has no argument 'beta'
  optimizer = sgd(learning_rate=0.1, beta=0.9)
                                     ^~~~ did you mean 'momentum'?
)dl", {}},
{"OptUnknownArg2", R"dl(optimizer = sgd(learning_rate=0.1, foo=0.9))dl",
R"dl(test.dl:5:38: error: sgd has no argument 'foo'
  optimizer = sgd(learning_rate=0.1, foo=0.9)
                                     ^~~ it takes learning_rate, momentum, dampening, nesterov, weight_decay
)dl", {}},
{"OptParams", R"dl(optimizer = sgd(params=1, learning_rate=0.1, foo=0.9))dl",
R"dl(test.dl:5:19: error: sgd has no argument 'params'
  optimizer = sgd(params=1, learning_rate=0.1, foo=0.9)
                  ^~~~~~ what is trained is the section's models: leave it out
)dl", {}},
{"LossPerplexity", R"dl(loss = perplexity(output, label))dl",
R"dl(test.dl:5:10: error: the loss must be a sum of multiples of means over the batch, so that partial batches and ranks add up
  loss = perplexity(output, label)
         ^~~~~~~~~~ softmax_cross_entropy(...) is its logarithm
)dl", {}},
{"Plateau", R"dl(schedule = plateau(metric="val_loss"))dl",
R"dl(test.dl:5:29: error: evaluations yield no 'val_loss'
  schedule = plateau(metric="val_loss")
                            ^~~~~~~~~~ they yield 'loss'
)dl", {}},
{"OptimizerBare", R"dl(optimizer = sgd)dl",
R"dl(test.dl:5:3: error: 'optimizer' is such as sgd(learning_rate=0.01), found the function sgd
  optimizer = sgd
  ^~~~~~~~~ call it: sgd(learning_rate, *, momentum=0, dampening=0, ...)
)dl", {}},
{"OptimizerString", R"dl(optimizer = "sgd")dl",
R"dl(test.dl:5:3: error: 'optimizer' is such as sgd(learning_rate=0.01), found the string "sgd"
  optimizer = "sgd"
  ^~~~~~~~~ without '"': sgd(learning_rate, *, momentum=0, dampening=0, ...)
)dl", {}},
{"OptimizerBetas", R"dl(optimizer = adam(betas=(0.9, 1)))dl",
R"dl(test.dl:5:26: error: 'betas' is 2 numbers of 0 or more and below 1, found 1
  optimizer = adam(betas=(0.9, 1))
                         ^~~~~~~~
)dl", {}},
{"OptimizerOneBeta", R"dl(optimizer = adamw(betas=0.9))dl",
R"dl(test.dl:5:27: error: 'betas' expects a sequence, found the float 0.9
  optimizer = adamw(betas=0.9)
                          ^~~ (0.9, 0.999)
)dl", {}},
{"OptimizerLarsNesterov", R"dl(optimizer = lars(0.1, momentum=0, nesterov=true))dl",
R"dl(test.dl:5:46: error: nesterov needs a momentum
  optimizer = lars(0.1, momentum=0, nesterov=true)
                                             ^~~~
)dl", {}},
{"OptimizerMuonMomentum", R"dl(optimizer = muon(momentum=1))dl",
R"dl(test.dl:5:29: error: 'momentum' is 0 or more and below 1, found 1
  optimizer = muon(momentum=1)
                            ^
)dl", {}},
{"OptimizerRho", R"dl(optimizer = adadelta(rho=1.5))dl",
R"dl(test.dl:5:28: error: 'rho' is 0 or more and below 1, found 1.5
  optimizer = adadelta(rho=1.5)
                           ^~~
)dl", {}},
{"ScheduleString", R"dl(schedule = "cosine")dl",
R"dl(test.dl:5:3: error: 'schedule' is such as cosine(epochs=10), or a sequence of them, found the string "cosine"
  schedule = "cosine"
  ^~~~~~~~ without '"': cosine(epochs=10)
)dl", {}},
{"ScheduleBare", R"dl(schedule = cosine)dl",
R"dl(test.dl:5:3: error: 'schedule' is such as cosine(epochs=10), or a sequence of them, found the function cosine
  schedule = cosine
  ^~~~~~~~ call it: cosine(epochs=10)
)dl", {}},
{"ScheduleNumber", R"dl(schedule = cosine(10))dl",
R"dl(test.dl:5:21: error: cosine takes its arguments by name
  schedule = cosine(10)
                    ^~ epochs=10
)dl", {}},
{"ScheduleT_max", R"dl(schedule = cosine(T_max=10))dl",
R"dl(test.dl:5:21: error: cosine has no argument 'T_max'
  schedule = cosine(T_max=10)
                    ^~~~~ did you mean 'epochs'?
)dl", {}},
{"ScheduleStep_size", R"dl(schedule = step(step_size=30, gamma=0.1))dl",
R"dl(test.dl:5:19: error: step has no argument 'step_size'
  schedule = step(step_size=30, gamma=0.1)
                  ^~~~~~~~~ did you mean 'epochs'?
)dl", {}},
{"ClipNumber", R"dl(clip = 1.0)dl",
R"dl(test.dl:5:3: error: 'clip' is such as global_norm(1.0), found the float 1.0
  clip = 1.0
  ^~~~ global_norm(1.0)
)dl", {}},
{"LabelNoType", R"dl(label)dl",
R"dl(test.dl:5:3: error: expected a statement, found 'label'
  label
  ^~~~~ a value is bound by 'label = value', data is declared by 'label: i32[N]'
)dl", {}},
{"LabelEq", R"dl(label = i32[N])dl",
R"dl(test.dl:5:11: error: only sequences and tensors have elements, this is the dtype i32
  label = i32[N]
          ^~~~~~ a type stands behind ':', as in label: i32[N]
)dl", {}},
{"LabelU8", R"dl(label: u8[N])dl",
R"dl(test.dl:6:40: error: 'label' expects an i32 or i64 tensor, found the tensor u8[4]
  loss = softmax_cross_entropy(output, label)
                                       ^~~~~ cast it with i32(...)
)dl", {}},
{"LossSwapped", R"dl(loss = softmax_cross_entropy(label, output))dl",
R"dl(test.dl:5:10: error: softmax_cross_entropy expects a floating-point tensor, found i32[4]
  loss = softmax_cross_entropy(label, output)
         ^~~~~~~~~~~~~~~~~~~~~ softmax_cross_entropy(logits, label, *, axis=1, label_smoothing=0, ...)
test.dl:6:3: note: 'label' is declared here
)dl", {}},
{"LossString", R"dl(loss = "categorical_crossentropy")dl",
R"dl(test.dl:5:10: error: the loss must be a scalar f32[] or f64[], found the string "categorical_crossentropy"
  loss = "categorical_crossentropy"
         ^~~~~~~~~~~~~~~~~~~~~~~~~~ without '"': softmax_cross_entropy(logits, label, *, axis=1, label_smoothing=0, ...)
)dl", {}},
{"LossBare", R"dl(loss = softmax_cross_entropy)dl",
R"dl(test.dl:5:10: error: the loss must be a scalar f32[] or f64[], found the function softmax_cross_entropy
  loss = softmax_cross_entropy
         ^~~~~~~~~~~~~~~~~~~~~ call it: softmax_cross_entropy(logits, label, *, axis=1, label_smoothing=0, ...)
)dl", {}},
{"LossSqrt", R"dl(loss = sqrt(softmax_cross_entropy(output, label)))dl",
R"dl(test.dl:5:10: error: the loss must be a sum of multiples of means over the batch, so that partial batches and ranks add up
  loss = sqrt(softmax_cross_entropy(output, label))
         ^~~~ compute it per sample, with reduction="none", and take the mean last
)dl", {}},
{"MetricBare", R"dl(metric accuracy)dl",
R"dl(test.dl:6:3: error: expected '=', found 'label'
  label: i32[N]
  ^~~~~ metric accuracy = accuracy(output, label)
)dl", {}},
{"MetricsList", R"dl(metrics = ["accuracy"])dl",
R"dl(test.dl:5:3: error: 'metrics' is bound and never used
  metrics = ["accuracy"]
  ^~~~~~~ 'metric accuracy = accuracy(output, label)' makes a number to watch
)dl", {}},
{"MetricUnknown", R"dl(metric f1 = f1_score(output, label))dl",
R"dl(test.dl:5:15: error: unknown name 'f1_score'
  metric f1 = f1_score(output, label)
              ^~~~~~~~ there is accuracy, top_k_accuracy, binary_accuracy, auroc, perplexity, confusion
)dl", {}},
{"MetricOfATable", R"dl(metric half = 0.5 * confusion(output, label))dl",
R"dl(test.dl:5:17: error: the metric 'half' must be a scalar f32[] or f64[], found f32[10, 10]
  metric half = 0.5 * confusion(output, label)
                ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ mean(...)
)dl", {}},
{"AreaBins", R"dl(metric area = auroc(output, output, bins=1))dl",
R"dl(test.dl:5:44: error: 'bins' is from 2 to 1048576, found 1
  metric area = auroc(output, output, bins=1)
                                           ^
)dl", {}},
{"GroupWd", R"dl(parameters "**" { weight_decay = 0 })dl",
R"dl(test.dl:5:21: error: a group has no setting 'weight_decay'
  parameters "**" { weight_decay = 0 }
                    ^~~~~~~~~~~~ decay_mult is a factor on the optimizer's weight decay
)dl", {}},
{"Device", R"dl(device = "cuda")dl",
R"dl(test.dl:5:3: error: 'device' is bound and never used
  device = "cuda"
  ^~~~~~ where it runs is said to dlc: --target
)dl", {}},
{"LrScheduleFn", R"dl(optimizer = sgd(learning_rate=cosine(epochs=10)))dl",
R"dl(test.dl:5:33: error: 'learning_rate' expects a number, found the schedule cosine
  optimizer = sgd(learning_rate=cosine(epochs=10))
                                ^~~~~~~~~~~~~~~~~ a setting of its own: schedule = cosine(...)
)dl", {}},
{"LrString", R"dl(optimizer = sgd(learning_rate="0.1"))dl",
R"dl(test.dl:5:33: error: 'learning_rate' expects a number, found the string "0.1"
  optimizer = sgd(learning_rate="0.1")
                                ^~~~~ without '"': 0.1
)dl", {}},
{"CallOwnModel", R"dl(y = M(image)
loss = softmax_cross_entropy(y, label))dl",
R"dl(test.dl:5:9: error: unknown name 'image'
  y = M(image)
        ^~~~~ 'image: f32[N, 784]' declares what the data delivers
)dl", {}},
{"FieldThenDefault", R"dl(label: i32[N] = 0)dl",
R"dl(test.dl:5:17: error: expected a statement, found '='
  label: i32[N] = 0
                ^ a field has no value: the data delivers it
)dl", {}},
{"FieldList", R"dl(label: [N])dl",
R"dl(test.dl:5:10: error: expected a type such as f32[N, 10], found '['
  label: [N]
         ^ a dtype stands before the dimensions: f32[N, 10]
)dl", {}},
{"FieldsComma", R"dl(label, weight: i32[N])dl",
R"dl(test.dl:5:16: error: expected '=', found ':'
  label, weight: i32[N]
               ^ each field stands by itself: 'name: i32[N]'
)dl", {}},
{"OptimizerMomentum", R"dl(optimizer = Momentum(0.1, 0.9))dl",
R"dl(test.dl:5:15: error: unknown name 'Momentum'
  optimizer = Momentum(0.1, 0.9)
              ^~~~~~~~ there is sgd, lars, adam, adamw, lamb, muon, rmsprop, adagrad, adadelta
)dl", {}},
{"ScheduleSteplr", R"dl(schedule = StepLR(30))dl",
R"dl(test.dl:5:14: error: unknown name 'StepLR'
  schedule = StepLR(30)
             ^~~~~~ did you mean 'step'?
)dl", {}},
{"ScheduleUnknown", R"dl(schedule = inverse_sqrt(steps=10))dl",
R"dl(test.dl:5:14: error: unknown name 'inverse_sqrt'
  schedule = inverse_sqrt(steps=10)
             ^~~~~~~~~~~~ there is constant, step, multistep, exponential, polynomial, cosine, cosine_restarts, one_cycle, cyclic, warmup, plateau
)dl", {}},
{"ClipBare", R"dl(clip = global_norm)dl",
R"dl(test.dl:5:3: error: 'clip' is such as global_norm(1.0), found the function global_norm
  clip = global_norm
  ^~~~ call it: global_norm(limit)
)dl", {}},
{"LossUnknown", R"dl(loss = focal_loss(output, label))dl",
R"dl(test.dl:5:10: error: unknown name 'focal_loss'
  loss = focal_loss(output, label)
         ^~~~~~~~~~ there is softmax_cross_entropy, sigmoid_cross_entropy, mean_squared_error, mean_absolute_error, huber, kl_divergence, hinge, cosine_embedding
)dl", {}},
{"LossKw", R"dl(loss = softmax_cross_entropy(y_pred=output, y_true=label))dl",
R"dl(test.dl:5:32: error: softmax_cross_entropy has no argument 'y_pred'
  loss = softmax_cross_entropy(y_pred=output, y_true=label)
                               ^~~~~~ did you mean 'logits'?
)dl", {}},
{"LossFromLogits", R"dl(loss = softmax_cross_entropy(output, label, from_logits=true))dl",
R"dl(test.dl:5:47: error: softmax_cross_entropy has no argument 'from_logits'
  loss = softmax_cross_entropy(output, label, from_logits=true)
                                              ^~~~~~~~~~~ it takes logits always: leave it out
)dl", {}},
{"MetricCall", R"dl(metric(accuracy(output, label)))dl",
R"dl(test.dl:5:9: error: expected a name, found '('
  metric(accuracy(output, label))
        ^ metric accuracy = accuracy(output, label)
)dl", {}},
{"MetricTop5", R"dl(metric top5 = top5_accuracy(output, label))dl",
R"dl(test.dl:5:17: error: unknown name 'top5_accuracy'
  metric top5 = top5_accuracy(output, label)
                ^~~~~~~~~~~~~ did you mean 'top_k_accuracy'?
)dl", {}},
{"FrozenBare", R"dl(parameters "linear1.*" { frozen })dl",
R"dl(test.dl:5:35: error: expected '=', found '}'
  parameters "linear1.*" { frozen }
                                  ^ frozen = value
)dl", {}},
{"GroupColon", R"dl(parameters "**": { frozen = true })dl",
R"dl(test.dl:5:18: error: expected '{', found ':'
  parameters "**": { frozen = true }
                 ^ a body stands in '{ }'
)dl", {}},
{"GroupInitString", R"dl(parameters "**" { init = "xavier" })dl",
R"dl(test.dl:5:28: error: an initialiser is a number or such as normal(0, 0.02), found the string "xavier"
  parameters "**" { init = "xavier" }
                           ^~~~~~~~ without '"': xavier_uniform(gain=1)
)dl", {}},
{"MultistepOfANumber", R"dl(schedule = multistep(epochs=30))dl",
R"dl(test.dl:5:31: error: 'epochs' expects a sequence or none, found the integer 30
  schedule = multistep(epochs=30)
                              ^~ [30]
)dl", {}},
};
// clang-format on

TEST(Mistakes, InATrainSection) { checkErrors(settings, inTrain); }
