// RUN: dlc-opt --dl-decompose %s | FileCheck %s
// RUN: dlc-opt --dl-differentiate --dl-prune-gradients %s | FileCheck %s --check-prefix=WHOLE
// RUN: dlc-opt --dl-differentiate --dl-prune-gradients --dl-decompose %s | FileCheck %s --check-prefix=GRADIENT

dl.variable @scale : tensor<6xf32> role<parameter> init(<constant, 1.0, 0.0>)

// The largest number is taken away first, so that exp cannot overflow.
// CHECK-LABEL: dl.entry @softmax
// CHECK-NOT: dl.softmax
// CHECK: %[[MAX:.*]] = dl.reduce max %[[X:.*]] axes = [1]
// CHECK: %[[WIDE:.*]] = dl.broadcast %[[MAX]]
// CHECK: %[[SHIFTED:.*]] = dl.subtract %[[X]], %[[WIDE]]
// CHECK: %[[EXP:.*]] = dl.exp %[[SHIFTED]]
// CHECK: %[[SUM:.*]] = dl.reduce sum %[[EXP]] axes = [1]
// CHECK: %[[SUMS:.*]] = dl.broadcast %[[SUM]]
// CHECK: %[[Y:.*]] = dl.divide %[[EXP]], %[[SUMS]]
// CHECK: dl.return %[[Y]]
dl.entry @softmax(%x: tensor<5x37xf32>) -> (tensor<5x37xf32>) attributes {kind = #program.entry<infer>} {
  %y = dl.softmax %x axis = 1 : tensor<5x37xf32>
  dl.return %y : tensor<5x37xf32>
}

// Of the logarithm of the sum the label's share is taken off below the largest, so that neither is large. The answer is the first class
// with the largest logit.
// CHECK-LABEL: dl.entry @cross_entropy
// CHECK: %[[SHIFTED:.*]] = dl.subtract
// CHECK: %[[EXP:.*]] = dl.exp %[[SHIFTED]]
// CHECK: %[[SUM:.*]] = dl.reduce sum %[[EXP]] axes = [1]
// CHECK: %[[LOG:.*]] = dl.log %[[SUM]]
// CHECK: %[[OWN:.*]] = dl.select %{{.*}}, %[[SHIFTED]]
// CHECK: %[[PICKED:.*]] = dl.reduce sum %[[OWN]] axes = [1]
// CHECK: dl.subtract %[[LOG]], %[[PICKED]]
// CHECK: dl.reduce min %{{.*}} axes = [1] : tensor<5x37xi32>
// CHECK: dl.return
dl.entry @cross_entropy(%x: tensor<5x37xf32>, %label: tensor<5xi32>) -> (tensor<5xf32>, tensor<5xf32>) attributes {kind = #program.entry<infer>} {
  %l = dl.softmax_cross_entropy %x, %label axis = 1 : tensor<5x37xf32>, tensor<5xi32>
  %a = dl.accuracy %x, %label axis = 1 : tensor<5x37xf32>, tensor<5xi32>
  dl.return %l, %a : tensor<5xf32>, tensor<5xf32>
}

// What a generator takes whole stays: attention of float32. That of bf16 is that of float32 between casts, and that of float64, or of nothing, is its formula.
// CHECK-LABEL: dl.entry @attention
// CHECK: %[[A:.*]], %[[AL:.*]] = dl.attention %{{.*}} causal : tensor<1x2x5x4xf32>
// CHECK: %[[Q:.*]] = dl.cast %{{.*}} : tensor<1x2x5x4xbf16> to tensor<1x2x5x4xf32>
// CHECK: %[[B:.*]], %[[BL:.*]] = dl.attention %[[Q]], %{{.*}} : tensor<1x2x5x4xf32>
// CHECK: %[[N:.*]] = dl.cast %[[B]] : tensor<1x2x5x4xf32> to tensor<1x2x5x4xbf16>
// CHECK: %[[S:.*]] = dl.matmul %{{.*}} transpose_b : tensor<1x2x5x4xf64>
// CHECK: dl.reduce max
// CHECK: %[[C:.*]] = dl.matmul %{{.*}} : tensor<1x2x5x5xf64>, tensor<1x2x5x4xf64>
// CHECK-NOT: dl.attention
// CHECK: dl.return %[[A]], %[[N]], %[[C]]
dl.entry @attention(%a: tensor<1x2x5x4xf32>, %b: tensor<1x2x5x4xbf16>, %c: tensor<1x2x5x4xf64>, %e: tensor<1x2x0x4xf32>)
    -> (tensor<1x2x5x4xf32>, tensor<1x2x5x4xbf16>, tensor<1x2x5x4xf64>, tensor<1x2x0x4xf32>) attributes {kind = #program.entry<infer>} {
  %0:2 = dl.attention %a, %a, %a scale = 0.5 causal : tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>
  %1:2 = dl.attention %b, %b, %b scale = 0.5 : tensor<1x2x5x4xbf16>, tensor<1x2x5x4xbf16>, tensor<1x2x5x4xbf16>
  %2:2 = dl.attention %c, %c, %c scale = 0.5 causal : tensor<1x2x5x4xf64>, tensor<1x2x5x4xf64>, tensor<1x2x5x4xf64>
  %3:2 = dl.attention %e, %a, %a scale = 0.5 : tensor<1x2x0x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>
  dl.return %0#0, %1#0, %2#0, %3#0 : tensor<1x2x5x4xf32>, tensor<1x2x5x4xbf16>, tensor<1x2x5x4xf64>, tensor<1x2x0x4xf32>
}

// Few classes, each an image of its own, are taken class by class: loss and accuracy are element-wise then, and fuse with their sums.
// CHECK-LABEL: dl.entry @pixels
// CHECK-NOT: {{cross_entropy|accuracy|dl.reduce}}
// CHECK: dl.gather %{{.*}} axis = 1 : tensor<5x2x4x4xf32>, tensor<i32>
// CHECK-NOT: {{cross_entropy|accuracy|dl.reduce}}
// CHECK: dl.return
dl.entry @pixels(%x: tensor<5x2x4x4xf32>, %label: tensor<5x4x4xi32>) -> (tensor<5x4x4xf32>, tensor<5x4x4xf32>) attributes {kind = #program.entry<infer>} {
  %l = dl.softmax_cross_entropy %x, %label axis = 1 : tensor<5x2x4x4xf32>, tensor<5x4x4xi32>
  %a = dl.accuracy %x, %label axis = 1 : tensor<5x2x4x4xf32>, tensor<5x4x4xi32>
  dl.return %l, %a : tensor<5x4x4xf32>, tensor<5x4x4xf32>
}

// Many classes are reduced.
// CHECK-LABEL: dl.entry @many_classes
// CHECK: dl.reduce max %{{.*}} axes = [1] : tensor<5x33x4xf32>
// CHECK: dl.reduce min %{{.*}} axes = [1] : tensor<5x33x4xi32>
dl.entry @many_classes(%x: tensor<5x33x4xf32>, %label: tensor<5x4xi32>) -> (tensor<5x4xf32>, tensor<5x4xf32>) attributes {kind = #program.entry<infer>} {
  %l = dl.softmax_cross_entropy %x, %label axis = 1 : tensor<5x33x4xf32>, tensor<5x4xi32>
  %a = dl.accuracy %x, %label axis = 1 : tensor<5x33x4xf32>, tensor<5x4xi32>
  dl.return %l, %a : tensor<5x4xf32>, tensor<5x4xf32>
}

// Small floats are computed in f32: the loss and the gradient are rounded once.
// CHECK-LABEL: dl.entry @small_floats
// CHECK: %[[X:.*]] = dl.cast %{{.*}} : tensor<5x37xbf16> to tensor<5x37xf32>
// CHECK: dl.reduce max %[[X]]
// CHECK: dl.cast %{{.*}} : tensor<5xf32> to tensor<5xbf16>
// CHECK: dl.cast %{{.*}} : tensor<5x37xf32> to tensor<5x37xbf16>
// CHECK-NOT: dl.cast
dl.entry @small_floats(%x: tensor<5x37xbf16>, %label: tensor<5xi32>, %d: tensor<5xbf16>) -> (tensor<5xbf16>, tensor<5x37xbf16>) attributes {kind = #program.entry<infer>} {
  %l = dl.softmax_cross_entropy %x, %label axis = 1 : tensor<5x37xbf16>, tensor<5xi32>
  %g = dl.softmax_cross_entropy_backward %d, %x, %label axis = 1 : tensor<5xbf16>, tensor<5x37xbf16>, tensor<5xi32>
  dl.return %l, %g : tensor<5xbf16>, tensor<5x37xbf16>
}

// A formula may hold composites: they go too.
// CHECK-LABEL: dl.entry @over_classes
// CHECK-NOT: {{smoothed|probability|log_softmax|top_accuracy}}
// CHECK: dl.return
dl.entry @over_classes(%x: tensor<5x37xf32>, %label: tensor<5xi32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) attributes {kind = #program.entry<infer>} {
  %s = dl.smoothed_cross_entropy %x, %label axis = 1 smoothing = 0.1 : tensor<5x37xf32>, tensor<5xi32>
  %p = dl.probability_cross_entropy %x, %x axis = 1 : tensor<5x37xf32>
  %t = dl.top_accuracy %x, %label axis = 1 k = 5 : tensor<5x37xf32>, tensor<5xi32>
  dl.return %s, %p, %t : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
}

// A batch norm is one op forward and one backward; the input's gradient is dropped with all that it would need alone: of dy and
// x - mean one sum is left.
// WHOLE-LABEL: dl.entry @train_step
// WHOLE: %{{.*}}, %[[MEAN:.*]], %[[VARIANCE:.*]] = dl.batch_norm %[[X:.*]] scale(%[[SCALE:.*]] : tensor<6xf32>)
// WHOLE: %{{.*}}, %[[DSCALE:.*]], %{{.*}} = dl.batch_norm_backward %{{.*}}, %[[X]], %[[MEAN]], %[[VARIANCE]] scale(%[[SCALE]] : tensor<6xf32>)
// WHOLE: dl.return %[[DSCALE]]
// GRADIENT-LABEL: dl.entry @train_step
// GRADIENT: %[[MEAN:.*]], %[[M2:.*]] = dl.moments %[[X:.*]] axes = [0, 2]
// GRADIENT-COUNT-1: dl.reduce sum %{{.*}} axes = [0, 2]
// GRADIENT-NOT: dl.reduce
// GRADIENT: dl.return
dl.entry @train_step(%x: tensor<4x6x5xf32> {dl.name = "x"}) -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@scale, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %s = dl.read @scale : tensor<6xf32>
  %y, %mean, %variance = dl.batch_norm %x scale(%s : tensor<6xf32>) epsilon = 1.0e-05 : tensor<4x6x5xf32>
  %z = dl.multiply %y, %x : tensor<4x6x5xf32>
  %loss = dl.reduce sum %z axes = [0, 1, 2] : tensor<4x6x5xf32>
  dl.return loss(%loss : tensor<f32>)
}
