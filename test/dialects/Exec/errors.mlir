// RUN: dlc-opt --split-input-file --verify-diagnostics %s

// variable C1
// expected-error @below {{offset 32 is not a multiple of 64}}
exec.variable @w : tensor<4xf32> role<parameter> init(<constant, 0.0, 0.0>) at 32 bytes 16

// -----

// variable C2
// expected-error @below {{belongs to @v, which is no variable}}
exec.variable @w : tensor<4xf32> role<slot> of(@v) init(<constant, 0.0, 0.0>) at 0 bytes 16

// -----

// kernel C2: the operand is smaller than the result
// expected-error @below {{in_place 0 into 1 is not a read and a written buffer of equal size}}
exec.kernel @k [#exec.argument<read 16>, #exec.argument<write 32>] in_place [#exec.in_place<0 into 1>] {
^bb0(%a: tensor<4xf32>):
  dl.yield %a : tensor<4xf32>
}

// -----

// kernel C3
// expected-error @below {{has an empty list of phases}}
exec.kernel @k [#exec.argument<read 16>] attributes {phases = []} {
^bb0(%a: tensor<4xf32>):
  dl.yield
}

// -----

// kernel C4: a result is none that phases may begin with
// expected-error @below {{prepares buffer 1, which is none that it reads}}
exec.kernel @k [#exec.argument<read 16>, #exec.argument<write 16>] attributes {workspace = 64 : i64,
    phases = [#exec.phase<"k_0" tasks = 1 scratch = 0>, #exec.phase<"k_1" tasks = 1 scratch = 0>],
    preparation = #exec.preparation<operand = 1 phases = 1 form = "" seconds = 1.0e-03>} {
  dl.yield
}

// -----

// kernel C4: nothing is left behind the preparation
// expected-error @below {{prepares 64 bytes of workspace in 2 of 2 phases}}
exec.kernel @k [#exec.argument<read 16>] attributes {workspace = 64 : i64,
    phases = [#exec.phase<"k_0" tasks = 1 scratch = 0>, #exec.phase<"k_1" tasks = 1 scratch = 0>],
    preparation = #exec.preparation<operand = 0 phases = 2 form = "" seconds = 1.0e-03>} {
  dl.yield
}

// -----

// kernel C5: nothing is in front of it
// expected-error @below {{has a rest_workspace, but no workspace}}
exec.kernel @k [#exec.argument<read 16>] attributes {rest_workspace = 64 : i64} {
  dl.yield
}

// -----

exec.kernel @k [#exec.argument<read 16>] attributes {workspace = 64 : i64, rest_workspace = 32 : i64,
    phases = [#exec.phase<"k_0" tasks = 1 scratch = 0>, #exec.phase<"k_1" tasks = 1 scratch = 0>],
    preparation = #exec.preparation<operand = 0 phases = 1 form = "" seconds = 1.0e-03>} {
  dl.yield
}
exec.program @p attributes {kind = #program.entry<infer>, inputs = [#exec.value<"x" input tensor<4xf32>>], outputs = [], metrics = []} {
  %0 = exec.input 0 : <16>
  %1 = exec.alloc : <64>
  %2 = exec.alloc : <0>
  %3 = exec.alloc : <16>
  // The first workspace alone is there before memory is planned, and a preparation has no other.
  exec.launch @k(read %0, write %1, update %2) stream 0 {part = #exec<part preparation>} : !exec.buffer<16>, !exec.buffer<64>, !exec.buffer<0>
  exec.launch @k(read %2, read %1) stream 0 {part = #exec<part rest>} : !exec.buffer<0>, !exec.buffer<64>
  // launch C1: too small for what the rest shares
  // expected-error @below {{buffer 2 is update 16 bytes, @k takes update 32}}
  exec.launch @k(read %2, read %1, update %3) stream 0 {part = #exec<part rest>} : !exec.buffer<0>, !exec.buffer<64>, !exec.buffer<16>
  exec.output
}

// -----

exec.kernel @k [#exec.argument<read 16>] {
  dl.yield
}
exec.program @p attributes {kind = #program.entry<infer>, inputs = [#exec.value<"x" input tensor<4xf32>>], outputs = [], metrics = []} {
  %0 = exec.input 0 : <16>
  // launch C2: the kernel has one part
  // expected-error @below {{is the rest of @k, which has none}}
  exec.launch @k(read %0) stream 0 {part = #exec<part rest>} : !exec.buffer<16>
  exec.output
}

// -----

exec.kernel @k [#exec.argument<read 16>] attributes {workspace = 64 : i64,
    phases = [#exec.phase<"k_0" tasks = 1 scratch = 0>, #exec.phase<"k_1" tasks = 1 scratch = 0>],
    preparation = #exec.preparation<operand = 0 phases = 1 form = "" seconds = 1.0e-03>} {
  dl.yield
}
exec.program @p attributes {kind = #program.entry<infer>, inputs = [#exec.value<"x" input tensor<4xf32>>], outputs = [], metrics = []} {
  %0 = exec.input 0 : <16>
  // launch C2: the prepared bytes are nowhere
  // expected-error @below {{is the rest of @k, but has no workspace}}
  exec.launch @k(read %0) stream 0 {part = #exec<part rest>} : !exec.buffer<16>
  exec.output
}

// -----

// program: no end
// expected-error @below {{does not end with exec.output}}
exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %0 = exec.alloc : <4>
}

// -----

// program C1
// expected-error @below {{lists 1 outputs, exec.output has 0}}
exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [#exec.value<"y" result tensor<f32>>], metrics = []} {
  exec.output
}

// -----

// program C2
// expected-error @below {{metric "loss" needs the output "loss.sum", which does not exist}}
exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [],
    metrics = [#program.metric<"loss", loss, none, [<"loss.sum", count = 1.0 : f64, coefficient = 1.0 : f64>]>]} {
  exec.output
}

// -----

// program C3
// expected-error @below {{valid is input 0, there are 0}}
exec.program @p attributes {kind = #program.entry<infer>, inputs = [], valid = 0 : i64, outputs = [], metrics = []} {
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  // program C3
  // expected-error @below {{is input 1, there are 0}}
  %0 = exec.input 1 : <4>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, arena_bytes = 64 : i64, inputs = [], outputs = [], metrics = []} {
  // alloc C1
  // expected-error @below {{ends at byte 68 of an arena of 64 bytes}}
  %0 = exec.alloc at 64 : <4>
  exec.output
}

// -----

// expected-note @below {{declared here}}
exec.variable @w : tensor<4xf32> role<parameter> init(<constant, 0.0, 0.0>) at 64 bytes 16
exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  // state C1
  // expected-error @below {{is at byte 0 of the state, its variable at 64}}
  %0 = exec.state @w at 0 : <16>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  // expected-error @below {{names @w, which is no variable}}
  %0 = exec.state @w at 0 : <16>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  // constant C1
  // expected-error @below {{has 8 bytes, its buffer 4}}
  %0 = exec.constant dense<[1, 2]> : tensor<2xi32> : <4>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  // scalar C1
  // expected-error @below {{is an 'i64' at byte 8 in a buffer of 4 bytes}}
  %0 = exec.scalar "step", 0.0 as i64 at 8 : <4>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  // scalar C1
  // expected-error @below {{is an 'i64' at byte 4 in a buffer of 8 bytes}}
  %0 = exec.scalar "step", 0.0 as i64 at 4 : <8>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %0 = exec.alloc : <128>
  // view C1
  // expected-error @below {{ends at byte 160 of a buffer of 128}}
  %1 = exec.view %0 at 64 : <128> to <96>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %0 = exec.alloc : <128>
  // view C2
  // expected-error @below {{offset 4 is not a multiple of 64}}
  %1 = exec.view %0 at 4 : <128> to <4>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %0 = exec.alloc : <16>
  %1 = exec.alloc : <32>
  // expected-error @below {{copies 16 bytes to 32}}
  exec.copy %0 to %1 stream 0 : <16>, <32>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %0 = exec.alloc : <16>
  // fill C1
  // expected-error @below {{fills with 256, not a byte}}
  exec.fill %0 with 256 stream 0 : <16>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %0 = exec.alloc : <12>
  // all_reduce C1
  // expected-error @below {{reduces 12 bytes, not a multiple of the 8 of 'f64'}}
  exec.all_reduce sum %0 as f64 channel 0 stream 0 : <12>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %0 = exec.alloc : <16>
  // all_reduce C2
  // expected-error @below {{is on channel -1, expected 0 or 1}}
  exec.all_reduce sum %0 as f32 channel -1 stream 0 : <16>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %0 = exec.alloc : <16>
  // expected-error @below {{names @k, which is no kernel}}
  exec.launch @k(read %0) stream 0 : !exec.buffer<16>
  exec.output
}

// -----

exec.kernel @k [#exec.argument<read 16>, #exec.argument<write 16>] {
^bb0(%a: tensor<4xf32>):
  dl.yield %a : tensor<4xf32>
}
exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %0 = exec.alloc : <16>
  // launch C1: too few buffers
  // expected-error @below {{passes 1 buffers to @k, which takes 2}}
  exec.launch @k(read %0) stream 0 : !exec.buffer<16>
  exec.output
}

// -----

exec.kernel @k [#exec.argument<read 16>, #exec.argument<write 16>] {
^bb0(%a: tensor<4xf32>):
  dl.yield %a : tensor<4xf32>
}
exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %0 = exec.alloc : <16>
  %1 = exec.alloc : <8>
  // launch C1: too small
  // expected-error @below {{buffer 1 is write 8 bytes, @k takes write 16}}
  exec.launch @k(read %0, write %1) stream 0 : !exec.buffer<16>, !exec.buffer<8>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %0 = exec.alloc : <16>
  // expected-error @below {{expected read, write or update, found 'wrote'}}
  exec.launch @k(wrote %0) stream 0 : !exec.buffer<16>
  exec.output
}

// -----

// expected-error @below {{a buffer cannot have -4 bytes}}
"exec.unknown"() {t = !exec.buffer<-4>} : () -> ()
