// RUN: dlc-opt --dl-choose="target=cpu:avx2" %s | FileCheck %s

dl.variable @w : tensor<1024x256xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @v : tensor<1024x256xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)

// Four products with the same weight share its packing, which a product alone does not pay for.
// CHECK-LABEL: dl.entry @train_step
// CHECK-COUNT-4: dl.fused({{.*}} {candidate = #program.candidate<generator = "cpu-gemm", {{[^}]*}} packed b"
// CHECK: dl.fused({{.*}} {candidate = #program.candidate<generator = "cpu-gemm", schedule = "gemm {{[^"]*}} splits {{[0-9]+}}"
dl.entry @train_step(%a: tensor<32x256xf32>, %b: tensor<32x256xf32>, %c: tensor<32x256xf32>, %d: tensor<32x256xf32>)
    -> (tensor<32x1024xf32>, tensor<32x1024xf32>, tensor<32x1024xf32>, tensor<32x1024xf32>, tensor<32x1024xf32>)
    attributes {kind = #program.entry<train>} {
  %w = dl.read @w : tensor<1024x256xf32>
  %v = dl.read @v : tensor<1024x256xf32>
  %ya = dl.fused(%a, %w) : (tensor<32x256xf32>, tensor<1024x256xf32>) -> tensor<32x1024xf32> {
  ^bb0(%0: tensor<32x256xf32>, %1: tensor<1024x256xf32>):
    %2 = dl.matmul %0, %1 transpose_b : tensor<32x256xf32>, tensor<1024x256xf32>
    dl.yield %2 : tensor<32x1024xf32>
  }
  %yb = dl.fused(%b, %w) : (tensor<32x256xf32>, tensor<1024x256xf32>) -> tensor<32x1024xf32> {
  ^bb0(%0: tensor<32x256xf32>, %1: tensor<1024x256xf32>):
    %2 = dl.matmul %0, %1 transpose_b : tensor<32x256xf32>, tensor<1024x256xf32>
    dl.yield %2 : tensor<32x1024xf32>
  }
  %yc = dl.fused(%c, %w) : (tensor<32x256xf32>, tensor<1024x256xf32>) -> tensor<32x1024xf32> {
  ^bb0(%0: tensor<32x256xf32>, %1: tensor<1024x256xf32>):
    %2 = dl.matmul %0, %1 transpose_b : tensor<32x256xf32>, tensor<1024x256xf32>
    dl.yield %2 : tensor<32x1024xf32>
  }
  %yd = dl.fused(%d, %w) : (tensor<32x256xf32>, tensor<1024x256xf32>) -> tensor<32x1024xf32> {
  ^bb0(%0: tensor<32x256xf32>, %1: tensor<1024x256xf32>):
    %2 = dl.matmul %0, %1 transpose_b : tensor<32x256xf32>, tensor<1024x256xf32>
    dl.yield %2 : tensor<32x1024xf32>
  }
  %y = dl.fused(%a, %v) : (tensor<32x256xf32>, tensor<1024x256xf32>) -> tensor<32x1024xf32> {
  ^bb0(%0: tensor<32x256xf32>, %1: tensor<1024x256xf32>):
    %2 = dl.matmul %0, %1 transpose_b : tensor<32x256xf32>, tensor<1024x256xf32>
    dl.yield %2 : tensor<32x1024xf32>
  }
  dl.return %ya, %yb, %yc, %yd, %y : tensor<32x1024xf32>, tensor<32x1024xf32>, tensor<32x1024xf32>, tensor<32x1024xf32>, tensor<32x1024xf32>
}
