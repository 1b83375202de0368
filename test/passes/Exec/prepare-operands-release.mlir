// RUN: dlc-opt --exec-prepare-operands --exec-plan-memory --exec-verify %s | FileCheck %s

// Scaled weights that are only packed need no place in the state; others, and what stands behind them, keep theirs.
exec.kernel @scale [#exec.argument<read 64>, #exec.argument<write 64>] attributes {candidate = #program.candidate<seconds = 1.0e-05 : f64>} {
  dl.yield
}
exec.kernel @conv [#exec.argument<read 256>, #exec.argument<read 64>, #exec.argument<write 256>] attributes {
    phases = [#exec.phase<"conv_0" tasks = 1 scratch = 0 side = 192>, #exec.phase<"conv_1" tasks = 1 scratch = 0>],
    workspace = 128 : i64, candidate = #program.candidate<seconds = 1.0e-03 : f64>,
    preparation = #exec.preparation<operand = 1 phases = 1 form = "wide" seconds = 1.0e-04>} {
  dl.yield
}
exec.kernel @plain [#exec.argument<read 256>, #exec.argument<read 64>, #exec.argument<write 256>] attributes {candidate = #program.candidate<seconds = 1.0e-03 : f64>} {
  dl.yield
}

// CHECK: exec.variable @w {{.*}} at 0 bytes 64
// CHECK-NEXT: exec.variable @v.derived {{.*}} at 64 bytes 64
// CHECK-NEXT: exec.variable @u.derived.prepared {{.*}} at 128 bytes 128
// CHECK-NOT: exec.variable
exec.variable @w : tensor<16xf32> role<parameter> init(<uniform, -0.2, 0.2>) at 0 bytes 64
exec.variable @u.derived : tensor<16xf32> role<derived> init(<constant, 0.0, 0.0>) at 64 bytes 64
exec.variable @v.derived : tensor<16xf32> role<derived> init(<constant, 0.0, 0.0>) at 128 bytes 64

// CHECK-LABEL: exec.program @infer_n1
// CHECK-DAG: %[[V:.*]] = exec.state @v.derived at 64 : <64>
// CHECK-DAG: %[[P:.*]] = exec.state @u.derived.prepared at 128 : <128>
// CHECK: exec.launch @conv(read %{{.*}}, read %{{.*}}, write %{{.*}}, read %[[P]]) stream 0 {part = #exec<part rest>} : !exec.buffer<256>, !exec.buffer<0>,
// CHECK: exec.launch @plain(read %{{.*}}, read %[[V]], write %{{.*}}) stream 0
exec.program @infer_n1 attributes {kind = #program.entry<infer>, inputs = [#exec.value<"x" input tensor<64xf32>>], outputs = [#exec.value<"y" result tensor<64xf32>>], metrics = []} {
  %x = exec.input 0 : <256>
  %u = exec.state @u.derived at 64 : <64>
  %v = exec.state @v.derived at 128 : <64>
  %a = exec.alloc : <256>
  %y = exec.alloc : <256>
  exec.launch @conv(read %x, read %u, write %a) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("a")
  exec.launch @plain(read %a, read %v, write %y) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("b")
  exec.output %y : !exec.buffer<256>
}

// Packed as soon as it is there.
// CHECK-LABEL: exec.program @prepare
// CHECK: %[[U:.*]] = exec.alloc at 0 : <64>
// CHECK: exec.launch @scale(read %{{.*}}, write %[[U]])
// CHECK: exec.launch @conv(read %{{.*}}, read %[[U]], write %{{.*}}, write %{{.*}}) stream 0 {part = #exec<part preparation>}
// CHECK: exec.launch @scale
exec.program @prepare attributes {kind = #program.entry<prepare>, inputs = [], outputs = [], metrics = []} {
  %w = exec.state @w at 0 : <64>
  %u = exec.state @u.derived at 64 : <64>
  %v = exec.state @v.derived at 128 : <64>
  exec.launch @scale(read %w, write %u) stream 0 : !exec.buffer<64>, !exec.buffer<64> loc("u")
  exec.launch @scale(read %w, write %v) stream 0 : !exec.buffer<64>, !exec.buffer<64> loc("v")
  exec.output
}
