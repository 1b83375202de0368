// RUN: dlc-opt --dl-assign-precision %s | FileCheck %s

dl.variable @w : tensor<5x3xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @s : tensor<5xf32> role<parameter> init(#program.init<constant, 1.0, 0.0>)
dl.variable @b : tensor<5xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)

// A product takes and gives 16 bits, and so does what is chosen of it; a bias is added in f32 and rounded once. The loss is f32's.
// CHECK-LABEL: dl.entry @layer
// CHECK-SAME: attributes {kind = #program.entry<train>}
// CHECK-DAG: %[[X:.*]] = dl.cast %{{.*}} : tensor<4x3xf32> to tensor<4x3xbf16>
// CHECK-DAG: %[[W:.*]] = dl.cast %{{.*}} : tensor<5x3xf32> to tensor<5x3xbf16>
// CHECK: %[[Y:.*]] = dl.matmul %[[X]], %[[W]] transpose_b : tensor<4x3xbf16>, tensor<5x3xbf16>
// CHECK: %[[B:.*]] = dl.broadcast %{{.*}} : tensor<5xf32> to tensor<4x5xf32>
// CHECK: %[[WIDE:.*]] = dl.cast %[[Y]] : tensor<4x5xbf16> to tensor<4x5xf32>
// CHECK: %[[SUM:.*]] = dl.add %[[WIDE]], %[[B]] : tensor<4x5xf32>
// CHECK: %[[ROUNDED:.*]] = dl.cast %[[SUM]] : tensor<4x5xf32> to tensor<4x5xbf16>
// CHECK: %[[R:.*]] = dl.relu %[[ROUNDED]] : tensor<4x5xbf16>
// CHECK: %[[LOGITS:.*]] = dl.cast %[[R]] : tensor<4x5xbf16> to tensor<4x5xf32>
// CHECK: dl.softmax_cross_entropy %[[LOGITS]]
// CHECK: dl.return %{{.*}}, %[[LOGITS]] : tensor<f32>, tensor<4x5xf32> loss(%{{.*}} : tensor<f32>)
dl.entry @layer(%x: tensor<4x3xf32>, %label: tensor<4xi32>) -> (tensor<f32>, tensor<4x5xf32>) attributes {dl.precision = bf16, kind = #program.entry<train>} {
  %w = dl.read @w : tensor<5x3xf32>
  %b = dl.read @b : tensor<5xf32>
  %y = dl.matmul %x, %w transpose_b : tensor<4x3xf32>, tensor<5x3xf32>
  %bb = dl.broadcast %b dims = [1] : tensor<5xf32> to tensor<4x5xf32>
  %s = dl.add %y, %bb : tensor<4x5xf32>
  %r = dl.relu %s : tensor<4x5xf32>
  %l = dl.softmax_cross_entropy %r, %label axis = 1 : tensor<4x5xf32>, tensor<4xi32>
  %sum = dl.reduce sum %l axes = [0] : tensor<4xf32>
  dl.return %sum, %r : tensor<f32>, tensor<4x5xf32> loss(%sum : tensor<f32>)
}

// A number does not decide: 2 is one of bf16's, 0.1 is not and multiplies in f32. A sum is f32's, and what meets it.
// CHECK-LABEL: dl.entry @numbers
// CHECK: %[[Y:.*]] = dl.matmul {{.*}} : tensor<4x3xbf16>, tensor<3x3xbf16>
// CHECK: %[[TWO:.*]] = dl.cast %{{.*}} : tensor<4x3xf32> to tensor<4x3xbf16>
// CHECK: %[[DOUBLE:.*]] = dl.multiply %[[Y]], %[[TWO]] : tensor<4x3xbf16>
// CHECK: %[[WIDE:.*]] = dl.cast %[[DOUBLE]]
// CHECK: %[[TENTH:.*]] = dl.multiply %[[WIDE]], %{{.*}} : tensor<4x3xf32>
// CHECK: %[[NARROW:.*]] = dl.cast %[[TENTH]] : tensor<4x3xf32> to tensor<4x3xbf16>
// CHECK: %[[AGAIN:.*]] = dl.cast %[[NARROW]] : tensor<4x3xbf16> to tensor<4x3xf32>
// CHECK: dl.reduce sum %[[AGAIN]] axes = [1] : tensor<4x3xf32>
// CHECK: dl.subtract %[[AGAIN]], %{{.*}} : tensor<4x3xf32>
dl.entry @numbers(%x: tensor<4x3xf32>, %v: tensor<3x3xf32>) -> (tensor<4x3xf32>) attributes {dl.precision = bf16, kind = #program.entry<infer>} {
  %two = dl.constant dense<2.0> : tensor<4x3xf32>
  %tenth = dl.constant dense<0.1> : tensor<4x3xf32>
  %y = dl.matmul %x, %v : tensor<4x3xf32>, tensor<3x3xf32>
  %d = dl.multiply %y, %two : tensor<4x3xf32>
  %t = dl.multiply %d, %tenth : tensor<4x3xf32>
  %s = dl.reduce sum %t axes = [1] : tensor<4x3xf32>
  %ss = dl.broadcast %s dims = [0] : tensor<4xf32> to tensor<4x3xf32>
  %z = dl.subtract %t, %ss : tensor<4x3xf32>
  dl.return %z : tensor<4x3xf32>
}

// What masks in f32 would be -inf in f16, so it is chosen and added in f32; f16 has room for -10000.
// CHECK-LABEL: dl.entry @masks
// CHECK: %[[Y:.*]] = dl.matmul {{.*}} : tensor<3x3xf16>, tensor<3x3xf16>
// CHECK: %[[WIDE:.*]] = dl.cast %[[Y]] : tensor<3x3xf16> to tensor<3x3xf32>
// CHECK: %[[CHOSEN:.*]] = dl.select %{{.*}}, %[[WIDE]], %{{.*}} : tensor<3x3xf32>
// CHECK: %[[EITHER:.*]] = dl.select %{{.*}} : tensor<3x3xf32>
// CHECK: %[[ADDED:.*]] = dl.add %[[WIDE]], %[[EITHER]] : tensor<3x3xf32>
// CHECK: dl.select %{{.*}}, %[[Y]], %{{.*}} : tensor<3x3xf16>
// CHECK: dl.return %[[CHOSEN]], %[[ADDED]], %{{.*}}
dl.entry @masks(%x: tensor<3x3xf32>, %m: tensor<3x3xi1>) -> (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>) attributes {dl.precision = f16, kind = #program.entry<infer>} {
  %zero = dl.constant dense<0.0> : tensor<3x3xf32>
  %never = dl.constant dense<-1.0e9> : tensor<3x3xf32>
  %hardly = dl.constant dense<-1.0e4> : tensor<3x3xf32>
  %y = dl.matmul %x, %x : tensor<3x3xf32>, tensor<3x3xf32>
  %chosen = dl.select %m, %y, %never : tensor<3x3xf32>
  %either = dl.select %m, %zero, %never : tensor<3x3xf32>
  %added = dl.add %y, %either : tensor<3x3xf32>
  %small = dl.select %m, %y, %hardly : tensor<3x3xf32>
  dl.return %chosen, %added, %small : tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>
}

// A batch norm takes 16 bits and gives them, its statistics are f32's, as the variables that keep them.
// CHECK-LABEL: dl.entry @norm
// CHECK: %[[X:.*]] = dl.cast %{{.*}} : tensor<4x5xbf16> to tensor<4x5xf32>
// CHECK: %[[Y:.*]], %[[MEAN:.*]], %{{.*}} = dl.batch_norm %[[X]] scale(%{{.*}} : tensor<5xf32>) bias(%{{.*}} : tensor<5xf32>) epsilon
// CHECK: %[[NARROW:.*]] = dl.cast %[[Y]] : tensor<4x5xf32> to tensor<4x5xbf16>
// CHECK: dl.relu %[[NARROW]] : tensor<4x5xbf16>
// CHECK: dl.assign @b, %[[MEAN]] : tensor<5xf32>
dl.entry @norm(%x: tensor<4x3xf32>, %v: tensor<3x5xf32>) -> (tensor<4x5xf32>) attributes {dl.precision = bf16, kind = #program.entry<train>} {
  %s = dl.read @s : tensor<5xf32>
  %c = dl.matmul %x, %v : tensor<4x3xf32>, tensor<3x5xf32>
  %y, %mean, %variance = dl.batch_norm %c scale(%s : tensor<5xf32>) bias(%s : tensor<5xf32>) epsilon = 1.0e-5 : tensor<4x5xf32>
  %r = dl.relu %y : tensor<4x5xf32>
  dl.assign @b, %mean : tensor<5xf32>
  dl.return %r : tensor<4x5xf32>
}

// An op's own type stands for the entry's, in either direction; what the entry does not say is f32.
// CHECK-LABEL: dl.entry @own
// CHECK: dl.matmul %{{.*}}, %{{.*}} : tensor<3x3xf32>, tensor<3x3xf32>
// CHECK: dl.matmul %{{.*}}, %{{.*}} : tensor<3x3xf16>, tensor<3x3xf16>
// CHECK: %[[Y:.*]] = dl.cast %{{.*}} : tensor<3x3xf16> to tensor<3x3xf32>
// CHECK: dl.relu %[[Y]] : tensor<3x3xf32>
// CHECK-NOT: dl.precision
dl.entry @own(%x: tensor<3x3xf32>) -> (tensor<3x3xf32>) attributes {kind = #program.entry<infer>} {
  %a = dl.matmul %x, %x : tensor<3x3xf32>, tensor<3x3xf32>
  %b = dl.matmul %a, %x {dl.precision = f16} : tensor<3x3xf32>, tensor<3x3xf32>
  %r = dl.relu %b {dl.precision = f32} : tensor<3x3xf32>
  dl.return %r : tensor<3x3xf32>
}

// f64, and what the user has cast, stay as they are; a gradient is of the type of what it is by.
// CHECK-LABEL: dl.entry @others
// CHECK: dl.matmul %{{.*}}, %{{.*}} : tensor<3x3xf64>, tensor<3x3xf64>
// CHECK: dl.relu %{{.*}} : tensor<3x3xf16>
// CHECK: %[[Y:.*]] = dl.matmul {{.*}} : tensor<3x3xbf16>, tensor<3x3xbf16>
// CHECK: dl.gradient %{{.*}} by %[[Y]] : tensor<f32> by tensor<3x3xbf16>
dl.entry @others(%x: tensor<3x3xf32>, %d: tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3x3xf16>, tensor<3x3xf32>) attributes {dl.precision = bf16, kind = #program.entry<infer>} {
  %a = dl.matmul %d, %d : tensor<3x3xf64>, tensor<3x3xf64>
  %h = dl.cast %x : tensor<3x3xf32> to tensor<3x3xf16>
  %r = dl.relu %h : tensor<3x3xf16>
  %y = dl.matmul %x, %x : tensor<3x3xf32>, tensor<3x3xf32>
  %s = dl.reduce sum %y axes = [0, 1] : tensor<3x3xf32>
  %g = dl.gradient %s by %y : tensor<f32> by tensor<3x3xf32>
  dl.return %a, %r, %g : tensor<3x3xf64>, tensor<3x3xf16>, tensor<3x3xf32>
}

// What the user has cast stays behind products, sums, shapes and windows, with its weights.
// CHECK-LABEL: dl.entry @cast
// CHECK-NOT: bf16
// CHECK: dl.matmul %{{.*}}, %{{.*}} : tensor<4x4xf16>, tensor<4x4xf16>
// CHECK-NEXT: %[[S:.*]] = dl.reduce sum %{{.*}} axes = [1] : tensor<4x4xf16>
// CHECK-NEXT: %[[K:.*]] = dl.reshape %[[S]] : tensor<4xf16> to tensor<4x1xf16>
// CHECK-NEXT: dl.broadcast %[[K]] dims = [0, 1] : tensor<4x1xf16> to tensor<4x4xf16>
// CHECK-NOT: f32
// CHECK: dl.return
dl.entry @cast(%x: tensor<4x4xf16>, %w: tensor<4x4xf16>) -> (tensor<4x4xf16>) attributes {dl.precision = bf16, kind = #program.entry<infer>} {
  %y = dl.matmul %x, %w : tensor<4x4xf16>, tensor<4x4xf16>
  %s = dl.reduce sum %y axes = [1] : tensor<4x4xf16>
  %k = dl.reshape %s : tensor<4xf16> to tensor<4x1xf16>
  %b = dl.broadcast %k dims = [0, 1] : tensor<4x1xf16> to tensor<4x4xf16>
  dl.return %b : tensor<4x4xf16>
}

// Without a word of it nothing changes.
// CHECK-LABEL: dl.entry @plain
// CHECK-NOT: dl.cast
// CHECK: dl.return
dl.entry @plain(%x: tensor<3x3xf32>) -> (tensor<3x3xf32>) attributes {kind = #program.entry<infer>} {
  %y = dl.matmul %x, %x : tensor<3x3xf32>, tensor<3x3xf32>
  dl.return %y : tensor<3x3xf32>
}

// tf32 is products' alone: tensors stay f32's, the mark stays on what multiplies and on the entry. f32 at an op takes it out; 16 bits
// there are 16 bits.
// CHECK-LABEL: dl.entry @tf32
// CHECK-SAME: attributes {dl.precision = tf32, kind = #program.entry<infer>}
// CHECK: %[[Y:.*]] = dl.matmul %{{.*}}, %{{.*}} {dl.precision = tf32} : tensor<3x3xf32>, tensor<3x3xf32>
// CHECK-NEXT: %[[E:.*]] = dl.exp %[[Y]] : tensor<3x3xf32>
// CHECK-NEXT: %[[Z:.*]] = dl.matmul %[[E]], %{{.*}} : tensor<3x3xf32>, tensor<3x3xf32>
// CHECK: dl.matmul %{{.*}}, %{{.*}} : tensor<3x3xbf16>, tensor<3x3xbf16>
dl.entry @tf32(%x: tensor<3x3xf32>, %v: tensor<3x3xf32>) -> (tensor<3x3xf32>) attributes {dl.precision = tf32, kind = #program.entry<infer>} {
  %y = dl.matmul %x, %v : tensor<3x3xf32>, tensor<3x3xf32>
  %e = dl.exp %y : tensor<3x3xf32>
  %z = dl.matmul %e, %v {dl.precision = f32} : tensor<3x3xf32>, tensor<3x3xf32>
  %n = dl.matmul %z, %v {dl.precision = bf16} : tensor<3x3xf32>, tensor<3x3xf32>
  dl.return %n : tensor<3x3xf32>
}
