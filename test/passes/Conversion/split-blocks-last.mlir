// RUN: dlc-opt --convert-dl-to-exec --mlir-print-local-scope %s | FileCheck %s
// Blocks of channels behind all pixels, which is where channels stand that are innermost, are axes as they lie in memory, too.

#nhwc16c = #program.layout<order = [0, 2, 3, 1], blocks = [1, 16]>

// A bias over the channels and their sums: rows of all channels, walked from end to end.
// CHECK: exec.kernel
// CHECK: ^bb0(%[[X:.*]]: tensor<2x4x5x2x16xf32>, %[[B:.*]]: tensor<2x16xf32>):
// CHECK-NEXT: %[[BB:.*]] = dl.broadcast %[[B]] dims = [3, 4] : tensor<2x16xf32> to tensor<2x4x5x2x16xf32>
// CHECK-NEXT: %[[Y:.*]] = dl.add %[[X]], %[[BB]] : tensor<2x4x5x2x16xf32>
// CHECK-NEXT: %[[S:.*]] = dl.reduce sum %[[Y]] axes = [0, 1, 2] : tensor<2x4x5x2x16xf32>
// CHECK-NEXT: dl.yield %[[Y]], %[[S]] : tensor<2x4x5x2x16xf32>, tensor<2x16xf32>

// Channels of several tensors behind each other.
// CHECK: exec.kernel
// CHECK: dl.concat %{{.*}}, %{{.*}} axis = 3 : tensor<2x4x5x2x16xf32>, tensor<2x4x5x1x16xf32>

// What lies row-major is transposed.
// CHECK: exec.kernel
// CHECK: ^bb0(%[[A:.*]]: tensor<2x4x5x2x16xf32>, %[[R:.*]]: tensor<2x2x16x4x5xf32>):
// CHECK-NEXT: %[[T:.*]] = dl.transpose %[[R]] order = [0, 3, 4, 1, 2] : tensor<2x2x16x4x5xf32>
// CHECK-NEXT: dl.add %[[A]], %[[T]] : tensor<2x4x5x2x16xf32>

// Pooling takes its second axis for channels: it slides over pixels of lines, and where these lie stays a layout.
// CHECK: exec.kernel
// CHECK: ^bb0(%[[P:.*]]: tensor<2x2x4x5x16xf32, #program.layout<order = [0, 2, 3, 1, 4]>>):
// CHECK-NEXT: %[[Q:.*]] = dl.convert_layout %[[P]] : {{.*}} to tensor<2x2x4x5x16xf32>
// CHECK-NEXT: %{{.*}}, %{{.*}} = dl.max_pool %[[Q]] kernel = [3, 2, 1] strides = [2, 1, 1] padding = [1, 0, 0, 1, 0, 0] dilations = [1, 1, 1] : tensor<2x2x4x5x16xf32> -> tensor<2x2x2x5x16xf32>, tensor<2x2x2x5x16xui8>
// CHECK-NEXT: dl.convert_layout %{{.*}} : tensor<2x2x2x5x16xf32> to tensor<2x2x2x5x16xf32, #program.layout<order = [0, 2, 3, 1, 4]>>
// CHECK-NEXT: dl.convert_layout %{{.*}} : tensor<2x2x2x5x16xui8> to tensor<2x2x2x5x16xui8, #program.layout<order = [0, 2, 3, 1, 4]>>
// CHECK-NOT: exec.kernel
dl.entry @infer(%x: tensor<2x32x4x5xf32, #nhwc16c>, %rows: tensor<2x32x4x5xf32>, %b: tensor<32xf32>,
                %few: tensor<2x16x4x5xf32, #nhwc16c>) attributes {kind = #program.entry<infer>} {
  %0:2 = dl.fused(%x, %b) : (tensor<2x32x4x5xf32, #nhwc16c>, tensor<32xf32>) -> (tensor<2x32x4x5xf32, #nhwc16c>, tensor<32xf32>) {
  ^bb0(%a: tensor<2x32x4x5xf32, #nhwc16c>, %c: tensor<32xf32>):
    %1 = dl.convert_layout %a : tensor<2x32x4x5xf32, #nhwc16c> to tensor<2x32x4x5xf32>
    %2 = dl.broadcast %c dims = [1] : tensor<32xf32> to tensor<2x32x4x5xf32>
    %3 = dl.add %1, %2 : tensor<2x32x4x5xf32>
    %4 = dl.reduce sum %3 axes = [0, 2, 3] : tensor<2x32x4x5xf32>
    %5 = dl.convert_layout %3 : tensor<2x32x4x5xf32> to tensor<2x32x4x5xf32, #nhwc16c>
    dl.yield %5, %4 : tensor<2x32x4x5xf32, #nhwc16c>, tensor<32xf32>
  }
  %10 = dl.fused(%x, %few) : (tensor<2x32x4x5xf32, #nhwc16c>, tensor<2x16x4x5xf32, #nhwc16c>) -> tensor<2x48x4x5xf32, #nhwc16c> {
  ^bb0(%a: tensor<2x32x4x5xf32, #nhwc16c>, %c: tensor<2x16x4x5xf32, #nhwc16c>):
    %1 = dl.convert_layout %a : tensor<2x32x4x5xf32, #nhwc16c> to tensor<2x32x4x5xf32>
    %2 = dl.convert_layout %c : tensor<2x16x4x5xf32, #nhwc16c> to tensor<2x16x4x5xf32>
    %3 = dl.concat %1, %2 axis = 1 : tensor<2x32x4x5xf32>, tensor<2x16x4x5xf32>
    %4 = dl.convert_layout %3 : tensor<2x48x4x5xf32> to tensor<2x48x4x5xf32, #nhwc16c>
    dl.yield %4 : tensor<2x48x4x5xf32, #nhwc16c>
  }
  %20 = dl.fused(%x, %rows) : (tensor<2x32x4x5xf32, #nhwc16c>, tensor<2x32x4x5xf32>) -> tensor<2x32x4x5xf32, #nhwc16c> {
  ^bb0(%a: tensor<2x32x4x5xf32, #nhwc16c>, %c: tensor<2x32x4x5xf32>):
    %1 = dl.convert_layout %a : tensor<2x32x4x5xf32, #nhwc16c> to tensor<2x32x4x5xf32>
    %2 = dl.add %1, %c : tensor<2x32x4x5xf32>
    %3 = dl.convert_layout %2 : tensor<2x32x4x5xf32> to tensor<2x32x4x5xf32, #nhwc16c>
    dl.yield %3 : tensor<2x32x4x5xf32, #nhwc16c>
  }
  %30:2 = dl.fused(%x) : (tensor<2x32x4x5xf32, #nhwc16c>) -> (tensor<2x32x2x5xf32, #nhwc16c>, tensor<2x32x2x5xui8, #nhwc16c>) {
  ^bb0(%a: tensor<2x32x4x5xf32, #nhwc16c>):
    %1 = dl.convert_layout %a : tensor<2x32x4x5xf32, #nhwc16c> to tensor<2x32x4x5xf32>
    %2, %i = dl.max_pool %1 kernel = [3, 2] strides = [2, 1] padding = [1, 0, 0, 1] dilations = [1, 1] : tensor<2x32x4x5xf32> -> tensor<2x32x2x5xf32>, tensor<2x32x2x5xui8>
    %3 = dl.convert_layout %2 : tensor<2x32x2x5xf32> to tensor<2x32x2x5xf32, #nhwc16c>
    %4 = dl.convert_layout %i : tensor<2x32x2x5xui8> to tensor<2x32x2x5xui8, #nhwc16c>
    dl.yield %3, %4 : tensor<2x32x2x5xf32, #nhwc16c>, tensor<2x32x2x5xui8, #nhwc16c>
  }
  dl.return
}
