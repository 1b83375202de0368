// RUN: dlc-opt --split-input-file --dl-pack-indices %s | FileCheck %s
#blocked = #program.layout<order = [0, 1, 2, 3], blocks = [1, 16]>

// The index of 2 x 2 in 2 bits: where it is made, as it is stored and where it is read.
// CHECK-LABEL: dl.entry @packed
// CHECK: dl.fused(%{{.*}}) : (tensor<2x32x8x8xf32, #{{.*}}>) -> (tensor<2x32x4x4xf32, #{{.*}}>, tensor<2x32x4x4xui2, #{{.*}}>)
// CHECK: dl.max_pool {{.*}} -> tensor<2x32x4x4xf32>, tensor<2x32x4x4xui2>
// CHECK: dl.convert_layout %{{.*}} : tensor<2x32x4x4xui2> to tensor<2x32x4x4xui2, #{{.*}}>
// CHECK: dl.fused(%{{.*}}, %{{.*}}) : (tensor<2x32x4x4xf32, #{{.*}}>, tensor<2x32x4x4xui2, #{{.*}}>)
// CHECK: dl.max_pool_backward {{.*}} : tensor<2x32x4x4xf32>, tensor<2x32x4x4xui2> to tensor<2x32x8x8xf32>
dl.entry @packed(%x: tensor<2x32x8x8xf32>) -> (tensor<2x32x8x8xf32>) attributes {kind = #program.entry<infer>} {
  %in = dl.convert_layout %x : tensor<2x32x8x8xf32> to tensor<2x32x8x8xf32, #blocked>
  %y, %i = dl.fused(%in) : (tensor<2x32x8x8xf32, #blocked>) -> (tensor<2x32x4x4xf32, #blocked>, tensor<2x32x4x4xui8, #blocked>) {
  ^bb0(%a: tensor<2x32x8x8xf32, #blocked>):
    %0 = dl.convert_layout %a : tensor<2x32x8x8xf32, #blocked> to tensor<2x32x8x8xf32>
    %1, %2 = dl.max_pool %0 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x32x8x8xf32> -> tensor<2x32x4x4xf32>, tensor<2x32x4x4xui8>
    %3 = dl.convert_layout %1 : tensor<2x32x4x4xf32> to tensor<2x32x4x4xf32, #blocked>
    %4 = dl.convert_layout %2 : tensor<2x32x4x4xui8> to tensor<2x32x4x4xui8, #blocked>
    dl.yield %3, %4 : tensor<2x32x4x4xf32, #blocked>, tensor<2x32x4x4xui8, #blocked>
  }
  %dx = dl.fused(%y, %i) : (tensor<2x32x4x4xf32, #blocked>, tensor<2x32x4x4xui8, #blocked>) -> tensor<2x32x8x8xf32, #blocked> {
  ^bb0(%a: tensor<2x32x4x4xf32, #blocked>, %b: tensor<2x32x4x4xui8, #blocked>):
    %0 = dl.convert_layout %a : tensor<2x32x4x4xf32, #blocked> to tensor<2x32x4x4xf32>
    %1 = dl.convert_layout %b : tensor<2x32x4x4xui8, #blocked> to tensor<2x32x4x4xui8>
    %2 = dl.max_pool_backward %0, %1 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x32x4x4xf32>, tensor<2x32x4x4xui8> to tensor<2x32x8x8xf32>
    %3 = dl.convert_layout %2 : tensor<2x32x8x8xf32> to tensor<2x32x8x8xf32, #blocked>
    dl.yield %3 : tensor<2x32x8x8xf32, #blocked>
  }
  %out = dl.convert_layout %dx : tensor<2x32x8x8xf32, #blocked> to tensor<2x32x8x8xf32>
  dl.return %out : tensor<2x32x8x8xf32>
}

// Nine elements take 4 bits, seventeen a byte.
// CHECK-LABEL: dl.entry @windows
// CHECK: dl.max_pool {{.*}} kernel = [3, 3] {{.*}} tensor<2x32x6x6xui4>
// CHECK: dl.max_pool {{.*}} kernel = [17, 1] {{.*}} tensor<2x32x1x8xui8>
dl.entry @windows(%x: tensor<2x32x8x8xf32>, %z: tensor<2x32x17x8xf32>) -> (tensor<2x32x6x6xf32>, tensor<2x32x1x8xf32>) attributes {kind = #program.entry<infer>} {
  %in = dl.convert_layout %x : tensor<2x32x8x8xf32> to tensor<2x32x8x8xf32, #blocked>
  %y, %i = dl.fused(%in) : (tensor<2x32x8x8xf32, #blocked>) -> (tensor<2x32x6x6xf32, #blocked>, tensor<2x32x6x6xui8, #blocked>) {
  ^bb0(%a: tensor<2x32x8x8xf32, #blocked>):
    %0 = dl.convert_layout %a : tensor<2x32x8x8xf32, #blocked> to tensor<2x32x8x8xf32>
    %1, %2 = dl.max_pool %0 kernel = [3, 3] strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x32x8x8xf32> -> tensor<2x32x6x6xf32>, tensor<2x32x6x6xui8>
    %3 = dl.convert_layout %1 : tensor<2x32x6x6xf32> to tensor<2x32x6x6xf32, #blocked>
    %4 = dl.convert_layout %2 : tensor<2x32x6x6xui8> to tensor<2x32x6x6xui8, #blocked>
    dl.yield %3, %4 : tensor<2x32x6x6xf32, #blocked>, tensor<2x32x6x6xui8, #blocked>
  }
  %large = dl.convert_layout %z : tensor<2x32x17x8xf32> to tensor<2x32x17x8xf32, #blocked>
  %w, %j = dl.fused(%large) : (tensor<2x32x17x8xf32, #blocked>) -> (tensor<2x32x1x8xf32, #blocked>, tensor<2x32x1x8xui8, #blocked>) {
  ^bb0(%a: tensor<2x32x17x8xf32, #blocked>):
    %0 = dl.convert_layout %a : tensor<2x32x17x8xf32, #blocked> to tensor<2x32x17x8xf32>
    %1, %2 = dl.max_pool %0 kernel = [17, 1] strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x32x17x8xf32> -> tensor<2x32x1x8xf32>, tensor<2x32x1x8xui8>
    %3 = dl.convert_layout %1 : tensor<2x32x1x8xf32> to tensor<2x32x1x8xf32, #blocked>
    %4 = dl.convert_layout %2 : tensor<2x32x1x8xui8> to tensor<2x32x1x8xui8, #blocked>
    dl.yield %3, %4 : tensor<2x32x1x8xf32, #blocked>, tensor<2x32x1x8xui8, #blocked>
  }
  %rows = dl.convert_layout %y : tensor<2x32x6x6xf32, #blocked> to tensor<2x32x6x6xf32>
  %columns = dl.convert_layout %w : tensor<2x32x1x8xf32, #blocked> to tensor<2x32x1x8xf32>
  dl.return %rows, %columns : tensor<2x32x6x6xf32>, tensor<2x32x1x8xf32>
}

// -----
#blocked = #program.layout<order = [0, 1, 2, 3], blocks = [1, 16]>

// A byte stays one where rows are not whole bytes, and where something else lies in other rows.
// CHECK-LABEL: dl.entry @apart
// CHECK-NOT: ui2
dl.entry @apart(%x: tensor<2x32x8x8xf32>) -> (tensor<2x32x4x4xf32>, tensor<2x32x4x4xf32>) attributes {kind = #program.entry<infer>} {
  %y, %i = dl.fused(%x) : (tensor<2x32x8x8xf32>) -> (tensor<2x32x4x4xf32>, tensor<2x32x4x4xui8>) {
  ^bb0(%a: tensor<2x32x8x8xf32>):
    %1, %2 = dl.max_pool %a kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x32x8x8xf32> -> tensor<2x32x4x4xf32>, tensor<2x32x4x4xui8>
    dl.yield %1, %2 : tensor<2x32x4x4xf32>, tensor<2x32x4x4xui8>
  }
  %z, %j = dl.fused(%x) : (tensor<2x32x8x8xf32>) -> (tensor<2x32x4x4xf32>, tensor<2x32x4x4xui8, #blocked>) {
  ^bb0(%a: tensor<2x32x8x8xf32>):
    %1, %2 = dl.max_pool %a kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x32x8x8xf32> -> tensor<2x32x4x4xf32>, tensor<2x32x4x4xui8>
    %3 = dl.convert_layout %2 : tensor<2x32x4x4xui8> to tensor<2x32x4x4xui8, #blocked>
    dl.yield %1, %3 : tensor<2x32x4x4xf32>, tensor<2x32x4x4xui8, #blocked>
  }
  dl.return %y, %z : tensor<2x32x4x4xf32>, tensor<2x32x4x4xf32>
}

// Nor where a reader writes other rows.
// CHECK-LABEL: dl.entry @read_apart
// CHECK-NOT: ui2
dl.entry @read_apart(%x: tensor<2x32x8x8xf32>) -> (tensor<2x32x8x8xf32>) attributes {kind = #program.entry<infer>} {
  %in = dl.convert_layout %x : tensor<2x32x8x8xf32> to tensor<2x32x8x8xf32, #blocked>
  %y, %i = dl.fused(%in) : (tensor<2x32x8x8xf32, #blocked>) -> (tensor<2x32x4x4xf32, #blocked>, tensor<2x32x4x4xui8, #blocked>) {
  ^bb0(%a: tensor<2x32x8x8xf32, #blocked>):
    %0 = dl.convert_layout %a : tensor<2x32x8x8xf32, #blocked> to tensor<2x32x8x8xf32>
    %1, %2 = dl.max_pool %0 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x32x8x8xf32> -> tensor<2x32x4x4xf32>, tensor<2x32x4x4xui8>
    %3 = dl.convert_layout %1 : tensor<2x32x4x4xf32> to tensor<2x32x4x4xf32, #blocked>
    %4 = dl.convert_layout %2 : tensor<2x32x4x4xui8> to tensor<2x32x4x4xui8, #blocked>
    dl.yield %3, %4 : tensor<2x32x4x4xf32, #blocked>, tensor<2x32x4x4xui8, #blocked>
  }
  %dx = dl.fused(%y, %i) : (tensor<2x32x4x4xf32, #blocked>, tensor<2x32x4x4xui8, #blocked>) -> tensor<2x32x8x8xf32> {
  ^bb0(%a: tensor<2x32x4x4xf32, #blocked>, %b: tensor<2x32x4x4xui8, #blocked>):
    %0 = dl.convert_layout %a : tensor<2x32x4x4xf32, #blocked> to tensor<2x32x4x4xf32>
    %1 = dl.convert_layout %b : tensor<2x32x4x4xui8, #blocked> to tensor<2x32x4x4xui8>
    %2 = dl.max_pool_backward %0, %1 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x32x4x4xf32>, tensor<2x32x4x4xui8> to tensor<2x32x8x8xf32>
    dl.yield %2 : tensor<2x32x8x8xf32>
  }
  dl.return %dx : tensor<2x32x8x8xf32>
}
