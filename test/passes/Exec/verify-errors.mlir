// RUN: dlc-opt --exec-verify --split-input-file --verify-diagnostics %s

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc : <64>
  // V1
  // expected-error @below {{has no name: its location names no layer}}
  exec.fill %a with 0 stream 0 : <64>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc : <64>
  // V2: a stream that the program does not have
  // expected-error @below {{is on stream 1 of 1}}
  exec.fill %a with 0 stream 1 : <64>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, streams = 2 : i64, events = 1 : i64, inputs = [], outputs = [], metrics = []} {
  // V2: the record stands behind the wait
  // expected-error @below {{waits for event 0, which is not recorded before}}
  exec.wait_event 0 stream 0
  exec.record_event 0 stream 1
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, streams = 2 : i64, events = 1 : i64, inputs = [], outputs = [], metrics = []} {
  exec.record_event 0 stream 1
  // expected-error @below {{records event 0 a second time}}
  exec.record_event 0 stream 1
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, events = 1 : i64, inputs = [], outputs = [], metrics = []} {
  // expected-error @below {{names event 1 of 1}}
  exec.record_event 1 stream 0
  exec.output
}

// -----

#a = loc("layer a")
#b = loc("layer b")
exec.program @p attributes {kind = #program.entry<infer>, streams = 2 : i64, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc : <64>
  %b = exec.alloc : <64>
  exec.fill %a with 0 stream 0 : <64> loc(#a)
  // V3: read after write, without an event
  // expected-error @unknown {{'layer b' touches bytes of 'layer a', but nothing orders them}}
  // expected-note @unknown {{'layer a' is here}}
  exec.copy %a to %b stream 1 : <64>, <64> loc(#b)
  exec.output
}

// -----

exec.variable @w : tensor<16xf32> role<statistic> init(<constant, 0.0, 0.0>) at 0 bytes 64
exec.program @p attributes {kind = #program.entry<infer>, streams = 2 : i64, inputs = [], outputs = [], metrics = []} {
  %w = exec.state @w at 0 : <64>
  %again = exec.state @w at 0 : <64>
  exec.fill %w with 0 stream 0 : <64> loc("a")
  // V3: two writers of a variable
  // expected-error @unknown {{'b' touches bytes of 'a', but nothing orders them}}
  // expected-note @unknown {{'a' is here}}
  exec.fill %again with 1 stream 1 : <64> loc("b")
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, arena_bytes = 128 : i64, inputs = [], outputs = [], metrics = []} {
  // V4: the second is written between the first one's write and read
  // expected-error @below {{shares bytes with a buffer that lives at the same time}}
  %a = exec.alloc at 0 : <64>
  // expected-note @below {{the other buffer}}
  %b = exec.alloc at 0 : <64>
  %c = exec.alloc at 64 : <64>
  exec.fill %a with 0 stream 0 : <64> loc("a")
  exec.fill %b with 0 stream 0 : <64> loc("b")
  exec.copy %a to %c stream 0 : <64>, <64> loc("c")
  exec.output
}

// -----

exec.kernel @k [#exec.argument<read 64>, #exec.argument<write 64>] {
  dl.yield
}
exec.program @p attributes {kind = #program.entry<infer>, arena_bytes = 64 : i64, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc at 0 : <64>
  %b = exec.alloc at 0 : <64>
  exec.fill %a with 0 stream 0 : <64> loc("a")
  // V4: the kernel does not work in place
  // expected-error @unknown {{buffers 0 and 1 of 'b' share memory}}
  exec.launch @k(read %a, write %b) stream 0 : !exec.buffer<64>, !exec.buffer<64> loc("b")
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc : <128>
  %b = exec.alloc : <128>
  %low = exec.view %a at 0 : <128> to <60>
  exec.fill %low with 0 stream 0 : <60> loc("a")
  // V5: the second half; the four bytes behind the first tensor belong to it
  // expected-error @unknown {{byte 64 of a buffer is read before it is written}}
  exec.copy %a to %b stream 0 : <128>, <128> loc("b")
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [#exec.value<"y" result tensor<16xf32>>], metrics = []} {
  %a = exec.alloc : <64>
  // V5
  // expected-error @below {{output 0 is not written}}
  exec.output %a : !exec.buffer<64>
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [#exec.value<"x" input tensor<16xf32>>], outputs = [], metrics = []} {
  %x = exec.input 0 : <64>
  // V6
  // expected-error @unknown {{'a' writes read-only memory}}
  exec.fill %x with 0 stream 0 : <64> loc("a")
  exec.output
}

// -----

exec.variable @w : tensor<16xf32> role<statistic> init(<constant, 0.0, 0.0>) at 0 bytes 64
exec.program @p attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  // V7
  // expected-error @below {{ends at byte 128 of a state of 64}}
  %w = exec.state @w at 0 : <128>
  exec.output
}

// -----

exec.program @p attributes {kind = #program.entry<infer>, inputs = [#exec.value<"x" input tensor<16xf32>>], outputs = [#exec.value<"y" result tensor<16xf32>>], metrics = []} {
  %x = exec.input 0 : <64>
  // V7
  // expected-error @below {{output 0 does not stand in the arena}}
  exec.output %x : !exec.buffer<64>
}

// -----

#a = loc("gradient")
#b = loc("bucket1")
exec.program @p attributes {kind = #program.entry<train>, streams = 2 : i64, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc : <64>
  exec.fill %a with 0 stream 0 : <64> loc(#a)
  // V3: the event between a gradient and its reduction is missing
  // expected-error @unknown {{'bucket1' touches bytes of 'gradient', but nothing orders them}}
  // expected-note @unknown {{'gradient' is here}}
  exec.all_reduce sum %a as f32 channel 0 stream 1 : <64> loc(#b)
  exec.output
}

// -----

#a = loc("layer a")
#b = loc("bucket1")
#c = loc("update")
exec.program @p attributes {kind = #program.entry<train>, streams = 2 : i64, events = 1 : i64, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc : <64>
  %b = exec.alloc : <64>
  exec.fill %a with 0 stream 0 : <64> loc(#a)
  exec.record_event 0 stream 0 loc(#a)
  exec.wait_event 0 stream 1 loc(#b)
  exec.all_reduce sum %a as f32 channel 0 stream 1 : <64> loc(#b)
  // V3: the event between a reduction and the update is missing
  // expected-error @unknown {{'update' touches bytes of 'bucket1', but nothing orders them}}
  // expected-note @unknown {{'bucket1' is here}}
  exec.copy %a to %b stream 0 : <64>, <64> loc(#c)
  exec.output
}

// -----

#a = loc("layer a")
#b = loc("bucket3")
#c = loc("bucket4")
exec.program @p attributes {kind = #program.entry<train>, streams = 2 : i64, events = 1 : i64, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc : <64>
  %b = exec.alloc : <64>
  exec.fill %a with 0 stream 0 : <64> loc(#a)
  exec.fill %b with 0 stream 0 : <64> loc(#a)
  exec.record_event 0 stream 0 loc(#a)
  exec.wait_event 0 stream 1 loc(#b)
  exec.all_reduce sum %a as f32 channel 0 stream 1 : <64> loc(#b)
  // V8: another rank may issue them the other way round
  // expected-error @unknown {{'bucket4' and 'bucket3' are collectives of channel 0, but nothing orders them: ranks may issue them in different orders}}
  // expected-note @unknown {{'bucket3' is here}}
  exec.all_reduce sum %b as f32 channel 0 stream 0 : <64> loc(#c)
  exec.output
}

// -----

#a = loc("layer a")
#b = loc("bucket1")
#c = loc("moments")
// V8: those of different channels need no order.
exec.program @channels attributes {kind = #program.entry<train>, streams = 2 : i64, events = 1 : i64, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc : <64>
  %b = exec.alloc : <64>
  exec.fill %a with 0 stream 0 : <64> loc(#a)
  exec.fill %b with 0 stream 0 : <64> loc(#a)
  exec.record_event 0 stream 0 loc(#a)
  exec.wait_event 0 stream 1 loc(#b)
  exec.all_reduce sum %a as f32 channel 0 stream 1 : <64> loc(#b)
  exec.all_reduce sum %b as f32 channel 1 stream 0 : <64> loc(#c)
  exec.output
}
