// RUN: dlc-opt --dl-divide-concats %s | FileCheck %s

// What is a matter of memory as it stands stays, however many parts it has, and so do sixteen parts.
// CHECK-LABEL: dl.entry @memory
// CHECK: dl.concat {{.*}} axis = 0
// CHECK: %[[Y:.*]] = dl.concat {{.*}} axis = 1
// CHECK: dl.return %{{.*}}, %[[Y]]
dl.entry @memory(%a: tensor<1x16xf32>, %b: tensor<4x1xf32>) -> (tensor<17x16xf32>, tensor<4x16xf32>) attributes {kind = #program.entry<infer>} {
  %y = dl.concat %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a axis = 0 : tensor<1x16xf32>, tensor<1x16xf32>,
      tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>,
      tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>,
      tensor<1x16xf32>
  %z = dl.concat %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b axis = 1 : tensor<4x1xf32>, tensor<4x1xf32>,
      tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>,
      tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  dl.return %y, %z : tensor<17x16xf32>, tensor<4x16xf32>
}

// Equal parts of 64 bytes: behind each other, then turned into their places.
// CHECK-LABEL: dl.entry @turned
// CHECK: %[[PART:.*]] = dl.reshape %{{.*}} : tensor<8x2xf32> to tensor<1x8x2xf32>
// CHECK: %[[JOINED:.*]] = dl.concat {{.*}} axis = 0
// CHECK: %[[TURNED:.*]] = dl.transpose %[[JOINED]] order = [1, 0, 2] : tensor<17x8x2xf32>
// CHECK: %[[Y:.*]] = dl.reshape %[[TURNED]] : tensor<8x17x2xf32> to tensor<8x34xf32>
// CHECK: dl.return %[[Y]]
dl.entry @turned(%a: tensor<8x2xf32>) -> (tensor<8x34xf32>) attributes {kind = #program.entry<infer>} {
  %y = dl.concat %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a axis = 1 : tensor<8x2xf32>, tensor<8x2xf32>,
      tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>,
      tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>,
      tensor<8x2xf32>
  dl.return %y : tensor<8x34xf32>
}

// Others sixteen by sixteen, the last one alone.
// CHECK-LABEL: dl.entry @grouped
// CHECK-SAME: %[[A:.*]]: tensor<3xf32>
// CHECK: %[[GROUP:.*]] = dl.concat {{.*}} axis = 0
// CHECK: %[[Y:.*]] = dl.concat %[[GROUP]], %[[A]] axis = 0 : tensor<48xf32>, tensor<3xf32>
// CHECK: dl.return %[[Y]]
dl.entry @grouped(%a: tensor<3xf32>) -> (tensor<51xf32>) attributes {kind = #program.entry<infer>} {
  %y = dl.concat %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a axis = 0 : tensor<3xf32>, tensor<3xf32>,
      tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>,
      tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  dl.return %y : tensor<51xf32>
}
