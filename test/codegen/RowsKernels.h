//===- RowsKernels.h - kernels of sparse gradients, for the tests of all targets ----*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_ROWSKERNELS_H
#define DLC_TEST_CODEGEN_ROWSKERNELS_H

#include "test/codegen/Harness.h"
#include <gtest/gtest.h>

namespace dlc::test {

/// One float32 rounding an addition; a number has a handful of rows.
inline constexpr double rowsRounding = 1e-6;

/// A sum_rows of values that `prologue` computes, if there is one.
inline KernelSource sumRowsSource(const std::string &values, const std::string &index, int extent,
                                  const std::string &prologue = "") {
  std::string block = "^bb0(%v: " + values + ", %i: " + index + "):\n";
  if (!prologue.empty())
    block += "%w = dl." + prologue + " %v : " + values + "\n";
  return {values + ", " + index, values + ", " + index,
          block + "%rows, %numbers = dl.sum_rows " + (prologue.empty() ? "%v" : "%w") +
              ", %i extent = " + std::to_string(extent) + " : " + values + ", " + index +
              "\n dl.yield %rows, %numbers : " + values + ", " + index};
}

/// Adagrad: rows that have a number, a rest of a vector's width and none; other rows stay.
inline void checkUpdateRows(const char *target, const std::string &element, double tolerance) {
  const std::string table = "tensor<6x37x" + element + ">", rows = "tensor<2x2x37x" + element + ">",
                    scalar = "tensor<" + element + ">";
  const std::string types = table + ", " + table + ", " + rows + ", tensor<2x2xi32>, tensor<f32>";
  CompiledTestKernel kernel(
      {types, table + ", " + table,
       "^bb0(%p: " + table + ", %s: " + table + ", %r: " + rows +
           ", %n: tensor<2x2xi32>, %lr: tensor<f32>):\n" +
           "%new:2 = dl.update_rows(%p, %s) rows(%r, %n) scalars(%lr) : (" + types + ") -> (" +
           table + ", " + table + ") {\n ^bb0(%a: " + scalar + ", %b: " + scalar +
           ", %g: " + scalar + ", %rate: tensor<f32>):\n %wide = dl.cast %rate : tensor<f32> to " +
           scalar + "\n %0 = dl.multiply %g, %g : " + scalar + "\n %1 = dl.add %b, %0 : " + scalar +
           "\n %2 = dl.sqrt %1 : " + scalar + "\n %3 = dl.divide %g, %2 : " + scalar +
           "\n %4 = dl.multiply %wide, %3 : " + scalar + "\n %5 = dl.subtract %a, %4 : " + scalar +
           "\n dl.yield %5, %1 : " + scalar + ", " + scalar +
           "\n }\n dl.yield %new#0, %new#1 : " + table + ", " + table},
      target);
  ASSERT_TRUE(kernel);
  std::vector<Tensor> inputs = kernel.randomInputs();
  for (double &value : inputs[1].values)
    value = 1 + std::abs(value);
  inputs[3].values = {4, -1, 0, 9};
  const std::vector<Tensor> expected = kernel.oracle(inputs);
  const std::vector<Tensor> outputs = kernel.run(inputs);
  for (size_t result : {0, 1})
    for (size_t row = 0; row < 6; ++row)
      for (size_t i = row * 37; i < (row + 1) * 37; ++i) {
        const double found = outputs[result].values[i];
        if (row == 0 || row == 4)
          ASSERT_NEAR(found, expected[result].values[i], tolerance) << row;
        else // The harness poisons results: bytes 0xcb.
          ASSERT_LT(found, -2e7) << "wrote row " << row;
      }
  EXPECT_EQ(outputs[0].values, kernel.run(inputs, TaskOrder::Shuffled)[0].values);
}

} // namespace dlc::test

#endif
