// RUN: dlc-opt --exec-prepare-operands --exec-plan-memory --exec-verify %s | FileCheck %s

// The first phase makes 128 bytes of workspace out of the second buffer.
exec.kernel @step [#exec.argument<read 256>, #exec.argument<read 64>, #exec.argument<write 256>] attributes {
    phases = [#exec.phase<"step_0" tasks = 1 scratch = 0 side = 192>, #exec.phase<"step_1" tasks = 1 scratch = 0>],
    workspace = 128 : i64, candidate = #program.candidate<seconds = 1.0e-03 : f64>,
    preparation = #exec.preparation<operand = 1 phases = 1 form = "wide" seconds = 1.0e-04>} {
  dl.yield
}
// Another kernel that makes the same, and one that makes something else.
exec.kernel @last [#exec.argument<read 256>, #exec.argument<read 64>, #exec.argument<write 64>] attributes {
    phases = [#exec.phase<"last_0" tasks = 1 scratch = 0 side = 192>, #exec.phase<"last_1" tasks = 1 scratch = 0>],
    workspace = 128 : i64, candidate = #program.candidate<seconds = 1.0e-03 : f64>,
    preparation = #exec.preparation<operand = 1 phases = 1 form = "wide" seconds = 1.0e-04>} {
  dl.yield
}
exec.kernel @back [#exec.argument<read 64>, #exec.argument<read 64>, #exec.argument<write 256>] attributes {
    phases = [#exec.phase<"back_0" tasks = 1 scratch = 0 side = 192>, #exec.phase<"back_1" tasks = 1 scratch = 0>],
    workspace = 128 : i64, candidate = #program.candidate<seconds = 1.0e-03 : f64>,
    preparation = #exec.preparation<operand = 1 phases = 1 form = "narrow" seconds = 1.0e-04>} {
  dl.yield
}
exec.kernel @cheap [#exec.argument<read 256>, #exec.argument<read 64>, #exec.argument<write 256>] attributes {
    phases = [#exec.phase<"cheap_0" tasks = 1 scratch = 0 side = 192>, #exec.phase<"cheap_1" tasks = 1 scratch = 0>],
    workspace = 128 : i64, candidate = #program.candidate<seconds = 1.0e-03 : f64>,
    preparation = #exec.preparation<operand = 1 phases = 1 form = "none" seconds = 1.0e-06>} {
  dl.yield
}

// CHECK: exec.variable @v
// CHECK-NOT: exec.variable
exec.variable @w : tensor<16xf32> role<parameter> init(<uniform, -0.2, 0.2>) at 0 bytes 64
exec.variable @v : tensor<16xf32> role<parameter> init(<uniform, -0.2, 0.2>) at 64 bytes 64

// Two steps and the last share one preparation in memory of their own; another variable, another form and what
// hardly takes any time are left as they are.
// CHECK-LABEL: exec.program @train_step
// CHECK: %[[P:.*]] = exec.alloc at {{[0-9]+}} : <128>
// CHECK: exec.launch @step(read %{{.*}}, read %[[W:.*]], write %{{.*}}, write %[[P]]) stream 0 {part = #exec<part preparation>} : !exec.buffer<0>, !exec.buffer<64>, !exec.buffer<0>,
// CHECK: exec.launch @step(read %{{.*}}, read %{{.*}}, write %{{.*}}, read %[[P]]) stream 0 {part = #exec<part rest>} : !exec.buffer<256>, !exec.buffer<0>,
// CHECK: exec.launch @step(read %{{.*}}, read %{{.*}}, write %{{.*}}, update %{{.*}}) stream 0 :
// CHECK: exec.launch @step(read %{{.*}}, read %{{.*}}, write %{{.*}}, read %[[P]]) stream 0 {part = #exec<part rest>}
// CHECK: exec.launch @last(read %{{.*}}, read %{{.*}}, write %{{.*}}, read %[[P]]) stream 0 {part = #exec<part rest>}
// CHECK: exec.launch @back(read %{{.*}}, read %[[W]], write %{{.*}}, update %{{.*}}) stream 0 :
// CHECK-COUNT-2: exec.launch @cheap(read %{{.*}}, read %{{.*}}, write %{{.*}}, update %{{.*}}) stream 0 :
exec.program @train_step attributes {kind = #program.entry<train>, inputs = [#exec.value<"x" input tensor<64xf32>>], outputs = [#exec.value<"y" result tensor<64xf32>>], metrics = []} {
  %x = exec.input 0 : <256>
  %w = exec.state @w at 0 : <64>
  %v = exec.state @v at 64 : <64>
  %a = exec.alloc : <256>
  %b = exec.alloc : <256>
  %c = exec.alloc : <256>
  %d = exec.alloc : <64>
  %e = exec.alloc : <256>
  %f = exec.alloc : <256>
  %y = exec.alloc : <256>
  exec.launch @step(read %x, read %w, write %a) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("a")
  exec.launch @step(read %a, read %v, write %b) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("b")
  exec.launch @step(read %b, read %w, write %c) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("c")
  exec.launch @last(read %c, read %w, write %d) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<64> loc("d")
  exec.launch @back(read %d, read %w, write %e) stream 0 : !exec.buffer<64>, !exec.buffer<64>, !exec.buffer<256> loc("e")
  exec.launch @cheap(read %e, read %w, write %f) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("f")
  exec.launch @cheap(read %f, read %w, write %y) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("y")
  exec.output %y : !exec.buffer<256>
}

// Behind an update the operand is another; so is what else the update writes over.
// CHECK-LABEL: exec.program @updating
// CHECK-NOT: part preparation
// CHECK: exec.output
exec.program @updating attributes {kind = #program.entry<train>, inputs = [#exec.value<"x" input tensor<64xf32>>], outputs = [#exec.value<"y" result tensor<64xf32>>], metrics = []} {
  %x = exec.input 0 : <256>
  %w = exec.state @w at 0 : <64>
  %v = exec.state @v at 64 : <64>
  %both = exec.state @w at 0 : <128>
  %a = exec.alloc : <256>
  %b = exec.alloc : <256>
  %c = exec.alloc : <256>
  %y = exec.alloc : <256>
  exec.launch @step(read %x, read %w, write %a) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("a")
  exec.launch @step(read %a, read %v, write %b) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("b")
  %n = exec.view %b at 0 : !exec.buffer<256> to !exec.buffer<128>
  exec.copy %n to %both stream 0 : !exec.buffer<128>, !exec.buffer<128> loc("w")
  exec.launch @step(read %b, read %w, write %c) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("c")
  exec.launch @step(read %c, read %v, write %y) stream 0 : !exec.buffer<256>, !exec.buffer<64>, !exec.buffer<256> loc("y")
  exec.output %y : !exec.buffer<256>
}
