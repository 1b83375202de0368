// Errors of schedules with their exact text.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend::test;

// clang-format off
static const ErrorCase cases[] = {
{"PlateauOfAnUnknownMetric", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  metric accuracy = accuracy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  schedule = plateau("acuracy", mode="max")
}
)dl",
R"dl(test.dl:10:22: error: evaluations yield no 'acuracy'
  schedule = plateau("acuracy", mode="max")
                     ^~~~~~~~~ did you mean 'accuracy'?
)dl", {}},
{"PlateauOfAnUnknownMode", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  metric accuracy = accuracy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  schedule = plateau(mode="lower")
}
)dl",
R"dl(test.dl:10:27: error: 'mode' is "min" or "max", found "lower"
  schedule = plateau(mode="lower")
                          ^~~~~~~
)dl", {}},
{"PlateauWithoutPatience", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  metric accuracy = accuracy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  schedule = plateau(patience=-1)
}
)dl",
R"dl(test.dl:10:31: error: 'patience' is 0 or more, found -1
  schedule = plateau(patience=-1)
                              ^~
)dl", {}},
{"ScheduleIsANumber", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  schedule = 0.5
}
)dl",
R"dl(test.dl:9:3: error: 'schedule' is such as cosine(epochs=10), or a sequence of them, found the float 0.5
  schedule = 0.5
  ^~~~~~~~
)dl", {}},
{"ScheduleIsAnOptimizer", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  schedule = sgd(learning_rate=0.1)
}
)dl",
R"dl(test.dl:9:3: error: 'schedule' is such as cosine(epochs=10), or a sequence of them, found the optimizer sgd
  schedule = sgd(learning_rate=0.1)
  ^~~~~~~~
)dl", {}},
{"ScheduleIsEmpty", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  schedule = []
}
)dl",
R"dl(test.dl:9:3: error: 'schedule' is such as cosine(epochs=10), or a sequence of them, found a sequence of 0
  schedule = []
  ^~~~~~~~
)dl", {}},
{"ScheduleWithoutLength", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  schedule = cosine()
}
)dl",
R"dl(test.dl:9:14: error: neither 'epochs' nor 'steps' is given
  schedule = cosine()
             ^~~~~~ cosine(epochs=10)
)dl", {}},
{"ScheduleWithBothUnits", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  schedule = cosine(epochs=3, steps=100)
}
)dl",
R"dl(test.dl:9:37: error: 'epochs' and 'steps' are both given
  schedule = cosine(epochs=3, steps=100)
                                    ^~~ leave one out
)dl", {}},
{"ScheduleOfNoLength", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  schedule = warmup(steps=0)
}
)dl",
R"dl(test.dl:9:27: error: 'steps' is above 0, found 0
  schedule = warmup(steps=0)
                          ^
)dl", {}},
{"ScheduleWithNegativeEnd", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  schedule = cosine(epochs=3, end=-1)
}
)dl",
R"dl(test.dl:9:35: error: 'end' is 0 or more, found -1
  schedule = cosine(epochs=3, end=-1)
                                  ^~
)dl", {}},
{"ScheduleWithShrinkingCycles", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  schedule = cosine_restarts(epochs=3, multiply=0.5)
}
)dl",
R"dl(test.dl:9:49: error: 'multiply' is 1 or more, found 0.5
  schedule = cosine_restarts(epochs=3, multiply=0.5)
                                                ^~~
)dl", {}},
{"ScheduleFallsBackwards", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  schedule = multistep(epochs=[30, 20])
}
)dl",
R"dl(test.dl:9:31: error: 'epochs' grows from above 0, found 20 behind 30
  schedule = multistep(epochs=[30, 20])
                              ^~~~~~~~
)dl", {}},
{"ScheduleBehindAnEndlessPart", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  schedule = [step(epochs=3), cosine(epochs=3)]
}
)dl",
R"dl(test.dl:9:15: error: 'step' has no end, so no part can follow it
  schedule = [step(epochs=3), cosine(epochs=3)]
              ^~~~ put it last
)dl", {}},
{"ScheduleBehindAnEndlessConstant", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  schedule = [constant(), cosine(epochs=3)]
}
)dl",
R"dl(test.dl:9:15: error: 'constant' has no end, so no part can follow it
  schedule = [constant(), cosine(epochs=3)]
              ^~~~~~~~ constant(epochs=6)
)dl", {}},
};
// clang-format on

TEST(ScheduleErrors, SayWhatIsWrong) { checkErrors(cases); }
