// Every op of the dialect is read and printed the same, also in generic form.
// RUN: dlc-opt %s | dlc-opt | FileCheck %s
// RUN: dlc-opt --mlir-print-op-generic %s | dlc-opt | FileCheck %s

// CHECK: exec.variable @w : tensor<4xf32> role<parameter> init(<uniform, -2.000000e-01, 2.000000e-01>) at 0 bytes 16
exec.variable @w : tensor<4xf32> role<parameter> init(<uniform, -0.2, 0.2>) at 0 bytes 16
// CHECK: exec.variable @w.momentum : tensor<4xf32> role<slot> of(@w) init(<constant, 0.000000e+00, 0.000000e+00>) at 64 bytes 16
exec.variable @w.momentum : tensor<4xf32> role<slot> of(@w) init(<constant, 0.0, 0.0>) at 64 bytes 16
// CHECK: exec.variable @w.ema : tensor<4xf32> role<slot> of(@w) init(<copy, 0.000000e+00, 0.000000e+00>) at 128 bytes 16
exec.variable @w.ema : tensor<4xf32> role<slot> of(@w) init(<copy, 0.0, 0.0>) at 128 bytes 16

// CHECK: exec.kernel @add [#exec.argument<read 16>, #exec.argument<read 16>, #exec.argument<write 16>] in_place [#exec.in_place<0 into 2>]
// CHECK-SAME: phases = [#exec.phase<"add_0" tasks = 4 scratch = 64>, #exec.phase<"add_1" tasks = 1 scratch = 0>]
// CHECK-SAME: workspace = 128
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.add
exec.kernel @add [#exec.argument<read 16>, #exec.argument<read 16>, #exec.argument<write 16>] in_place [#exec.in_place<0 into 2>]
    attributes {workspace = 128 : i64, phases = [#exec.phase<"add_0" tasks = 4 scratch = 64>, #exec.phase<"add_1" tasks = 1 scratch = 0>]} {
^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
  %c = dl.add %a, %b : tensor<4xf32>
  dl.yield %c : tensor<4xf32>
}

// CHECK-LABEL: exec.program @train_step
// CHECK-SAME: metrics = [#program.metric<"loss", loss, none, [<"y", count = 6.400000e+01 : f64, coefficient = 1.000000e+00 : f64>]>, #program.metric<"perplexity", metric, exp, [<"y" over "gradient.w", count = 0.000000e+00 : f64, coefficient = 5.000000e-01 : f64>]>]
exec.program @train_step attributes {kind = #program.entry<train>, batch = 4 : i64, arena_bytes = 1024 : i64, streams = 2 : i64, events = 1 : i64,
    inputs = [#exec.value<"x" input tensor<4xf32> batch_axis = 0>, #exec.value<"valid" input tensor<i32>>], valid = 1 : i64,
    outputs = [#exec.value<"y" result tensor<4xf32> batch_axis = 0>, #exec.value<"gradient.w" gradient tensor<4xf32> of = @w>],
    metrics = [#program.metric<"loss", loss, none, [<"y", count = 64.0 : f64, coefficient = 1.0 : f64>]>,
               #program.metric<"perplexity", metric, exp, [<"y" over "gradient.w", count = 0.0 : f64, coefficient = 0.5 : f64>]>]} {
  // CHECK: %[[X:.*]] = exec.input 0 : <16>
  %x = exec.input 0 : <16>
  // CHECK: %[[W:.*]] = exec.state @w at 0 : <16>
  %w = exec.state @w at 0 : <16>
  // CHECK: exec.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> : <8>
  %c = exec.constant dense<[1.0, 2.0]> : tensor<2xf32> : <8>
  // CHECK: exec.scalar "optimizer.learning_rate", 1.000000e-02 as f32 scheduled at 4 : <4>
  %lr = exec.scalar "optimizer.learning_rate", 1.0e-2 as f32 scheduled at 4 : <4>
  // CHECK: exec.scalar "step", 0.000000e+00 as i64 at 8 : <8>
  %step = exec.scalar "step", 0.0 as i64 at 8 : <8>
  // CHECK: %[[FLAT:.*]] = exec.alloc at 128 : <128>
  %flat = exec.alloc at 128 : <128>
  // CHECK: %[[V:.*]] = exec.view %[[FLAT]] at 64 : <128> to <16>
  %v = exec.view %flat at 64 : <128> to <16>
  %y = exec.alloc at 0 : <16>
  %ws = exec.alloc at 512 : <128>
  // CHECK: exec.fill %[[FLAT]] with 255 stream 1 : <128>
  exec.fill %flat with 255 stream 1 : <128>
  // CHECK: exec.record_event 0 stream 1
  exec.record_event 0 stream 1
  // CHECK: exec.wait_event 0 stream 0
  exec.wait_event 0 stream 0
  // CHECK: exec.copy %[[X]] to %[[V]] stream 0 : <16>, <16>
  exec.copy %x to %v stream 0 : <16>, <16>
  // CHECK: exec.launch @add(read %[[X]], read %[[W]], write %{{.*}}, update %{{.*}}) stream 0 : !exec.buffer<16>, !exec.buffer<16>, !exec.buffer<16>, !exec.buffer<128>
  exec.launch @add(read %x, read %w, write %y, update %ws) stream 0 : !exec.buffer<16>, !exec.buffer<16>, !exec.buffer<16>, !exec.buffer<128>
  // CHECK: exec.all_reduce sum %[[FLAT]] as f32 channel 0 stream 1 {seconds = 1.000000e-03 : f64} : <128>
  exec.all_reduce sum %flat as f32 channel 0 stream 1 {seconds = 1.0e-3 : f64} : <128>
  // CHECK: exec.output %{{.*}}, %[[V]] : !exec.buffer<16>, !exec.buffer<16>
  exec.output %y, %v : !exec.buffer<16>, !exec.buffer<16>
}
