// A whole training step: every gradient is computed in the flat buffer, so that nothing is copied, and the update is one launch.
// RUN: dlc-opt --mlir-print-debuginfo --dl-pipeline %S/Inputs/lenet.mlir | dlc-opt --exec-pipeline | FileCheck %s

// CHECK: exec.program @train_step attributes {arena_bytes = 5595392 : i64, batch = 64 : i64
// CHECK-NOT: exec.copy
// CHECK: exec.program @infer_n1
// CHECK-NOT: exec.copy
