// Whether an operand is computed while it is read is for the target to say: cuBLASLt wants it in memory, the CPU's product
// packs it, and computes it on the way.
// RUN: dlc-opt --dl-pipeline=target=cuda:simt %s | FileCheck %s --check-prefix=STORED
// RUN: dlc-opt --dl-pipeline=target=cpu %s | FileCheck %s
// RUN: dlc-opt --dl-pipeline %s | FileCheck %s

// STORED: dl.fused
// STORED: dl.exp
// STORED: dl.fused
// STORED: dl.matmul
// CHECK: dl.fused
// CHECK: dl.exp
// CHECK-NOT: dl.fused
// CHECK: dl.matmul
dl.entry @f(%x: tensor<64x32xf32> {dl.name = "x"}, %w: tensor<32x16xf32> {dl.name = "w"})
    -> (tensor<64x16xf32> {dl.name = "y"}) attributes {kind = #program.entry<infer>} {
  %0 = dl.exp %x : tensor<64x32xf32>
  %1 = dl.matmul %0, %w : tensor<64x32xf32>, tensor<32x16xf32>
  dl.return %1 : tensor<64x16xf32>
}

// A product of no terms is no call of the library's: ours reads through the function.
// STORED-LABEL: dl.entry @no_terms
// STORED: dl.fused
// STORED: dl.exp
// STORED-NOT: dl.fused
// STORED: dl.matmul
dl.entry @no_terms(%x: tensor<64x0xf32> {dl.name = "x"}, %w: tensor<0x16xf32> {dl.name = "w"})
    -> (tensor<64x16xf32> {dl.name = "y"}) attributes {kind = #program.entry<infer>} {
  %0 = dl.exp %x : tensor<64x0xf32>
  %1 = dl.matmul %0, %w : tensor<64x0xf32>, tensor<0x16xf32>
  dl.return %1 : tensor<64x16xf32>
}
