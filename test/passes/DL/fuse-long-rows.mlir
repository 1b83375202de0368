// RUN: dlc-opt --dl-pipeline='target=cpu:znver4' %s | FileCheck %s --check-prefixes=CHECK,ZEN
// RUN: dlc-opt --dl-pipeline='target=cpu:haswell' %s | FileCheck %s --check-prefixes=CHECK,HASWELL

// A core's second cache holds several rows of 256 KiB where it has 1 MiB, and reads them once; where it has a quarter of that, rows of 64.
// CHECK-LABEL: dl.entry @rows
// ZEN: dl.fused
// ZEN-NOT: dl.fused
// HASWELL-COUNT-2: dl.fused
// HASWELL-NOT: dl.fused
// CHECK: dl.return
dl.entry @rows(%x: tensor<8x65536xf32>) -> (tensor<8x65536xf32>) attributes {kind = #program.entry<infer>} {
  %m = dl.reduce max %x axes = [1] : tensor<8x65536xf32>
  %bm = dl.broadcast %m dims = [0] : tensor<8xf32> to tensor<8x65536xf32>
  %y = dl.divide %x, %bm : tensor<8x65536xf32>
  dl.return %y : tensor<8x65536xf32>
}

// Neither holds several of a row of more.
// CHECK-LABEL: dl.entry @long_rows
// CHECK-COUNT-2: dl.fused
// CHECK-NOT: dl.fused
// CHECK: dl.return
dl.entry @long_rows(%x: tensor<8x65537xf32>) -> (tensor<8x65537xf32>) attributes {kind = #program.entry<infer>} {
  %m = dl.reduce max %x axes = [1] : tensor<8x65537xf32>
  %bm = dl.broadcast %m dims = [0] : tensor<8xf32> to tensor<8x65537xf32>
  %y = dl.divide %x, %bm : tensor<8x65537xf32>
  dl.return %y : tensor<8x65537xf32>
}
