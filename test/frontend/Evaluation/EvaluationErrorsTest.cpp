// Errors of names, arguments, types, shapes and limits with their exact text. The text stands in
// the body of the model of `inModel`.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend::test;

// clang-format off
static const ErrorCase cases[] = {
{"UnknownName", "y = x |> batchnorm",
R"dl(test.dl:2:12: error: unknown name 'batchnorm'
  y = x |> batchnorm
           ^~~~~~~~~ did you mean 'batch_norm'?
)dl", {}},
{"UnknownArgument", "y = x |> conv2d(8, 3, pading=1)",
R"dl(test.dl:2:25: error: conv2d has no argument 'pading'
  y = x |> conv2d(8, 3, pading=1)
                        ^~~~~~ did you mean 'padding'?
)dl", {}},
{"MissingArgument", "y = conv2d(x, 64, stride=2)",
R"dl(test.dl:2:7: error: conv2d needs 'kernel'
  y = conv2d(x, 64, stride=2)
      ^~~~~~ conv2d(x, channels, kernel, *, stride=1, padding=0, ...)
)dl", {}},
{"TooManyArguments", "y = relu(x, 2, 3)",
R"dl(test.dl:2:15: error: relu takes 1 argument at most
  y = relu(x, 2, 3)
              ^ relu(x)
)dl", {}},
{"ArgumentOfThePipeToo", "y = x |> relu(x)",
R"dl(test.dl:2:17: error: relu takes 1 argument at most
  y = x |> relu(x)
                ^ relu(x), whose first one is what |> hands over
)dl", {}},
{"ArgumentGivenTwice", "y = x |> linear(8, features=9)",
R"dl(test.dl:2:22: error: 'features' of linear is given twice
  y = x |> linear(8, features=9)
                     ^~~~~~~~
)dl", {}},
{"GradientOfATensor", "y = gradient(relu(x), x)",
R"dl(test.dl:2:16: error: gradient expects a scalar y, found f32[4, 3, 8, 8]
  y = gradient(relu(x), x)
               ^~~~~~~ the gradient of its sum: gradient(sum(y), x)
)dl", {}},
{"GradientByIntegers", "y = gradient(sum(x), i32(x))",
R"dl(test.dl:2:24: error: 'x' expects a floating-point tensor, found i32[4, 3, 8, 8]
  y = gradient(sum(x), i32(x))
                       ^~~~~~ f32(i32(x))
)dl", {}},
{"GradientOfANumber", "y = gradient(3, x)",
R"dl(test.dl:2:16: error: 'y' expects a floating-point tensor, found the integer 3
  y = gradient(3, x)
               ^ gradient(y, x)
)dl", {}},
{"WrongKind", "y = x |> conv2d(0.75 * 32, 3)",
R"dl(test.dl:2:19: error: 'channels' expects an integer, found the float 24.0
  y = x |> conv2d(0.75 * 32, 3)
                  ^~~~~~~~~ int(0.75 * 32)
)dl", {}},
{"WrongKindOfString", R"dl(y = x |> conv2d("8", 3))dl",
R"dl(test.dl:2:19: error: 'channels' expects an integer, found the string "8"
  y = x |> conv2d("8", 3)
                  ^~~ without '"': 8
)dl", {}},
{"TensorWhereANumberIsExpected", "y = x |> conv2d(x, 3)",
R"dl(test.dl:2:19: error: 'channels' expects an integer, found the tensor f32[4, 3, 8, 8]
  y = x |> conv2d(x, 3)
                  ^
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"NotATensor", "y = relu(3)",
R"dl(test.dl:2:12: error: 'x' expects a floating-point tensor, found the integer 3
  y = relu(3)
           ^
)dl", {}},
{"IntegerTensor", "y = i32(x) |> conv2d(8, 3)",
R"dl(test.dl:2:17: error: conv2d expects a floating-point tensor, found i32[4, 3, 8, 8]
  y = i32(x) |> conv2d(8, 3)
                ^~~~~~ f32(i32(x))
)dl", {}},
{"NotCallable", R"dl(y = 3
z = y(x))dl",
R"dl(test.dl:3:7: error: this cannot be called: it is the integer 3
  z = y(x)
      ^
)dl", {}},
{"NotCallableStage", R"dl(y = 3
z = x |> y)dl",
R"dl(test.dl:3:12: error: 'y' cannot be called: it is the integer 3
  z = x |> y
           ^
)dl", {}},
{"InexactDivision", "y = x |> linear(7 / 2)",
R"dl(test.dl:2:21: error: 7 / 2 is not an integer
  y = x |> linear(7 / 2)
                    ^ div(7, 2) rounds down
)dl", {}},
{"InexactDivisionInLoop", R"dl(for width in [8, 7] {
  y = x |> linear(width / 2)
})dl",
R"dl(test.dl:3:27: error: 7 / 2 is not an integer
    y = x |> linear(width / 2)
                          ^ div(width, 2) rounds down
test.dl:2:7: note: width = 7, in turn 2 of this loop
)dl", {}},
{"DivisionByZero", "y = 7 % 0",
R"dl(test.dl:2:9: error: division by zero
  y = 7 % 0
        ^
)dl", {}},
{"IntegerOverflow", "y = 9223372036854775807 + 1",
R"dl(test.dl:2:27: error: integer overflow: 9223372036854775807 + 1
  y = 9223372036854775807 + 1
                          ^
)dl", {}},
{"PowerOverflow", "y = 10 ** 19",
R"dl(test.dl:2:10: error: integer overflow: 10 ** 19
  y = 10 ** 19
         ^~
)dl", {}},
{"NotOnATensor", "y = not (x > 0)",
R"dl(test.dl:2:12: error: 'not' expects a bool, found the tensor bool[4, 3, 8, 8]
  y = not (x > 0)
           ^~~~~ logical_not(x) works on tensors
)dl", {}},
{"AndOnANumber", "y = true and 3",
R"dl(test.dl:2:16: error: 'and' expects a bool, found the integer 3
  y = true and 3
               ^
)dl", {}},
{"ConditionIsATensor", "if mean(x) > 0 { x = relu(x) }",
R"dl(test.dl:2:6: error: a condition must be known at compile time, this is a tensor bool[]
  if mean(x) > 0 { x = relu(x) }
     ^~~~~~~~~~~ select(condition, a, b) chooses between tensors
)dl", {}},
{"ConditionIsANumber", "if 3 { x = relu(x) }",
R"dl(test.dl:2:6: error: a condition must be a bool, found the integer 3
  if 3 { x = relu(x) }
     ^ compare it: 3 != 0
)dl", {}},
{"BoundOnlyInsideIf", R"dl(if 1 < 2 { aux = x }
y = aux)dl",
R"dl(test.dl:3:7: error: 'aux' is bound only inside the 'if'
  y = aux
      ^~~ bind it before the 'if'
test.dl:2:14: note: bound here
)dl", {}},
{"BoundOnlyInsideFor", R"dl(for i in range(2) { aux = x }
y = aux)dl",
R"dl(test.dl:3:7: error: 'aux' is bound only inside the 'for'
  y = aux
      ^~~ bind it before the 'for'
test.dl:2:23: note: bound here
)dl", {}},
{"ShapesDoNotFit", R"dl(y = conv2d(x, 8, 3)
z = x + y)dl",
R"dl(test.dl:3:9: error: shapes f32[4, 3, 8, 8] and f32[4, 8, 6, 6] do not fit: axis 1 is 3 and 8
  z = x + y
        ^
test.dl:2:7: note: 8 comes from this conv2d
)dl", {}},
{"ShapesOfDifferentRank", R"dl(y = zeros((5, 7))
z = x + y)dl",
R"dl(test.dl:3:9: error: shapes f32[4, 3, 8, 8] and f32[5, 7] do not fit: axis -2 is 8 and 5
  z = x + y
        ^
test.dl:2:7: note: 5 comes from this zeros
)dl", {}},
{"DifferentDtypes", "y = x + i32(x)",
R"dl(test.dl:2:9: error: f32[4, 3, 8, 8] and i32[4, 3, 8, 8] have different dtypes
  y = x + i32(x)
        ^ cast one of them, as in f32(x)
)dl", {}},
{"FloatBesideInteger", "y = i32(x) * 0.5",
R"dl(test.dl:2:14: error: the float 0.5 stands beside the integer tensor i32[4, 3, 8, 8]
  y = i32(x) * 0.5
             ^ cast the tensor with f32(...)
)dl", {}},
{"FloatBeyondF16", "y = select(x > 0, f16(x), -1e9)",
R"dl(test.dl:2:7: error: the float -1e+09 does not fit in f16
  y = select(x > 0, f16(x), -1e9)
      ^~~~~~ f16 ends at 65504: compute with f32(...)
)dl", {}},
{"FloatBeyondF32", "y = x * 1e39",
R"dl(test.dl:2:9: error: the float 1e+39 does not fit in f32
  y = x * 1e39
        ^
)dl", {}},
{"DivideIntegers", "y = i32(x) / 2",
R"dl(test.dl:2:14: error: '/' does not work on i32[4, 3, 8, 8]
  y = i32(x) / 2
             ^ cast it with f32(...)
)dl", {}},
{"ArithmeticOnAString", R"dl(y = x + "a")dl",
R"dl(test.dl:2:11: error: '+' expects tensors or numbers, found the string "a"
  y = x + "a"
          ^~~
)dl", {}},
{"KernelTooLarge", "y = x |> conv2d(8, 9)",
R"dl(test.dl:2:22: error: kernel 9x9 is larger than the padded input 8x8
  y = x |> conv2d(8, 9)
                     ^
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"KernelTooLargeAfterALayer", "y = x |> max_pool(4) |> conv2d(8, 3)",
R"dl(test.dl:2:37: error: kernel 3x3 is larger than the padded input 2x2
  y = x |> max_pool(4) |> conv2d(8, 3)
                                    ^
test.dl:2:12: note: 2x2 comes from this max_pool
)dl", {}},
{"KernelOfThreeAxes", "y = x |> conv2d(8, (3, 3, 3))",
R"dl(test.dl:2:22: error: 'kernel' of conv2d has 2 numbers, one an axis, found 3
  y = x |> conv2d(8, (3, 3, 3))
                     ^~~~~~~~~
)dl", {}},
{"KernelZero", "y = x |> conv2d(8, 0)",
R"dl(test.dl:2:22: error: 'kernel' is 1 or more, found 0
  y = x |> conv2d(8, 0)
                     ^
)dl", {}},
{"StrideZero", "y = x |> conv2d(8, 3, stride=0)",
R"dl(test.dl:2:32: error: 'stride' is 1 or more, found 0
  y = x |> conv2d(8, 3, stride=0)
                               ^
)dl", {}},
{"PaddingOfThreeAxes", "y = x |> conv2d(8, 3, padding=(1, 1, 1))",
R"dl(test.dl:2:33: error: 'padding' is an integer of 0 or more, one for each of the 2 axes, (before, after) for each, or "same", found a sequence of 3
  y = x |> conv2d(8, 3, padding=(1, 1, 1))
                                ^~~~~~~~~
)dl", {}},
{"PaddingSameWithStride", R"dl(y = x |> conv2d(8, 3, stride=2, padding="same"))dl",
R"dl(test.dl:2:43: error: padding "same" needs stride 1, found 2
  y = x |> conv2d(8, 3, stride=2, padding="same")
                                          ^~~~~~
)dl", {}},
{"PoolPadding", "y = x |> max_pool(2, padding=2)",
R"dl(test.dl:2:32: error: the padding of max_pool is smaller than its kernel
  y = x |> max_pool(2, padding=2)
                               ^
)dl", {}},
{"PoolWindowOfPadding", "y = x |> max_pool(2, stride=1, padding=5, dilation=10)",
R"dl(test.dl:2:21: error: window 3 of axis 2 of max_pool has no element of the input, only padding
  y = x |> max_pool(2, stride=1, padding=5, dilation=10)
                    ^ a smaller dilation or padding
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"GroupsDoNotDivide", "y = x |> conv2d(8, 3, groups=2)",
R"dl(test.dl:2:32: error: 2 groups do not divide 3 input and 8 output channels
  y = x |> conv2d(8, 3, groups=2)
                               ^
)dl", {}},
{"WrongRank", "y = x |> flatten |> conv2d(8, 3)",
R"dl(test.dl:2:12: error: conv2d expects a tensor of rank 4, found f32[4, 192]
  y = x |> flatten |> conv2d(8, 3)
           ^~~~~~~ [N, channels, height, width]: reshape(x, ...) makes it
)dl", {}},
{"ShuffleOfThreeChannels", "y = x |> pixel_shuffle(2)",
R"dl(test.dl:2:26: error: 4 pixels a square do not divide the 3 channels of f32[4, 3, 8, 8]
  y = x |> pixel_shuffle(2)
                         ^
)dl", {}},
{"UpsampleMode", "y = x |> upsample(2, mode=\"cubic\")",
R"dl(test.dl:2:29: error: 'mode' is "nearest" or "bilinear", found "cubic"
  y = x |> upsample(2, mode="cubic")
                            ^~~~~~~
)dl", {}},
{"UpsampleCorners", "y = x |> upsample(2, align_corners=true)",
R"dl(test.dl:2:38: error: 'align_corners' is of mode="bilinear"
  y = x |> upsample(2, align_corners=true)
                                     ^~~~
)dl", {}},
{"UpsampleByNothing", "y = x |> upsample(0)",
R"dl(test.dl:2:21: error: 'factor' is 1 or more, found 0
  y = x |> upsample(0)
                    ^
)dl", {}},
{"SampleGrid", "y = grid_sample(x, x)",
R"dl(test.dl:2:22: error: grid_sample expects a grid [N, height, width, 2] of x's N and type, found f32[4, 3, 8, 8] for f32[4, 3, 8, 8]
  y = grid_sample(x, x)
                     ^ (along the width, along the height) of each place, from -1 to 1
)dl", {}},
{"SampleMode", "y = grid_sample(x, reshape(x, (N, 12, 8, 2)), mode=\"bicubic\")",
R"dl(test.dl:2:54: error: 'mode' is "bilinear" or "nearest", found "bicubic"
  y = grid_sample(x, reshape(x, (N, 12, 8, 2)), mode="bicubic")
                                                     ^~~~~~~~~
)dl", {}},
{"SamplePadding", "y = grid_sample(x, reshape(x, (N, 12, 8, 2)), padding=\"reflect\")",
R"dl(test.dl:2:57: error: 'padding' is "zeros", "border" or "reflection", found "reflect"
  y = grid_sample(x, reshape(x, (N, 12, 8, 2)), padding="reflect")
                                                        ^~~~~~~~~
)dl", {}},
{"ResponseOfAMatrix", "y = x |> flatten |> local_response_norm(5)",
R"dl(test.dl:2:12: error: local_response_norm expects a tensor [N, C, spatial...] of rank 3 to 5, found f32[4, 192]
  y = x |> flatten |> local_response_norm(5)
           ^~~~~~~
)dl", {}},
{"ResponseOfNoChannel", "y = x |> local_response_norm(0)",
R"dl(test.dl:2:32: error: 'size' is 1 or more, found 0
  y = x |> local_response_norm(0)
                               ^
)dl", {}},
{"GroupsOfANorm", "y = x |> group_norm(2)",
R"dl(test.dl:2:23: error: 2 groups do not divide the 3 channels of f32[4, 3, 8, 8]
  y = x |> group_norm(2)
                      ^
)dl", {}},
{"NormOverTheBatch", "y = x |> layer_norm(axes=0)",
R"dl(test.dl:2:7: error: layer_norm cannot work across the batch, axis 0 of f32[4, 3, 8, 8]
  y = x |> layer_norm(axes=0)
      ^ each sample is computed by itself: take another axis
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"AttentionOfOtherHeads", "y = attention(x, x[:, :2], x)",
R"dl(test.dl:2:20: error: attention expects q, k and v of one type, batch and number of heads, found f32[4, 3, 8, 8] and f32[4, 2, 8, 8]
  y = attention(x, x[:, :2], x)
                   ^~~~~~~~
)dl", {}},
{"AttentionOfOtherRows", "y = attention(x, x, x[:, :, :5])",
R"dl(test.dl:2:23: error: k and v have as many rows, 1 or more, found f32[4, 3, 8, 8] and f32[4, 3, 5, 8]
  y = attention(x, x, x[:, :, :5])
                      ^~~~~~~~~~~
)dl", {}},
{"AttentionOfOtherDepths", "y = attention(x, x[:, :, :, :5], x)",
R"dl(test.dl:2:20: error: q and k have equal last axes, found f32[4, 3, 8, 8] and f32[4, 3, 8, 5]
  y = attention(x, x[:, :, :, :5], x)
                   ^~~~~~~~~~~~~~
)dl", {}},
{"AttentionRank", "y = attention(x, x, flatten(x))",
R"dl(test.dl:2:23: error: attention expects [N, heads, T, D], found f32[4, 192]
  y = attention(x, x, flatten(x))
                      ^~~~~~~~~~
)dl", {}},
{"AttentionMask", "y = attention(x, x, x, mask=x[:, :, :5])",
R"dl(test.dl:2:31: error: f32[4, 3, 5, 8] cannot be repeated to the scores 4x3x8x8
  y = attention(x, x, x, mask=x[:, :, :5])
                              ^~~~~~~~~~~
)dl", {}},
{"AttentionMaskType", "y = attention(x, x, x, mask=i32(x))",
R"dl(test.dl:2:31: error: 'mask' is a bool tensor, true where a score is seen, or one of f32 that is added, found i32[4, 3, 8, 8]
  y = attention(x, x, x, mask=i32(x))
                              ^~~~~~
)dl", {}},
{"AttentionDropout", "y = attention(x, x, x, dropout=1)",
R"dl(test.dl:2:34: error: 'dropout' is from 0 to below 1, found 1
  y = attention(x, x, x, dropout=1)
                                 ^
)dl", {}},
{"NormOfNothing", "y = zeros((0, 3)) |> layer_norm",
R"dl(test.dl:2:7: error: layer_norm needs an axis and elements, found f32[0, 3]
  y = zeros((0, 3)) |> layer_norm
      ^~~~~~~~~~~~~
)dl", {}},
{"NormOfOnePixel", "y = x |> mean(axes=(2, 3)) |> instance_norm",
R"dl(test.dl:2:12: error: instance_norm needs 2 or more pixels a channel, found f32[4, 3]
  y = x |> mean(axes=(2, 3)) |> instance_norm
           ^~~~~~~~~~~~~~~~~
)dl", {}},
{"NormOfAVector", "y = x |> mean(axes=(1, 2, 3)) |> group_norm(1)",
R"dl(test.dl:2:12: error: group_norm expects a tensor of rank 2 or more with elements, found f32[4]
  y = x |> mean(axes=(1, 2, 3)) |> group_norm(1)
           ^~~~~~~~~~~~~~~~~~~~
)dl", {}},
{"WeightOfAnotherShape", "y = x |> linear(8, weight=zeros((3, 3)))",
R"dl(test.dl:2:29: error: linear needs a weight f32[8, 8], found f32[3, 3]
  y = x |> linear(8, weight=zeros((3, 3)))
                            ^~~~~~~~~~~~~
test.dl:2:29: note: it comes from this zeros
)dl", {}},
{"AcrossTheBatch", "y = x |> transpose((1, 2, 3, 0)) |> linear(8)",
R"dl(test.dl:2:12: error: linear cannot work across the batch, axis 3 of f32[3, 8, 8, 4]
  y = x |> transpose((1, 2, 3, 0)) |> linear(8)
           ^~~~~~~~~~~~~~~~~~~~~~~ the batch stands first: f32[N, ...]
test.dl:2:12: note: the batch comes from this transpose
)dl", {}},
{"ReshapeCount", "y = x |> reshape((4, 5))",
R"dl(test.dl:2:20: error: f32[4, 3, 8, 8] has 768 elements, the shape 4x5 has 20
  y = x |> reshape((4, 5))
                   ^~~~~~ 192 elements a sample: 3x8x8; one size may be -1
)dl", {}},
{"ReshapeWildcard", "y = x |> reshape((N, -1, 7))",
R"dl(test.dl:2:20: error: f32[4, 3, 8, 8] has 768 elements, the other sizes do not divide it
  y = x |> reshape((N, -1, 7))
                   ^~~~~~~~~~ 192 elements a sample: 3x8x8
)dl", {}},
{"ReshapeTwoWildcards", "y = x |> reshape((-1, -1))",
R"dl(test.dl:2:20: error: more than one size is -1
  y = x |> reshape((-1, -1))
                   ^~~~~~~~
)dl", {}},
{"ReshapeSplitsTheBatch", "y = x |> reshape((2, 2, 192))",
R"dl(test.dl:2:12: error: reshape splits the batch, axis 0 of f32[4, 3, 8, 8], over several axes
  y = x |> reshape((2, 2, 192))
           ^~~~~~~
)dl", {}},
{"TransposeOrder", "y = x |> transpose((0, 1, 1, 2))",
R"dl(test.dl:2:22: error: the order of the axes names each of 0 to 3 once
  y = x |> transpose((0, 1, 1, 2))
                     ^~~~~~~~~~~~
)dl", {}},
{"NoSuchAxis", "y = x |> sum(axes=4)",
R"dl(test.dl:2:21: error: there is no axis 4, the tensor f32[4, 3, 8, 8] has 4
  y = x |> sum(axes=4)
                    ^ it has axes 0 to 3, or from the end -1 to -4
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"AxisTwice", "y = x |> sum(axes=(1, -3))",
R"dl(test.dl:2:21: error: axis -3 is given twice
  y = x |> sum(axes=(1, -3))
                    ^~~~~~~
)dl", {}},
{"TwoBatchAxes", R"dl(y = mean(x, axes=(1, 2, 3))
z = reshape(y, (N, 1)) + y)dl",
R"dl(test.dl:3:26: error: the batch is axis 0 of f32[4, 1] and axis 0 of f32[4], and axes meet from the right
  z = reshape(y, (N, 1)) + y
                         ^ reshape one: f32[4] by reshape(x, (N, 1)), or the other to (N,)
)dl", {}},
{"InnerSizesOfAProduct", "y = flatten(x) @ zeros((10, 3))",
R"dl(test.dl:2:18: error: shapes f32[4, 192] and f32[10, 3] do not fit: the inner sizes are 192 and 10
  y = flatten(x) @ zeros((10, 3))
                 ^
test.dl:2:20: note: 10 comes from this zeros
)dl", {}},
{"ProductOfANumber", "y = 3 @ x",
R"dl(test.dl:2:7: error: '@' expects floating-point tensors of rank 2 or more, found the integer 3
  y = 3 @ x
      ^
)dl", {}},
{"AbsurdSize", "y = zeros((1000000, 1000000, 1000))",
R"dl(test.dl:2:7: error: zeros would make a tensor of 1000000x1000000x1000 elements, more than 2^47 bytes
  y = zeros((1000000, 1000000, 1000))
      ^~~~~
)dl", {}},
{"AbsurdLayer", "y = x |> flatten |> linear(1000000000000)",
R"dl(test.dl:2:23: error: linear would make a tensor of 1000000000000x192 elements, more than 2^47 bytes
  y = x |> flatten |> linear(1000000000000)
                      ^~~~~~
)dl", {}},
{"ForOverANumber", "for i in 3 { x = relu(x) }",
R"dl(test.dl:2:12: error: 'for' goes through a sequence, found the integer 3
  for i in 3 { x = relu(x) }
           ^ range(3)
)dl", {}},
{"ForPattern", "for a, b in [(1, 2), (3, 4, 5)] { x = relu(x) }",
R"dl(test.dl:2:7: error: turn 2 of this loop has 3 values, 2 names take them
  for a, b in [(1, 2), (3, 4, 5)] { x = relu(x) }
      ^~~~
)dl", {}},
{"RepeatOfAFloat", "repeat 2.5 { x = relu(x) }",
R"dl(test.dl:2:10: error: 'repeat' takes an integer of 0 or more, found the float 2.5
  repeat 2.5 { x = relu(x) }
         ^~~
)dl", {}},
{"LoopTooLong", "repeat 100001 { y = 1 }",
R"dl(test.dl:2:3: error: loops run more than 100000 times in all
  repeat 100001 { y = 1 }
  ^~~~~~
)dl", {}},
{"LoopBomb", "repeat 99999 { repeat 99999 { y = 1 } }",
R"dl(test.dl:2:3: error: loops run more than 100000 times in all
  repeat 99999 { repeat 99999 { y = 1 } }
  ^~~~~~
)dl", {}},
{"SequenceBomb", R"dl(s = [1]
repeat 99 { s = s + s })dl",
R"dl(test.dl:3:21: error: sequences have more than 1000000 elements in all
  repeat 99 { s = s + s }
                    ^
)dl", {}},
{"EqualityBomb", R"dl(s = [1]
repeat 50 { s = [s, s] }
y = s == s)dl",
R"dl(test.dl:4:9: error: evaluation of the model takes more than 5000000 steps
  y = s == s
        ^~
)dl", {}},
{"RangeBomb", "y = range(9000000000000000000)",
R"dl(test.dl:2:7: error: sequences have more than 1000000 elements in all
  y = range(9000000000000000000)
      ^~~~~
)dl", {}},
{"AssertFails", R"dl(width = 3
assert width == 4, "width must be four")dl",
R"dl(test.dl:3:10: error: width must be four
  assert width == 4, "width must be four"
         ^~~~~~~~~~
test.dl:2:3: note: width = 3
)dl", {}},
{"AssertWithoutMessage", R"dl(width = 3
assert width == 4)dl",
R"dl(test.dl:3:10: error: the assertion does not hold
  assert width == 4
         ^~~~~~~~~~
test.dl:2:3: note: width = 3
)dl", {}},
{"UnpackCount", "a, b = [1, 2, 3]",
R"dl(test.dl:2:3: error: this gives 3 values, 2 names take them
  a, b = [1, 2, 3]
  ^~~~
)dl", {}},
{"UnpackANumber", "a, b = 3",
R"dl(test.dl:2:3: error: 2 names take the values of the integer 3
  a, b = 3
  ^~~~
)dl", {}},
{"IndexOutOfRange", R"dl(a = [1, 2, 3]
b = a[3])dl",
R"dl(test.dl:3:9: error: there is no element 3, the sequence has 3
  b = a[3]
        ^
)dl", {}},
{"IndexOfANumber", R"dl(a = 3
b = a[0])dl",
R"dl(test.dl:3:7: error: only sequences and tensors have elements, this is the integer 3
  b = a[0]
      ^~~~
)dl", {}},
{"IndexIsAFloat", R"dl(a = [1, 2, 3]
b = a[0.5])dl",
R"dl(test.dl:3:9: error: an index is an integer, found the float 0.5
  b = a[0.5]
        ^~~
)dl", {}},
{"SliceStep", R"dl(a = [1, 2, 3]
b = a[::0])dl",
R"dl(test.dl:3:9: error: the step of a slice is 1 or more, found 0
  b = a[::0]
        ^~~
)dl", {}},
{"ConcatOfDtypes", "y = concat([x, i32(x)])",
R"dl(test.dl:2:14: error: f32[4, 3, 8, 8] and i32[4, 3, 8, 8] have different dtypes
  y = concat([x, i32(x)])
             ^~~~~~~~~~~ cast one of them, as in f32(x)
)dl", {}},
{"ConcatOfShapes", "y = concat([x, x[:, :, 1:]])",
R"dl(test.dl:2:14: error: f32[4, 3, 8, 8] and f32[4, 3, 7, 8] differ along axis 2, not only along axis 1
  y = concat([x, x[:, :, 1:]])
             ^~~~~~~~~~~~~~~~
)dl", {}},
{"ConcatOfNumbers", "y = concat([x, 1])",
R"dl(test.dl:2:14: error: 'parts' holds tensors, found the integer 1
  y = concat([x, 1])
             ^~~~~~
)dl", {}},
{"ConcatOfNothing", "y = concat([])",
R"dl(test.dl:2:14: error: 'parts' is empty
  y = concat([])
             ^~
)dl", {}},
{"ConcatOfRanks", "y = concat([x, flatten(x)])",
R"dl(test.dl:2:14: error: f32[4, 3, 8, 8] and f32[4, 192] have different numbers of axes
  y = concat([x, flatten(x)])
             ^~~~~~~~~~~~~~~
)dl", {}},
{"StackOfShapes", "y = stack([x, x[:, 1:]])",
R"dl(test.dl:2:13: error: f32[4, 3, 8, 8] and f32[4, 2, 8, 8] have different shapes
  y = stack([x, x[:, 1:]])
            ^~~~~~~~~~~~~
)dl", {}},
{"SplitThatDoesNotDivide", "y = split(x, 2)",
R"dl(test.dl:2:16: error: 2 parts do not divide the 3 elements along axis 1 of f32[4, 3, 8, 8]
  y = split(x, 2)
               ^
)dl", {}},
{"SplitOfTooFew", "y = split(x, [1, 1])",
R"dl(test.dl:2:16: error: the parts' sizes add up to 2, axis 1 has 3 elements
  y = split(x, [1, 1])
               ^~~~~~
)dl", {}},
{"SplitOfTooMany", "y = split(x, [1, 3])",
R"dl(test.dl:2:16: error: the parts' sizes are 0 or more and add up to 3, found 3 behind 1
  y = split(x, [1, 3])
               ^~~~~~
)dl", {}},
{"PadOfSomeAxes", "y = pad(x, ((1, 1),))",
R"dl(test.dl:2:14: error: 'sides' is a pair (before, after) for each of the 4 axes of f32[4, 3, 8, 8], found a sequence of 1
  y = pad(x, ((1, 1),))
             ^~~~~~~~~
)dl", {}},
{"PadBelowZero", "y = pad(x, ((0, 0), (0, 0), (0, -1), (0, 0)))",
R"dl(test.dl:2:14: error: a side is 0 or more, found -1
  y = pad(x, ((0, 0), (0, 0), (0, -1), (0, 0)))
             ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
)dl", {}},
{"PadWithNoElement", "y = pad(i32(x), ((0, 0), (0, 1), (0, 0), (0, 0)), value=0.5)",
R"dl(test.dl:2:59: error: the float 0.5 is no element of i32[4, 3, 8, 8]
  y = pad(i32(x), ((0, 0), (0, 1), (0, 0), (0, 0)), value=0.5)
                                                          ^~~
)dl", {}},
{"GatherOverTheBatch", "y = gather(x, i32(zeros((2,))))",
R"dl(test.dl:2:14: error: gather cannot work across the batch, axis 0 of f32[4, 3, 8, 8]
  y = gather(x, i32(zeros((2,))))
             ^ each sample is computed by itself: take another axis
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"ScatterAddOfShapes", "y = scatter_add(zeros((5, 3)), i32(zeros((2,))), zeros((3, 3)))",
R"dl(test.dl:2:52: error: the values to be added to f32[5, 3] at i32[2] along axis 0 are numbers of its dtype and the sizes 2x3, found f32[3, 3]
  y = scatter_add(zeros((5, 3)), i32(zeros((2,))), zeros((3, 3)))
                                                   ^~~~~~~~~~~~~
)dl", {}},
{"EmbeddingPadding", "y = embedding(argmax(x, 1), 10, 4, padding_index=10)",
R"dl(test.dl:2:52: error: 'padding_index' is one of the 10 rows, found 10
  y = embedding(argmax(x, 1), 10, 4, padding_index=10)
                                                   ^~
)dl", {}},
{"TopKOfTooMany", "y = top_k(x, 9)",
R"dl(test.dl:2:16: error: 'k' is from 1 to the 8 elements of the last axis, found 9
  y = top_k(x, 9)
               ^
)dl", {}},
{"ProductOfBools", "y = product(x > 0)",
R"dl(test.dl:2:15: error: product does not work on bool[4, 3, 8, 8]
  y = product(x > 0)
              ^~~~~ cast it with f32(...)
)dl", {}},
{"DropoutOfAll", "y = dropout(x, 1)",
R"dl(test.dl:2:18: error: 'rate' is from 0 to below 1, found 1
  y = dropout(x, 1)
                 ^
)dl", {}},
{"RandomOfProbability", "y = random_bernoulli((3,), 1.5)",
R"dl(test.dl:2:30: error: 'p' is from 0 to 1, found 1.5
  y = random_bernoulli((3,), 1.5)
                             ^~~
)dl", {}},
{"RandomDeviation", "y = random_normal((3,), std=-1)",
R"dl(test.dl:2:31: error: 'std' is 0 or more, found -1
  y = random_normal((3,), std=-1)
                              ^~
)dl", {}},
{"RandomRange", "y = random_uniform((3,), low=2)",
R"dl(test.dl:2:32: error: 'low' is at most 'high', found 2 and 1
  y = random_uniform((3,), low=2)
                               ^
)dl", {}},
{"TensorIndexBeyond", "y = x[:, 3]",
R"dl(test.dl:2:12: error: there is no element 3, axis 1 has 3
  y = x[:, 3]
           ^
)dl", {}},
{"TensorIndexTooMany", "y = x[:, 0, 1, 2, ::2]",
R"dl(test.dl:2:21: error: there is no axis 4, the tensor f32[4, 3, 8, 8] has 4
  y = x[:, 0, 1, 2, ::2]
                    ^~~ one subscript an axis: leave this out
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"TensorIndexStep", "y = x[:, ::-1]",
R"dl(test.dl:2:12: error: the step of a slice is 1 or more, found -1
  y = x[:, ::-1]
           ^~~~
)dl", {}},
{"TensorIndexOfBatch", "y = x[1:]",
R"dl(test.dl:2:7: error: '[ ]' cannot work across the batch, axis 0 of f32[4, 3, 8, 8]
  y = x[1:]
      ^~~~~ the batch stays whole: x[:, 0]
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"PrecisionIsNoFloat", "y = x |> conv2d(8, 3, precision=f64)",
R"dl(test.dl:2:35: error: 'precision' is f32, bf16, f16 or tf32, found the dtype f64
  y = x |> conv2d(8, 3, precision=f64)
                                  ^~~
)dl", {}},
{"PrecisionOfALayerInQuotes", R"dl(y = x |> conv2d(8, 3, precision="bf16"))dl",
R"dl(test.dl:2:35: error: 'precision' is f32, bf16, f16 or tf32, found the string "bf16"
  y = x |> conv2d(8, 3, precision="bf16")
                                  ^~~~~~ without '"': bf16
)dl", {}},
{"AlgorithmIsUnknown", R"dl(y = x |> conv2d(8, 3, algorithm="strassen"))dl",
R"dl(test.dl:2:35: error: 'algorithm' is "heuristic", "direct", "gemm", "winograd" or "fft", found the string "strassen"
  y = x |> conv2d(8, 3, algorithm="strassen")
                                  ^~~~~~~~~~
)dl", {}},
{"AlgorithmIsNoString", "y = x |> conv2d(8, 3, backward_data_algorithm=3)",
R"dl(test.dl:2:49: error: 'backward_data_algorithm' is "heuristic", "direct", "gemm", "winograd" or "fft", found the integer 3
  y = x |> conv2d(8, 3, backward_data_algorithm=3)
                                                ^
)dl", {}},
{"AlgorithmOfNoConvolution", R"dl(y = x |> linear(8, algorithm="gemm"))dl",
R"dl(test.dl:2:22: error: 'algorithm' is for convolutions, linear is none
  y = x |> linear(8, algorithm="gemm")
                     ^~~~~~~~~
)dl", {}},
{"WorkspaceIsNegative", "y = x |> conv2d(8, 3, workspace=-1)",
R"dl(test.dl:2:35: error: 'workspace' is a number of bytes such as 8 * MiB, found the integer -1
  y = x |> conv2d(8, 3, workspace=-1)
                                  ^~
)dl", {}},
{"NameTaken", R"dl(y = conv2d(x, 8, 3, name="mix")
z = conv2d(x, 8, 3, name="mix"))dl",
R"dl(test.dl:3:28: error: the weight name 'mix.weight' is taken
  z = conv2d(x, 8, 3, name="mix")
                           ^~~~~ label the loop with 'as', or share the weights with 'layer'
test.dl:2:28: note: first used here
)dl", {}},
{"NameTakenInALoop", R"dl(for i in range(3) {
  y = x |> conv2d(3, 3, name="mix")
})dl",
R"dl(test.dl:3:32: error: the weight name 'mix.weight' is taken
    y = x |> conv2d(3, 3, name="mix")
                               ^~~~~ label the loop with 'as', or share the weights with 'layer'
test.dl:3:32: note: first used here, in turn 1 of the loop at test.dl:2:3
)dl", {}},
{"NameIsNoPath", R"dl(y = conv2d(x, 8, 3, name="a..b"))dl",
R"dl(test.dl:2:28: error: a name is a string of letters, digits and '_', parts joined by '.', found the string "a..b"
  y = conv2d(x, 8, 3, name="a..b")
                           ^~~~~~
)dl", {}},
{"NameIsANumber", "y = conv2d(x, 8, 3, name=3)",
R"dl(test.dl:2:28: error: a name is a string of letters, digits and '_', parts joined by '.', found the integer 3
  y = conv2d(x, 8, 3, name=3)
                           ^
)dl", {}},
{"MultiplierIsNegative", "y = conv2d(x, 8, 3, lr_mult=-1)",
R"dl(test.dl:2:31: error: 'lr_mult' is a number of 0 or more, found the integer -1
  y = conv2d(x, 8, 3, lr_mult=-1)
                              ^~
)dl", {}},
{"InitIsAString", R"dl(y = conv2d(x, 8, 3, init="zeros"))dl",
R"dl(test.dl:2:28: error: 'init' is a number or such as normal(0, 0.02), found the string "zeros"
  y = conv2d(x, 8, 3, init="zeros")
                           ^~~~~~~ a number fills it: 0
)dl", {}},
{"UniformTurnedAround", "y = conv2d(x, 8, 3, init=uniform(1, 0))",
R"dl(test.dl:2:36: error: 'low' is above 'high': 1 and 0
  y = conv2d(x, 8, 3, init=uniform(1, 0))
                                   ^
)dl", {}},
{"LayerOfANumber", R"dl(width = 3
layer f = width(_))dl",
R"dl(test.dl:3:13: error: 'layer' takes a built-in layer, a block or a model, this is the integer 3
  layer f = width(_)
            ^~~~~
)dl", {}},
{"LayerCount", R"dl(layer f = linear(_, 8)
y = f(x, x))dl",
R"dl(test.dl:3:7: error: layer 'f' takes 1 value, one for each '_', found 2
  y = f(x, x)
      ^
test.dl:2:9: note: declared here
)dl", {}},
{"LayerName", R"dl(layer f = linear(_, 8, name="g"))dl",
R"dl(test.dl:2:26: error: a 'layer' is named by its own name
  layer f = linear(_, 8, name="g")
                         ^~~~ leave 'name' out
)dl", {}},
{"SharedWithAnotherShape", R"dl(layer f = linear(_, 8)
y = f(x)
z = f(flatten(x)))dl",
R"dl(test.dl:4:7: error: parameter 'f.weight' is f32[8, 8] at its first use and f32[8, 192] here
  z = f(flatten(x))
      ^
test.dl:3:7: note: first used here
)dl", {}},
{"MemberBeforeTheCall", R"dl(layer f = linear(_, 8)
y = f.weight)dl",
R"dl(test.dl:3:9: error: layer 'f' has no weight 'weight' before this point
  y = f.weight
        ^~~~~~
test.dl:2:9: note: declared here; its weights exist from its first call on
)dl", {}},
{"MemberOfATensor", "y = x.weight",
R"dl(test.dl:2:9: error: a tensor has no member 'weight'
  y = x.weight
        ^~~~~~ functions take it: relu(x)
)dl", {}},
{"ParameterOfIntegers", "parameter p: i32[3] = 0",
R"dl(test.dl:2:16: error: a parameter is trained, so its dtype is a float, found i32[3]
  parameter p: i32[3] = 0
               ^~~~~~
)dl", {}},
{"ParameterInitialiser", R"dl(parameter p: f32[3] = "ones")dl",
R"dl(test.dl:2:13: error: an initialiser is a number or such as normal(0, 0.02), found the string "ones"
  parameter p: f32[3] = "ones"
            ^ a number fills it: 1
)dl", {}},
{"NegativeDimension", "parameter p: f32[3 - 4] = 0",
R"dl(test.dl:2:20: error: a dimension is an integer of 0 or more, found the integer -1
  parameter p: f32[3 - 4] = 0
                   ^~~~~
)dl", {}},
{"UnboundDimension", "parameter p: f32[width] = 0",
R"dl(test.dl:2:20: error: dimension 'width' is not bound
  parameter p: f32[width] = 0
                   ^~~~~ bind it in the section, or by -D width=...
)dl", {}},
{"SelectNeedsBool", "y = select(x, x, x)",
R"dl(test.dl:2:14: error: 'condition' expects a bool tensor, found f32[4, 3, 8, 8]
  y = select(x, x, x)
             ^ a comparison such as x > 0
)dl", {}},
{"TensorNumbers", "y = tensor([1, 2, 3], shape=(2, 2))",
R"dl(test.dl:2:14: error: the shape 2x2 has 4 elements, 3 numbers are given
  y = tensor([1, 2, 3], shape=(2, 2))
             ^~~~~~~~~
)dl", {}},
{"FloatInAnIntegerTensor", "y = tensor([1, 2.5], dtype=i32)",
R"dl(test.dl:2:14: error: an element of i32 cannot be the float 2.5
  y = tensor([1, 2.5], dtype=i32)
             ^~~~~~~~
)dl", {}},
{"LogOfZero", "y = log(0)",
R"dl(test.dl:2:11: error: log of 0 is not a number
  y = log(0)
          ^
)dl", {}},
{"CastOfANumber", "y = f32(3)",
R"dl(test.dl:2:11: error: f32 casts a tensor, found the integer 3
  y = f32(3)
          ^ float(x) converts a number
)dl", {}},
{"ManyErrors", R"dl(y0 = unknown0
y1 = unknown1
y2 = unknown2
y3 = unknown3
y4 = unknown4
y5 = unknown5
y6 = unknown6
y7 = unknown7
y8 = unknown8
y9 = unknown9
y10 = unknown10
y11 = unknown11
y12 = unknown12
y13 = unknown13
y14 = unknown14
y15 = unknown15
y16 = unknown16
y17 = unknown17
y18 = unknown18
y19 = unknown19
y20 = unknown20
y21 = unknown21
y22 = unknown22
y23 = unknown23
y24 = unknown24)dl",
R"dl(test.dl:2:8: error: unknown name 'unknown0'
  y0 = unknown0
       ^~~~~~~~
test.dl:3:8: error: unknown name 'unknown1'
  y1 = unknown1
       ^~~~~~~~
test.dl:4:8: error: unknown name 'unknown2'
  y2 = unknown2
       ^~~~~~~~
test.dl:5:8: error: unknown name 'unknown3'
  y3 = unknown3
       ^~~~~~~~
test.dl:6:8: error: unknown name 'unknown4'
  y4 = unknown4
       ^~~~~~~~
test.dl:7:8: error: unknown name 'unknown5'
  y5 = unknown5
       ^~~~~~~~
test.dl:8:8: error: unknown name 'unknown6'
  y6 = unknown6
       ^~~~~~~~
test.dl:9:8: error: unknown name 'unknown7'
  y7 = unknown7
       ^~~~~~~~
test.dl:10:8: error: unknown name 'unknown8'
  y8 = unknown8
       ^~~~~~~~
test.dl:11:8: error: unknown name 'unknown9'
  y9 = unknown9
       ^~~~~~~~
test.dl:12:9: error: unknown name 'unknown10'
  y10 = unknown10
        ^~~~~~~~~
test.dl:13:9: error: unknown name 'unknown11'
  y11 = unknown11
        ^~~~~~~~~
test.dl:14:9: error: unknown name 'unknown12'
  y12 = unknown12
        ^~~~~~~~~
test.dl:15:9: error: unknown name 'unknown13'
  y13 = unknown13
        ^~~~~~~~~
test.dl:16:9: error: unknown name 'unknown14'
  y14 = unknown14
        ^~~~~~~~~
test.dl:17:9: error: unknown name 'unknown15'
  y15 = unknown15
        ^~~~~~~~~
test.dl:18:9: error: unknown name 'unknown16'
  y16 = unknown16
        ^~~~~~~~~
test.dl:19:9: error: unknown name 'unknown17'
  y17 = unknown17
        ^~~~~~~~~
test.dl:20:9: error: unknown name 'unknown18'
  y18 = unknown18
        ^~~~~~~~~
test.dl:21:9: error: unknown name 'unknown19'
  y19 = unknown19
        ^~~~~~~~~
20 errors are the limit, there may be more
)dl", {}},
};
// clang-format on

TEST(EvaluationErrors, SayWhatIsWrong) { checkErrors(cases, inModel); }
