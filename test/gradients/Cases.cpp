//===- Cases.cpp - one small entry a rule and a peculiarity -----------------------------------===//
//
// Shapes are odd on purpose: no two axes are equal, windows overlap, hang over or leave a border
// unused, paddings differ by side, so that a rule that mixes up axes, sides, strides or groups
// gives other numbers.
//
//===------------------------------------------------------------------------------------------===//
#include "test/gradients/Cases.h"
#include "test/lib/Interpreter/ElementwiseTable.h"

namespace dlc::gradients {

static const char *const unarySignature = "(%x: tensor<4x3xf64>) -> tensor<4x3xf64>";
static const char *const binarySignature =
    "(%a: tensor<4x3xf64>, %b: tensor<4x3xf64>) -> tensor<4x3xf64>";

/// Each row of the table of element-wise ops.
static std::vector<Case> rowCases() {
  std::vector<Case> cases;
  const std::string type = "tensor<4x3xf64>";
  for (const interpreter::ElementwiseRow &row : interpreter::elementwiseTable())
    cases.push_back({row.name, "(" + row.argumentText(type) + ") -> " + type,
                     "%c = " + row.opText(type) + " dl.return %c : " + type,
                     std::vector<DrawRange>(row.operands, {row.scale, row.shift})});
  return cases;
}

static std::vector<Case> elementwiseCases() {
  return {
      {"add_to_itself", unarySignature,
       "%y = dl.add %x, %x : tensor<4x3xf64> dl.return %y : tensor<4x3xf64>"},
      {"compare_select", binarySignature,
       R"(%m = dl.compare lt %a, %b : tensor<4x3xf64>
          %s = dl.multiply %a, %a : tensor<4x3xf64>
          %c = dl.select %m, %s, %b : tensor<4x3xf64>
          dl.return %c : tensor<4x3xf64>)"},
      {"cast", unarySignature,
       R"(%f = dl.cast %x : tensor<4x3xf64> to tensor<4x3xf32>
          %g = dl.multiply %f, %f : tensor<4x3xf32>
          %y = dl.cast %g : tensor<4x3xf32> to tensor<4x3xf64>
          dl.return %y : tensor<4x3xf64>)"},
      {"cast_of_integers",
       "(%x: tensor<5xf64>, %n: tensor<5xi32>) -> tensor<5xf64>",
       R"(%f = dl.cast %n : tensor<5xi32> to tensor<5xf64>
          %y = dl.multiply %x, %f : tensor<5xf64>
          dl.return %y : tensor<5xf64>)",
       {{}, {7, -3}}},
  };
}

static std::vector<Case> tensorCases() {
  return {
      {"broadcast_to_new_axes", "(%x: tensor<3xf64>) -> tensor<2x3x4xf64>",
       R"(%y = dl.broadcast %x dims = [1] : tensor<3xf64> to tensor<2x3x4xf64>
          %z = dl.multiply %y, %y : tensor<2x3x4xf64>
          dl.return %z : tensor<2x3x4xf64>)"},
      {"broadcast_axes_of_one", "(%x: tensor<1x3x1xf64>) -> tensor<2x3x1x4xf64>",
       R"(%y = dl.broadcast %x dims = [0, 1, 2] : tensor<1x3x1xf64> to tensor<2x3x1x4xf64>
          %z = dl.multiply %y, %y : tensor<2x3x1x4xf64>
          dl.return %z : tensor<2x3x1x4xf64>)"},
      {"broadcast_of_scalar", "(%x: tensor<f64>) -> tensor<2x3xf64>",
       R"(%y = dl.broadcast %x dims = [] : tensor<f64> to tensor<2x3xf64>
          %z = dl.exp %y : tensor<2x3xf64> dl.return %z : tensor<2x3xf64>)"},
      {"reshape", "(%x: tensor<2x6xf64>) -> tensor<3x4xf64>",
       R"(%y = dl.reshape %x : tensor<2x6xf64> to tensor<3x4xf64>
          %z = dl.multiply %y, %y : tensor<3x4xf64> dl.return %z : tensor<3x4xf64>)"},
      {"transpose", "(%x: tensor<2x3x4xf64>) -> tensor<4x2x3xf64>",
       R"(%y = dl.transpose %x order = [2, 0, 1] : tensor<2x3x4xf64>
          %z = dl.multiply %y, %y : tensor<4x2x3xf64> dl.return %z : tensor<4x2x3xf64>)"},
      {"slice", "(%x: tensor<2x7x5xf64>) -> tensor<2x3x2xf64>",
       R"(%y = dl.slice %x starts = [0, 1, 2] sizes = [2, 3, 2] steps = [1, 2, 1] :
             tensor<2x7x5xf64>
          %z = dl.exp %y : tensor<2x3x2xf64> dl.return %z : tensor<2x3x2xf64>)"},
      // Some elements are read twice, by equal and by other pieces, and some never.
      {"pieces", "(%x: tensor<7x2xf64>) -> tensor<2x2xf64>",
       R"(%a = dl.slice %x starts = [1, 0] sizes = [2, 2] steps = [1, 1] : tensor<7x2xf64>
          %b = dl.slice %x starts = [5, 0] sizes = [2, 2] steps = [1, 1] : tensor<7x2xf64>
          %c = dl.slice %x starts = [1, 0] sizes = [2, 2] steps = [1, 1] : tensor<7x2xf64>
          %d = dl.slice %x starts = [2, 0] sizes = [2, 2] steps = [1, 1] : tensor<7x2xf64>
          %e = dl.slice %x starts = [0, 0] sizes = [2, 2] steps = [3, 1] : tensor<7x2xf64>
          %f = dl.slice %x starts = [2, 1] sizes = [2, 1] steps = [1, 1] : tensor<7x2xf64>
          %g = dl.broadcast %f dims = [0, 1] : tensor<2x1xf64> to tensor<2x2xf64>
          %p = dl.multiply %a, %b : tensor<2x2xf64> %q = dl.multiply %c, %d : tensor<2x2xf64>
          %r = dl.multiply %e, %g : tensor<2x2xf64> %s = dl.add %p, %q : tensor<2x2xf64>
          %t = dl.multiply %s, %r : tensor<2x2xf64> dl.return %t : tensor<2x2xf64>)"},
      {"pad", "(%x: tensor<2x3x1xf64>) -> tensor<4x8x3xf64>",
       R"(%y = dl.pad %x low = [1, 1, 2] steps = [1, 3, 1] : tensor<2x3x1xf64> to tensor<4x8x3xf64>
          %z = dl.exp %y : tensor<4x8x3xf64> dl.return %z : tensor<4x8x3xf64>)"},
      {"concat", "(%x: tensor<2x3x4xf64>, %w: tensor<2x1x4xf64>) -> tensor<2x7x4xf64>",
       R"(%c = dl.concat %x, %w, %x axis = 1 :
             tensor<2x3x4xf64>, tensor<2x1x4xf64>, tensor<2x3x4xf64>
          %z = dl.exp %c : tensor<2x7x4xf64> dl.return %z : tensor<2x7x4xf64>)"},
      // Numbers are from -3 to 4: some twice, some that x does not have.
      {"gather",
       "(%x: tensor<2x4x3xf64>, %n: tensor<2x5xi32>) -> tensor<2x2x5x3xf64>",
       R"(%y = dl.gather %x, %n axis = 1 : tensor<2x4x3xf64>, tensor<2x5xi32>
          %z = dl.exp %y : tensor<2x2x5x3xf64> dl.return %z : tensor<2x2x5x3xf64>)",
       {{}, {4, 1}}},
      {"scatter_add",
       "(%x: tensor<2x7x3xf64>, %n: tensor<7xi32>) -> tensor<2x4x3xf64>",
       R"(%y = dl.scatter_add %x, %n axis = 1 : tensor<2x7x3xf64>, tensor<7xi32> to
             tensor<2x4x3xf64>
          %z = dl.exp %y : tensor<2x4x3xf64> dl.return %z : tensor<2x4x3xf64>)",
       {{}, {4, 1}}},
      {"all_reduce",
       "(%x: tensor<2x3xf64>, %w: tensor<4xf64>, %b: tensor<2xf64>) -> tensor<2x3xf64>",
       R"(%s:3 = dl.all_reduce sum %w, %x, %b channel 0 :
             tensor<4xf64>, tensor<2x3xf64>, tensor<2xf64>
          %r = dl.broadcast %s#2 dims = [0] : tensor<2xf64> to tensor<2x3xf64>
          %z = dl.multiply %s#1, %r : tensor<2x3xf64> dl.return %z : tensor<2x3xf64>)"},
      {"reduce_sum", "(%x: tensor<2x3x4xf64>) -> tensor<3xf64>",
       R"(%y = dl.reduce sum %x axes = [0, 2] : tensor<2x3x4xf64>
          %z = dl.exp %y : tensor<3xf64> dl.return %z : tensor<3xf64>)"},
      {"reduce_max", "(%x: tensor<2x3x4xf64>) -> tensor<2x4xf64>",
       R"(%y = dl.reduce max %x axes = [1] : tensor<2x3x4xf64>
          %z = dl.exp %y : tensor<2x4xf64> dl.return %z : tensor<2x4xf64>)"},
      {"reduce_min", "(%x: tensor<2x3x4xf64>) -> tensor<f64>",
       R"(%y = dl.reduce min %x axes = [0, 1, 2] : tensor<2x3x4xf64>
          %z = dl.exp %y : tensor<f64> dl.return %z : tensor<f64>)"},
      {"moments", "(%x: tensor<2x3x4xf64>) -> (tensor<3xf64>, tensor<3xf64>)",
       R"(%mean, %m2 = dl.moments %x axes = [0, 2] : tensor<2x3x4xf64>
          %0 = dl.exp %mean : tensor<3xf64>
          %1 = dl.multiply %mean, %m2 : tensor<3xf64>
          dl.return %0, %1 : tensor<3xf64>, tensor<3xf64>)"},
      {"moments_m2_only", "(%x: tensor<3x4xf64>) -> tensor<3xf64>",
       R"(%mean, %m2 = dl.moments %x axes = [1] : tensor<3x4xf64>
          %0 = dl.log %m2 : tensor<3xf64> dl.return %0 : tensor<3xf64>)"},
      {"matmul", "(%a: tensor<3x4xf64>, %b: tensor<4x5xf64>) -> tensor<3x5xf64>",
       "%c = dl.matmul %a, %b : tensor<3x4xf64>, tensor<4x5xf64> dl.return %c : tensor<3x5xf64>"},
      {"matmul_transpose_a", "(%a: tensor<4x3xf64>, %b: tensor<4x5xf64>) -> tensor<3x5xf64>",
       R"(%c = dl.matmul %a, %b transpose_a : tensor<4x3xf64>, tensor<4x5xf64>
          dl.return %c : tensor<3x5xf64>)"},
      {"matmul_transpose_b", "(%a: tensor<3x4xf64>, %b: tensor<5x4xf64>) -> tensor<3x5xf64>",
       R"(%c = dl.matmul %a, %b transpose_b : tensor<3x4xf64>, tensor<5x4xf64>
          dl.return %c : tensor<3x5xf64>)"},
      {"matmul_transpose_both", "(%a: tensor<4x3xf64>, %b: tensor<5x4xf64>) -> tensor<3x5xf64>",
       R"(%c = dl.matmul %a, %b transpose_a transpose_b : tensor<4x3xf64>, tensor<5x4xf64>
          dl.return %c : tensor<3x5xf64>)"},
      {"matmul_in_batches", "(%a: tensor<2x3x4xf64>, %b: tensor<2x5x4xf64>) -> tensor<2x3x5xf64>",
       R"(%c = dl.matmul %a, %b transpose_b : tensor<2x3x4xf64>, tensor<2x5x4xf64>
          dl.return %c : tensor<2x3x5xf64>)"},
  };
}

/// Steps of recurrent layers, forwards and backwards in time; all results count.
static std::vector<Case> recurrentCases() {
  std::vector<Case> cases;
  for (const char *direction : {"", " reverse"}) {
    std::string name = *direction ? "_reverse" : "";
    cases.push_back({"lstm" + name,
                     R"((%x: tensor<3x2x12xf64>, %h: tensor<2x3xf64>, %c: tensor<2x3xf64>,
                         %w: tensor<12x3xf64>) ->
                         (tensor<4x2x3xf64>, tensor<4x2x3xf64>, tensor<3x2x12xf64>))",
                     "%hs, %cs, %gates = dl.lstm %x, %h, %c, %w" + std::string(direction) +
                         R"( : tensor<3x2x12xf64>
                         dl.return %hs, %cs, %gates :
                            tensor<4x2x3xf64>, tensor<4x2x3xf64>, tensor<3x2x12xf64>)"});
    cases.push_back({"gru" + name,
                     R"((%x: tensor<3x2x9xf64>, %h: tensor<2x3xf64>, %w: tensor<9x3xf64>,
                         %b: tensor<9xf64>) -> (tensor<4x2x3xf64>, tensor<3x2x9xf64>))",
                     "%hs, %p = dl.gru %x, %h, %w bias(%b : tensor<9xf64>)" +
                         std::string(direction) + R"( : tensor<3x2x9xf64>
                         dl.return %hs, %p : tensor<4x2x3xf64>, tensor<3x2x9xf64>)"});
  }
  // Samples of three steps, one and none.
  std::string mask = R"(%m = dl.constant dense<[[true, true, false], [true, false, false],
                             [true, false, false]]> : tensor<3x3xi1> )";
  for (std::string direction : {"", " reverse"}) {
    std::string name = direction.empty() ? "_mask" : "_mask_reverse";
    cases.push_back({"lstm" + name,
                     R"((%x: tensor<3x3x8xf64>, %h: tensor<3x2xf64>, %c: tensor<3x2xf64>,
                         %w: tensor<8x2xf64>) ->
                         (tensor<4x3x2xf64>, tensor<4x3x2xf64>, tensor<3x3x8xf64>))",
                     mask + "%hs, %cs, %gates = dl.lstm %x, %h, %c, %w mask(%m : tensor<3x3xi1>)" +
                         direction + R"( : tensor<3x3x8xf64>
                         dl.return %hs, %cs, %gates :
                            tensor<4x3x2xf64>, tensor<4x3x2xf64>, tensor<3x3x8xf64>)"});
    cases.push_back(
        {"gru" + name,
         R"((%x: tensor<3x3x6xf64>, %h: tensor<3x2xf64>, %w: tensor<6x2xf64>,
             %b: tensor<6xf64>) -> (tensor<4x3x2xf64>, tensor<3x3x6xf64>))",
         mask + "%hs, %p = dl.gru %x, %h, %w bias(%b : tensor<6xf64>) mask(%m : tensor<3x3xi1>)" +
             direction + R"( : tensor<3x3x6xf64>
             dl.return %hs, %p : tensor<4x3x2xf64>, tensor<3x3x6xf64>)"});
  }
  cases.push_back({"lstm_outputs_only",
                   R"((%x: tensor<2x2x12xf64>, %w: tensor<12x3xf64>) -> tensor<2x2x3xf64>)",
                   R"(%zero = dl.constant dense<0.0> : tensor<2x3xf64>
                      %hs, %cs, %gates = dl.lstm %x, %zero, %zero, %w : tensor<2x2x12xf64>
                      %y = dl.slice %hs starts = [1, 0, 0] sizes = [2, 2, 3] steps = [1, 1, 1] :
                          tensor<3x2x3xf64>
                      dl.return %y : tensor<2x2x3xf64>)"});
  cases.push_back({"gru_without_bias",
                   R"((%x: tensor<2x2x9xf64>, %h: tensor<2x3xf64>, %w: tensor<9x3xf64>) ->
                      tensor<3x2x3xf64>)",
                   R"(%hs, %p = dl.gru %x, %h, %w : tensor<2x2x9xf64>
                      dl.return %hs : tensor<3x2x3xf64>)"});
  return cases;
}

static std::vector<Case> convolutionCases() {
  return {
      {"convolution_1d", "(%x: tensor<2x3x9xf64>, %w: tensor<4x3x2xf64>) -> tensor<2x4x4xf64>",
       R"(%y = dl.convolution %x, %w strides = [3] padding = [1, 2] dilations = [2] groups = 1
              : tensor<2x3x9xf64>, tensor<4x3x2xf64>
          dl.return %y : tensor<2x4x4xf64>)"},
      {"convolution_2d_groups",
       "(%x: tensor<2x4x5x6xf64>, %w: tensor<6x2x2x3xf64>) -> tensor<2x6x3x4xf64>",
       R"(%y = dl.convolution %x, %w strides = [2, 1] padding = [0, 1, 2, 0] dilations = [1, 2]
             groups = 2
              : tensor<2x4x5x6xf64>, tensor<6x2x2x3xf64>
          dl.return %y : tensor<2x6x3x4xf64>)"},
      // The stride leaves the last row and column out: their gradient is zero.
      {"convolution_unused_border",
       "(%x: tensor<1x2x6x8xf64>, %w: tensor<3x2x3x3xf64>) -> tensor<1x3x2x2xf64>",
       R"(%y = dl.convolution %x, %w strides = [2, 3] padding = [0, 0, 0, 0] dilations = [1, 1]
             groups = 1
              : tensor<1x2x6x8xf64>, tensor<3x2x3x3xf64>
          dl.return %y : tensor<1x3x2x2xf64>)"},
      {"convolution_depthwise",
       "(%x: tensor<2x3x4x5xf64>, %w: tensor<6x1x3x2xf64>) -> tensor<2x6x4x6xf64>",
       R"(%y = dl.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1]
             groups = 3
              : tensor<2x3x4x5xf64>, tensor<6x1x3x2xf64>
          dl.return %y : tensor<2x6x4x6xf64>)"},
      {"convolution_3d",
       "(%x: tensor<1x2x3x4x5xf64>, %w: tensor<2x2x2x3x2xf64>) -> tensor<1x2x2x2x4xf64>",
       R"(%y = dl.convolution %x, %w strides = [1, 2, 1] padding = [0, 0, 1, 1, 1, 0]
             dilations = [1, 1, 2] groups = 1
              : tensor<1x2x3x4x5xf64>, tensor<2x2x2x3x2xf64>
          dl.return %y : tensor<1x2x2x2x4xf64>)"},
      {"convolution_backward_data",
       "(%dy: tensor<2x6x3x4xf64>, %w: tensor<6x2x2x3xf64>) -> tensor<2x4x5x6xf64>",
       R"(%dx = dl.convolution_backward_data %dy, %w strides = [2, 1] padding = [0, 1, 2, 0]
             dilations = [1, 2] groups = 2
              : tensor<2x6x3x4xf64>, tensor<6x2x2x3xf64> to tensor<2x4x5x6xf64>
          dl.return %dx : tensor<2x4x5x6xf64>)"},
      {"convolution_backward_filter",
       "(%x: tensor<2x4x5x6xf64>, %dy: tensor<2x6x3x4xf64>) -> tensor<6x2x2x3xf64>",
       R"(%dw = dl.convolution_backward_filter %x, %dy strides = [2, 1] padding = [0, 1, 2, 0]
             dilations = [1, 2] groups = 2
              : tensor<2x4x5x6xf64>, tensor<2x6x3x4xf64> to tensor<6x2x2x3xf64>
          dl.return %dw : tensor<6x2x2x3xf64>)"},
  };
}

static std::vector<Case> poolingCases() {
  return {
      {"max_pool", "(%x: tensor<2x3x5x7xf64>) -> tensor<2x3x3x3xf64>",
       R"(%y = dl.max_pool %x kernel = [3, 2] strides = [2, 3] padding = [1, 1, 0, 1]
             dilations = [1, 1]
              : tensor<2x3x5x7xf64> -> tensor<2x3x3x3xf64>
          %z = dl.multiply %y, %y : tensor<2x3x3x3xf64>
          dl.return %z : tensor<2x3x3x3xf64>)"},
      // Overlapping windows with gaps inside, and an index that was asked for.
      {"max_pool_with_index", "(%x: tensor<1x2x8xf64>) -> tensor<1x2x5xf64>",
       R"(%y, %i = dl.max_pool %x kernel = [3] strides = [1] padding = [1, 0] dilations = [2]
              : tensor<1x2x8xf64> -> tensor<1x2x5xf64>, tensor<1x2x5xui8>
          %z = dl.exp %y : tensor<1x2x5xf64>
          dl.return %z : tensor<1x2x5xf64>)"},
      {"max_pool_ceil", "(%x: tensor<1x2x6x4xf64>) -> tensor<1x2x3x2xf64>",
       R"(%y = dl.max_pool %x kernel = [3, 3] strides = [2, 2] padding = [0, 0, 0, 0]
             dilations = [1, 1]
              : tensor<1x2x6x4xf64> -> tensor<1x2x3x2xf64>
          dl.return %y : tensor<1x2x3x2xf64>)"},
      {"max_pool_3d", "(%x: tensor<1x1x4x3x5xf64>) -> tensor<1x1x2x2x2xf64>",
       R"(%y = dl.max_pool %x kernel = [2, 2, 3] strides = [2, 1, 2] padding = [0, 0, 0, 0, 0, 0]
             dilations = [1, 1, 1]
              : tensor<1x1x4x3x5xf64> -> tensor<1x1x2x2x2xf64>
          dl.return %y : tensor<1x1x2x2x2xf64>)"},
      {"max_pool_backward",
       "(%dy: tensor<1x2x3xf64>, %i: tensor<1x2x3xui8>) -> tensor<1x2x6xf64>",
       R"(%dx = dl.max_pool_backward %dy, %i kernel = [3] strides = [2] padding = [1, 1]
             dilations = [1]
              : tensor<1x2x3xf64>, tensor<1x2x3xui8> to tensor<1x2x6xf64>
          dl.return %dx : tensor<1x2x6xf64>)",
       {{}, {3, 0}}},
      {"max_pool_gather",
       "(%x: tensor<1x2x6xf64>, %i: tensor<1x2x3xui8>) -> tensor<1x2x3xf64>",
       R"(%y = dl.max_pool_gather %x, %i kernel = [3] strides = [2] padding = [1, 1] dilations = [1]
              : tensor<1x2x6xf64>, tensor<1x2x3xui8> to tensor<1x2x3xf64>
          dl.return %y : tensor<1x2x3xf64>)",
       {{}, {3, 0}}},
      {"sliding_sum", "(%x: tensor<2x5x3xf64>) -> tensor<2x5x3xf64>",
       R"(%y = dl.sliding_sum %x axis = 1 before = 2 after = 1 : tensor<2x5x3xf64>
          dl.return %y : tensor<2x5x3xf64>)"},
      {"average_pool", "(%x: tensor<2x3x5x7xf64>) -> tensor<2x3x3x3xf64>",
       R"(%y = dl.average_pool %x kernel = [3, 2] strides = [2, 3] padding = [1, 1, 0, 1]
             dilations = [1, 1]
              : tensor<2x3x5x7xf64> -> tensor<2x3x3x3xf64>
          dl.return %y : tensor<2x3x3x3xf64>)"},
      {"average_pool_padding_counts", "(%x: tensor<1x2x6x5xf64>) -> tensor<1x2x4x3xf64>",
       R"(%y = dl.average_pool %x kernel = [3, 3] strides = [2, 2] padding = [1, 1, 1, 0]
             dilations = [1, 1] count_include_pad
              : tensor<1x2x6x5xf64> -> tensor<1x2x4x3xf64>
          dl.return %y : tensor<1x2x4x3xf64>)"},
      {"average_pool_backward", "(%dy: tensor<1x2x4x3xf64>) -> tensor<1x2x6x5xf64>",
       R"(%dx = dl.average_pool_backward %dy kernel = [3, 3] strides = [2, 2] padding = [1, 1, 1, 0]
             dilations = [1, 1]
              : tensor<1x2x4x3xf64> to tensor<1x2x6x5xf64>
          dl.return %dx : tensor<1x2x6x5xf64>)"},
  };
}

/// Images read at places of which some lie outside. The slope along the image has no gradient of
/// its own.
static std::vector<Case> sampleCases() {
  const std::string x = "tensor<2x2x4x3xf64>", grid = "tensor<2x3x2x2xf64>",
                    y = "tensor<2x2x3x2xf64>";
  const std::vector<DrawRange> ranges = {{}, {1.7, 0.1}};
  std::vector<Case> cases;
  for (auto [name, kind] : {std::pair("grid_sample", ""),
                            {"grid_sample_border", "border align_corners"},
                            {"grid_sample_reflect", "reflect"},
                            {"grid_sample_corners", "reflect align_corners"},
                            {"grid_sample_nearest", "nearest border"}})
    cases.push_back({name, "(%x: " + x + ", %g: " + grid + ") -> " + y,
                     "%y = dl.grid_sample %x, %g " + std::string(kind) + " : " + x + ", " + grid +
                         " dl.return %y : " + y,
                     ranges, /*orders=*/1});
  cases.push_back({"grid_sample_backward_image", "(%d: " + y + ", %g: " + grid + ") -> " + x,
                   "%x = dl.grid_sample_backward_image %d, %g border : " + y + ", " + grid +
                       " to " + x + " dl.return %x : " + x,
                   ranges, /*orders=*/1});
  cases.push_back({"grid_sample_at_fixed_places", "(%x: " + x + ") -> " + y,
                   "%g = dl.constant dense<0.37> : " + grid + " %y = dl.grid_sample %x, %g : " + x +
                       ", " + grid + " %z = dl.exp %y : " + y + " dl.return %z : " + y});
  return cases;
}

static std::vector<Case> networkCases() {
  return {
      // Some labels are no class: no loss, no gradient.
      {"softmax_cross_entropy",
       "(%x: tensor<6x4xf64>, %label: tensor<6xi32>) -> tensor<6xf64>",
       R"(%l = dl.softmax_cross_entropy %x, %label axis = 1 : tensor<6x4xf64>, tensor<6xi32>
          dl.return %l : tensor<6xf64>)",
       {{3, 0}, {6, -1}}},
      {"smoothed_cross_entropy",
       "(%x: tensor<6x4xf64>, %label: tensor<6xi32>) -> tensor<6xf64>",
       R"(%l = dl.smoothed_cross_entropy %x, %label axis = 1 smoothing = 0.2
              : tensor<6x4xf64>, tensor<6xi32>
          dl.return %l : tensor<6xf64>)",
       {{3, 0}, {6, -1}}},
      {"probability_cross_entropy",
       "(%x: tensor<2x5x3xf64>, %t: tensor<2x5x3xf64>) -> tensor<2x3xf64>",
       R"(%l = dl.probability_cross_entropy %x, %t axis = 1 : tensor<2x5x3xf64>
          dl.return %l : tensor<2x3xf64>)",
       {{2, 1}, {0.5, 0.5}}},
      {"softmax_cross_entropy_inner_axis",
       "(%x: tensor<2x5x3xf64>, %label: tensor<2x3xi64>) -> tensor<2x3xf64>",
       R"(%l = dl.softmax_cross_entropy %x, %label axis = 1 : tensor<2x5x3xf64>, tensor<2x3xi64>
          dl.return %l : tensor<2x3xf64>)",
       {{2, 1}, {5, 0}}},
      {"attention",
       "(%q: tensor<1x2x3x2xf64>, %k: tensor<1x2x4x2xf64>, %v: tensor<1x2x4x3xf64>) -> "
       "(tensor<1x2x3x3xf64>, tensor<1x2x3xf64>)",
       R"(%o, %l = dl.attention %q, %k, %v scale = 0.7 causal :
             tensor<1x2x3x2xf64>, tensor<1x2x4x2xf64>, tensor<1x2x4x3xf64>
          dl.return %o, %l : tensor<1x2x3x3xf64>, tensor<1x2x3xf64>)"},
      {"attention_masked",
       "(%q: tensor<1x1x3x2xf64>, %k: tensor<1x1x2x2xf64>, %v: tensor<1x1x2x2xf64>, "
       "%m: tensor<1x1x3x2xf64>, %n: tensor<1x1x3x2xi32>) -> tensor<1x1x3x2xf64>",
       R"(%two = dl.constant dense<2> : tensor<1x1x3x2xi32>
          %kept = dl.compare lt %n, %two : tensor<1x1x3x2xi32>
          %o, %l = dl.attention %q, %k, %v mask(%m : tensor<1x1x3x2xf64>)
             kept(%kept : tensor<1x1x3x2xi1>) scale = 0.7 rate = 0.25 :
             tensor<1x1x3x2xf64>, tensor<1x1x2x2xf64>, tensor<1x1x2x2xf64>
          dl.return %o : tensor<1x1x3x2xf64>)",
       {{}, {}, {}, {}, {3, 0}}},
      // Hidden scores, and a row that sees nothing.
      {"attention_hidden",
       "(%q: tensor<1x1x3x2xf64>, %k: tensor<1x1x2x2xf64>, %v: tensor<1x1x2x2xf64>) -> "
       "tensor<1x1x3x2xf64>",
       R"(%m = dl.constant dense<[[[[true, true], [false, true], [false, false]]]]> :
             tensor<1x1x3x2xi1>
          %o, %l = dl.attention %q, %k, %v mask(%m : tensor<1x1x3x2xi1>) scale = 0.7 :
             tensor<1x1x3x2xf64>, tensor<1x1x2x2xf64>, tensor<1x1x2x2xf64>
          dl.return %o : tensor<1x1x3x2xf64>)"},
      {"softmax_cross_entropy_backward",
       "(%dloss: tensor<3xf64>, %x: tensor<3x4xf64>, %label: tensor<3xi32>) -> tensor<3x4xf64>",
       R"(%dx = dl.softmax_cross_entropy_backward %dloss, %x, %label axis = 1
              : tensor<3xf64>, tensor<3x4xf64>, tensor<3xi32>
          dl.return %dx : tensor<3x4xf64>)",
       {{}, {2, 0}, {4, 0}}},
      {"network",
       "(%x: tensor<2x1x7x7xf64>, %w: tensor<2x1x3x3xf64>, %b: tensor<2xf64>, %v: tensor<3x8xf64>, "
       "%label: tensor<2xi32>) -> tensor<f64>",
       R"(%0 = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1]
             groups = 1
              : tensor<2x1x7x7xf64>, tensor<2x1x3x3xf64>
          %1 = dl.broadcast %b dims = [1] : tensor<2xf64> to tensor<2x2x5x5xf64>
          %2 = dl.add %0, %1 : tensor<2x2x5x5xf64>
          %3 = dl.tanh %2 : tensor<2x2x5x5xf64>
          %4 = dl.max_pool %3 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0]
              dilations = [1, 1]
              : tensor<2x2x5x5xf64> -> tensor<2x2x2x2xf64>
          %5 = dl.reshape %4 : tensor<2x2x2x2xf64> to tensor<2x8xf64>
          %6 = dl.matmul %5, %v transpose_b : tensor<2x8xf64>, tensor<3x8xf64>
          %7 = dl.softmax_cross_entropy %6, %label axis = 1 : tensor<2x3xf64>, tensor<2xi32>
          %8 = dl.reduce sum %7 axes = [0] : tensor<2xf64>
          dl.return %8 : tensor<f64>)",
       {{}, {}, {}, {}, {3, 0}}},
  };
}

static const DrawRange positive = {0.9, 1.3};

static std::vector<Case> compositeCases() {
  return {
      {"batch_norm",
       "(%x: tensor<3x2x4xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>) -> tensor<3x2x4xf64>",
       R"(%y, %m, %v = dl.batch_norm %x scale(%s : tensor<2xf64>) bias(%b : tensor<2xf64>) epsilon =
             1.0e-02 : tensor<3x2x4xf64>
          dl.return %y : tensor<3x2x4xf64>)",
       {{1, 3}}},
      {"batch_norm_with_its_statistics",
       "(%x: tensor<5x2xf64>, %b: tensor<2xf64>) -> (tensor<5x2xf64>, tensor<2xf64>, "
       "tensor<2xf64>)",
       R"(%y, %m, %v = dl.batch_norm %x bias(%b : tensor<2xf64>) epsilon = 1.0e-02 : tensor<5x2xf64>
          dl.return %y, %m, %v : tensor<5x2xf64>, tensor<2xf64>, tensor<2xf64>)"},
      {"batch_norm_statistics_alone", "(%x: tensor<3x2x4xf64>) -> (tensor<2xf64>, tensor<2xf64>)",
       R"(%y, %m, %v = dl.batch_norm %x epsilon = 1.0e-02 : tensor<3x2x4xf64>
          dl.return %m, %v : tensor<2xf64>, tensor<2xf64>)"},
      {"batch_norm_inference",
       "(%x: tensor<3x2x4xf64>, %m: tensor<2xf64>, %v: tensor<2xf64>, %s: tensor<2xf64>) -> "
       "tensor<3x2x4xf64>",
       R"(%y = dl.batch_norm_inference %x, %m, %v scale(%s : tensor<2xf64>) epsilon = 1.0e-02 :
             tensor<3x2x4xf64>
          dl.return %y : tensor<3x2x4xf64>)",
       {{}, {}, positive}},
      {"layer_norm",
       "(%x: tensor<2x3x4xf64>, %s: tensor<2x4xf64>, %b: tensor<2x4xf64>) -> tensor<2x3x4xf64>",
       R"(%y = dl.layer_norm %x scale(%s : tensor<2x4xf64>) bias(%b : tensor<2x4xf64>) axes = [0, 2]
             epsilon = 1.0e-02 : tensor<2x3x4xf64>
          dl.return %y : tensor<2x3x4xf64>)"},
      {"rms_norm", "(%x: tensor<2x3x4xf64>, %s: tensor<4xf64>) -> tensor<2x3x4xf64>",
       R"(%y = dl.rms_norm %x scale(%s : tensor<4xf64>) axes = [2] epsilon = 1.0e-02 :
             tensor<2x3x4xf64>
          dl.return %y : tensor<2x3x4xf64>)"},
      {"group_norm",
       "(%x: tensor<2x4x3xf64>, %s: tensor<4xf64>, %b: tensor<4xf64>) -> tensor<2x4x3xf64>",
       R"(%y = dl.group_norm %x scale(%s : tensor<4xf64>) bias(%b : tensor<4xf64>) groups = 2
             epsilon = 1.0e-02 : tensor<2x4x3xf64>
          dl.return %y : tensor<2x4x3xf64>)"},
      {"local_response_norm", "(%x: tensor<2x5x3xf64>) -> tensor<2x5x3xf64>",
       R"(%y = dl.local_response_norm %x size = 3 alpha = 1.5 beta = 0.75 k = 1.0 :
             tensor<2x5x3xf64>
          dl.return %y : tensor<2x5x3xf64>)"},
      {"local_response_norm_wider_than_its_channels",
       "(%x: tensor<2x3x3xf64>) -> tensor<2x3x3xf64>",
       R"(%y = dl.local_response_norm %x size = 10 alpha = 5.0 beta = 0.75 k = 1.0 :
             tensor<2x3x3xf64>
          dl.return %y : tensor<2x3x3xf64>)"},
      {"softmax",
       "(%x: tensor<2x4x3xf64>) -> tensor<2x4x3xf64>",
       R"(%y = dl.softmax %x axis = 1 : tensor<2x4x3xf64> dl.return %y : tensor<2x4x3xf64>)",
       {{2, 0}}},
      {"log_softmax",
       "(%x: tensor<2x4x3xf64>) -> tensor<2x4x3xf64>",
       R"(%y = dl.log_softmax %x axis = 1 : tensor<2x4x3xf64> dl.return %y : tensor<2x4x3xf64>)",
       {{2, 0}}},
      {"gelu_exact",
       "(%x: tensor<4x3xf64>) -> tensor<4x3xf64>",
       "%y = dl.gelu %x exact : tensor<4x3xf64> dl.return %y : tensor<4x3xf64>",
       {{2, 0}}},
      {"stop_gradient_of_a_constant", "(%x: tensor<4xf64>) -> tensor<4xf64>",
       R"(%c = dl.constant dense<3.0> : tensor<4xf64>
          %s = dl.stop_gradient %c : tensor<4xf64>
          %y = dl.multiply %s, %x : tensor<4xf64> dl.return %y : tensor<4xf64>)"},
      {"gelu",
       unarySignature,
       "%y = dl.gelu %x : tensor<4x3xf64> dl.return %y : tensor<4x3xf64>",
       {{2, 0}}},
      {"sigmoid_cross_entropy",
       binarySignature,
       "%c = dl.sigmoid_cross_entropy %a, %b : tensor<4x3xf64> dl.return %c : tensor<4x3xf64>",
       {{3, 0}, {0.5, 0.5}}},
      {"huber", binarySignature,
       "%c = dl.huber %a, %b delta = 0.5 : tensor<4x3xf64> dl.return %c : tensor<4x3xf64>"},
      {"hinge", binarySignature,
       "%c = dl.hinge %a, %b margin = 0.25 : tensor<4x3xf64> dl.return %c : tensor<4x3xf64>"},
      {"kl_divergence", binarySignature,
       "%c = dl.kl_divergence %a, %b : tensor<4x3xf64> dl.return %c : tensor<4x3xf64>"},
  };
}

llvm::ArrayRef<Case> allCases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> all;
    for (auto group : {rowCases, elementwiseCases, tensorCases, convolutionCases, poolingCases,
                       sampleCases, networkCases, compositeCases, recurrentCases}) {
      std::vector<Case> some = group();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }();
  return cases;
}

} // namespace dlc::gradients
