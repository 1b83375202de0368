// RUN: dlc-opt --exec-prepare-operands --exec-plan-memory --exec-verify %s | FileCheck %s

// Its first phase makes 128 bytes of workspace out of the second buffer.
exec.kernel @conv [#exec.argument<read 256>, #exec.argument<read 64>, #exec.argument<write 256>] attributes {
    phases = [#exec.phase<"conv_0" tasks = 1 scratch = 0 side = 192>, #exec.phase<"conv_1" tasks = 1 scratch = 0>],
    workspace = 128 : i64, candidate = #program.candidate<seconds = 1.0e-03 : f64>,
    preparation = #exec.preparation<operand = 1 phases = 1 form = "wide" seconds = 1.0e-04>} {
  dl.yield
}
// The same form of another kernel, and one that is another and hardly takes any time.
exec.kernel @other [#exec.argument<read 512>, #exec.argument<read 64>, #exec.argument<write 512>] attributes {
    phases = [#exec.phase<"other_0" tasks = 1 scratch = 0 side = 192>, #exec.phase<"other_1" tasks = 1 scratch = 0>],
    workspace = 128 : i64, candidate = #program.candidate<seconds = 1.0e-03 : f64>,
    preparation = #exec.preparation<operand = 1 phases = 1 form = "wide" seconds = 1.0e-04>} {
  dl.yield
}
exec.kernel @cheap [#exec.argument<read 256>, #exec.argument<read 64>, #exec.argument<write 256>] attributes {
    phases = [#exec.phase<"cheap_0" tasks = 1 scratch = 0 side = 192>, #exec.phase<"cheap_1" tasks = 1 scratch = 0>],
    workspace = 128 : i64, candidate = #program.candidate<seconds = 1.0e-03 : f64>,
    preparation = #exec.preparation<operand = 1 phases = 1 form = "narrow" seconds = 1.0e-06>} {
  dl.yield
}

// What the phases behind the first share lies in the arena, behind what that made.
exec.kernel @sharing [#exec.argument<read 256>, #exec.argument<read 64>, #exec.argument<write 256>] attributes {
    phases = [#exec.phase<"sharing_0" tasks = 1 scratch = 0>, #exec.phase<"sharing_1" tasks = 1 scratch = 0>, #exec.phase<"sharing_2" tasks = 1 scratch = 0>],
    workspace = 128 : i64, rest_workspace = 192 : i64, candidate = #program.candidate<seconds = 1.0e-03 : f64>,
    preparation = #exec.preparation<operand = 1 phases = 1 form = "wide" seconds = 1.0e-04>} {
  dl.yield
}

exec.variable @w : tensor<16xf32> role<parameter> init(<uniform, -0.2, 0.2>) at 0 bytes 64
exec.variable @h : tensor<16xf32> role<state> init(<constant, 0.0, 0.0>) at 64 bytes 64
// CHECK: exec.variable @w.prepared : tensor<128xui8> role<derived> init(<constant, 0.000000e+00, 0.000000e+00>) at 128 bytes 128
// CHECK-NOT: exec.variable

// CHECK-LABEL: exec.program @infer_n1
// CHECK: %[[P:.*]] = exec.state @w.prepared at 128 : <128>
// CHECK: exec.launch @conv(read %{{.*}}, read %{{.*}}, write %{{.*}}, read %[[P]]) stream 0 {part = #exec<part rest>}
// CHECK: exec.launch @cheap(read %{{.*}}, read %{{.*}}, write %{{.*}}, update %{{.*}}) stream 0 :
exec.program @infer_n1 attributes {kind = #program.entry<infer>, inputs = [#exec.value<"x" input tensor<64xf32>>], outputs = [#exec.value<"y" result tensor<64xf32>>], metrics = []} {
  %x = exec.input 0 : <256>
  %w = exec.state @w at 0 : <64>
  %a = exec.alloc : <256>
  %y = exec.alloc : <256>
  exec.launch @conv(read %x, read %w, write %a) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("a")
  exec.launch @cheap(read %a, read %w, write %y) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("b")
  exec.output %y : !exec.buffer<256>
}

// CHECK-LABEL: exec.program @infer_n2
// CHECK: exec.launch @other(read %{{.*}}, read %{{.*}}, write %{{.*}}, read %{{.*}}) stream 0 {part = #exec<part rest>}
exec.program @infer_n2 attributes {kind = #program.entry<infer>, inputs = [#exec.value<"x" input tensor<128xf32>>], outputs = [#exec.value<"y" result tensor<128xf32>>], metrics = []} {
  %x = exec.input 0 : <512>
  %w = exec.state @w at 0 : <64>
  %y = exec.alloc : <512>
  exec.launch @other(read %x, read %w, write %y) stream 0 : !exec.buffer<512>, !exec.buffer<64>, !exec.buffer<512> loc("a")
  exec.output %y : !exec.buffer<512>
}

// CHECK-LABEL: exec.program @infer_n3
// CHECK: %[[P:.*]] = exec.state @w.prepared at 128 : <128>
// CHECK: %[[R:.*]] = exec.alloc at {{[0-9]+}} : <192>
// CHECK: exec.launch @sharing(read %{{.*}}, read %{{.*}}, write %{{.*}}, read %[[P]], update %[[R]]) stream 0 {part = #exec<part rest>}
exec.program @infer_n3 attributes {kind = #program.entry<infer>, inputs = [#exec.value<"x" input tensor<64xf32>>], outputs = [#exec.value<"y" result tensor<64xf32>>], metrics = []} {
  %x = exec.input 0 : <256>
  %w = exec.state @w at 0 : <64>
  %y = exec.alloc : <256>
  exec.launch @sharing(read %x, read %w, write %y) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("a")
  exec.output %y : !exec.buffer<256>
}

// CHECK-LABEL: exec.program @infer_written
// CHECK: exec.launch @sharing(read %{{.*}}, read %{{.*}}, write %{{.*}}, update %{{.*}}, update %{{.*}}) stream 0 :
exec.program @infer_written attributes {kind = #program.entry<infer>, inputs = [#exec.value<"x" input tensor<64xf32>>], outputs = [#exec.value<"y" result tensor<64xf32>>], metrics = []} {
  %x = exec.input 0 : <256>
  %h = exec.state @h at 64 : <64>
  %y = exec.alloc : <256>
  exec.launch @sharing(read %x, read %h, write %y) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("a")
  exec.output %y : !exec.buffer<256>
}

// What the program itself writes is another operand in each run.
// CHECK-LABEL: exec.program @stepping
// CHECK: exec.launch @conv(read %{{.*}}, read %{{.*}}, write %{{.*}}, update %{{.*}}) stream 0 :
exec.program @stepping attributes {kind = #program.entry<infer>, inputs = [#exec.value<"x" input tensor<64xf32>>], outputs = [#exec.value<"y" result tensor<64xf32>>], metrics = []} {
  %x = exec.input 0 : <256>
  %h = exec.state @h at 64 : <64>
  %y = exec.alloc : <256>
  exec.launch @conv(read %x, read %h, write %y) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("a")
  %v = exec.view %y at 0 : !exec.buffer<256> to !exec.buffer<64>
  exec.copy %v to %h stream 0 : !exec.buffer<64>, !exec.buffer<64> loc("h")
  exec.output %y : !exec.buffer<256>
}

// Training changes weights in each run.
// CHECK-LABEL: exec.program @train_step
// CHECK: exec.launch @conv(read %{{.*}}, read %{{.*}}, write %{{.*}}, update %{{.*}}) stream 0 :
exec.program @train_step attributes {kind = #program.entry<train>, inputs = [#exec.value<"x" input tensor<64xf32>>], outputs = [#exec.value<"y" result tensor<64xf32>>], metrics = []} {
  %x = exec.input 0 : <256>
  %w = exec.state @w at 0 : <64>
  %y = exec.alloc : <256>
  exec.launch @conv(read %x, read %w, write %y) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("a")
  exec.output %y : !exec.buffer<256>
}

// One preparation for both launches that want it, in no memory but the state's.
// CHECK-LABEL: exec.program @prepare
// CHECK-SAME: {inputs = [], kind
// CHECK: exec.launch @conv(read %{{.*}}, read %{{.*}}, write %{{.*}}, write %{{.*}}) stream 0 {part = #exec<part preparation>}
// CHECK-NOT: exec.launch
// CHECK: exec.output
