// RUN: dlc-opt --dl-narrow-variables --split-input-file %s | FileCheck %s

// What all entries read in one narrower type is stored so. What one of them reads as it is stays, and so does what is read in two
// types, what an entry assigns, what is wider already in another float, and what nothing reads.
// CHECK: dl.variable @all : tensor<4x3xbf16>
// CHECK: dl.variable @some : tensor<4x3xf32>
// CHECK: dl.variable @two : tensor<4x3xf32>
// CHECK: dl.variable @assigned : tensor<4x3xf32>
// CHECK: dl.variable @half : tensor<4x3xf16>
// CHECK: dl.variable @none : tensor<4x3xf32>
// CHECK-LABEL: dl.entry @evaluate
// CHECK: %[[ALL:.*]] = dl.read @all : tensor<4x3xbf16>
// CHECK: dl.add %[[ALL]], %[[ALL]] : tensor<4x3xbf16>
// CHECK-LABEL: dl.entry @infer
// CHECK: %[[ALL:.*]] = dl.read @all : tensor<4x3xbf16>
// CHECK: %[[SOME:.*]] = dl.read @some : tensor<4x3xf32>
// CHECK: %[[NARROW:.*]] = dl.cast %[[SOME]] : tensor<4x3xf32> to tensor<4x3xbf16>
// CHECK: dl.multiply %[[ALL]], %[[NARROW]]
dl.variable @all : tensor<4x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @some : tensor<4x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @two : tensor<4x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @assigned : tensor<4x3xf32> role<state> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @half : tensor<4x3xf16> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @none : tensor<4x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @evaluate() -> (tensor<4x3xbf16> {dl.name = "y", dl.kind = #program.value<result>}) attributes {kind = #program.entry<evaluate>} {
  %all = dl.read @all : tensor<4x3xf32>
  %a = dl.cast %all : tensor<4x3xf32> to tensor<4x3xbf16>
  %y = dl.add %a, %a : tensor<4x3xbf16>
  dl.return %y : tensor<4x3xbf16>
}
dl.entry @infer() -> (tensor<4x3xbf16> {dl.name = "y", dl.kind = #program.value<result>}, tensor<4x3xf32> {dl.name = "z", dl.kind = #program.value<result>},
    tensor<4x3xf16> {dl.name = "h", dl.kind = #program.value<result>}, tensor<4x3xbf16> {dl.name = "b", dl.kind = #program.value<result>},
    tensor<4x3xf32> {dl.name = "w", dl.kind = #program.value<result>}) attributes {kind = #program.entry<infer>} {
  %all = dl.read @all : tensor<4x3xf32>
  %some = dl.read @some : tensor<4x3xf32>
  %two = dl.read @two : tensor<4x3xf32>
  %assigned = dl.read @assigned : tensor<4x3xf32>
  %half = dl.read @half : tensor<4x3xf16>
  %a = dl.cast %all : tensor<4x3xf32> to tensor<4x3xbf16>
  %s = dl.cast %some : tensor<4x3xf32> to tensor<4x3xbf16>
  %h = dl.cast %two : tensor<4x3xf32> to tensor<4x3xf16>
  %b = dl.cast %two : tensor<4x3xf32> to tensor<4x3xbf16>
  %c = dl.cast %assigned : tensor<4x3xf32> to tensor<4x3xbf16>
  %w = dl.cast %half : tensor<4x3xf16> to tensor<4x3xf32>
  %as = dl.multiply %a, %s : tensor<4x3xbf16>
  %y = dl.add %as, %c : tensor<4x3xbf16>
  dl.assign @assigned, %some : tensor<4x3xf32>
  dl.return %y, %some, %h, %b, %w : tensor<4x3xbf16>, tensor<4x3xf32>, tensor<4x3xf16>, tensor<4x3xbf16>, tensor<4x3xf32>
}

// -----

// Where something trains, its update needs the weight as it is.
// CHECK: dl.variable @w : tensor<4x3xf32>
// CHECK: dl.cast
dl.variable @w : tensor<4x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step() attributes {kind = #program.entry<train>} {
  dl.return
}
dl.entry @infer() -> (tensor<4x3xbf16> {dl.name = "y", dl.kind = #program.value<result>}) attributes {kind = #program.entry<infer>} {
  %w = dl.read @w : tensor<4x3xf32>
  %y = dl.cast %w : tensor<4x3xf32> to tensor<4x3xbf16>
  dl.return %y : tensor<4x3xbf16>
}
