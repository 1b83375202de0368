// RUN: dlc-opt --exec-plan-memory --exec-verify %s | FileCheck %s
// RUN: dlc-opt --exec-plan-memory=reuse=false --exec-verify %s | FileCheck %s --check-prefix=OFF

exec.kernel @make [#exec.argument<write 256>] {
  dl.yield
}
exec.kernel @use [#exec.argument<read 256>, #exec.argument<write 256>] {
  dl.yield
}
exec.kernel @map [#exec.argument<read 256>, #exec.argument<write 256>] in_place [#exec.in_place<0 into 1>] {
  dl.yield
}
exec.kernel @split [#exec.argument<read 256>, #exec.argument<write 256>] attributes {workspace = 1000 : i64} {
  dl.yield
}

// The third buffer takes the first one's place, which nothing needs any more. A buffer that nothing touches is dropped.
// CHECK-LABEL: exec.program @chain attributes {arena_bytes = 512 : i64
// CHECK: exec.alloc at 0 : <256>
// CHECK-NEXT: exec.alloc at 256 : <256>
// CHECK-NEXT: exec.alloc at 0 : <256>
// CHECK-NEXT: exec.launch
// OFF-LABEL: exec.program @chain attributes {arena_bytes = 768 : i64
exec.program @chain attributes {kind = #program.entry<infer>, inputs = [], outputs = [#exec.value<"y" result tensor<64xf32>>], metrics = []} {
  %a = exec.alloc : <256>
  %b = exec.alloc : <256>
  %c = exec.alloc : <256>
  %unused = exec.alloc : <4096>
  exec.launch @make(write %a) stream 0 : !exec.buffer<256> loc("a")
  exec.launch @use(read %a, write %b) stream 0 : !exec.buffer<256>, !exec.buffer<256> loc("b")
  exec.launch @use(read %b, write %c) stream 0 : !exec.buffer<256>, !exec.buffer<256> loc("c")
  exec.output %c : !exec.buffer<256>
}

// The same with an output of the first buffer: it lives to the end.
// CHECK-LABEL: exec.program @kept attributes {arena_bytes = 768 : i64
exec.program @kept attributes {kind = #program.entry<infer>, inputs = [], outputs = [#exec.value<"x" result tensor<64xf32>>, #exec.value<"y" result tensor<64xf32>>], metrics = []} {
  %a = exec.alloc : <256>
  %b = exec.alloc : <256>
  %c = exec.alloc : <256>
  exec.launch @make(write %a) stream 0 : !exec.buffer<256> loc("a")
  exec.launch @use(read %a, write %b) stream 0 : !exec.buffer<256>, !exec.buffer<256> loc("b")
  exec.launch @use(read %b, write %c) stream 0 : !exec.buffer<256>, !exec.buffer<256> loc("c")
  exec.output %a, %c : !exec.buffer<256>, !exec.buffer<256>
}

// In place along the chain: one buffer is enough. It is not where the operand is read again.
// CHECK-LABEL: exec.program @in_place attributes {arena_bytes = 512 : i64
// CHECK: exec.alloc at 0 : <256>
// CHECK-NEXT: exec.alloc at 0 : <256>
// CHECK-NEXT: exec.alloc at 256 : <256>
// OFF-LABEL: exec.program @in_place attributes {arena_bytes = 768 : i64
exec.program @in_place attributes {kind = #program.entry<infer>, inputs = [], outputs = [#exec.value<"x" result tensor<64xf32>>, #exec.value<"y" result tensor<64xf32>>], metrics = []} {
  %a = exec.alloc : <256>
  %b = exec.alloc : <256>
  %c = exec.alloc : <256>
  exec.launch @make(write %a) stream 0 : !exec.buffer<256> loc("a")
  exec.launch @map(read %a, write %b) stream 0 : !exec.buffer<256>, !exec.buffer<256> loc("b")
  exec.launch @map(read %b, write %c) stream 0 : !exec.buffer<256>, !exec.buffer<256> loc("c")
  exec.output %b, %c : !exec.buffer<256>, !exec.buffer<256>
}

// On two streams without an event nothing orders the two chains: position in the text is no reason to share memory.
// CHECK-LABEL: exec.program @unordered attributes {arena_bytes = 512 : i64
// CHECK-LABEL: exec.program @ordered attributes {arena_bytes = 256 : i64
exec.program @unordered attributes {kind = #program.entry<infer>, streams = 2 : i64, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc : <256>
  %b = exec.alloc : <256>
  exec.launch @make(write %a) stream 0 : !exec.buffer<256> loc("a")
  exec.launch @make(write %b) stream 1 : !exec.buffer<256> loc("b")
  exec.output
}
exec.program @ordered attributes {kind = #program.entry<infer>, streams = 2 : i64, events = 1 : i64, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc : <256>
  %b = exec.alloc : <256>
  exec.launch @make(write %a) stream 0 : !exec.buffer<256> loc("a")
  exec.record_event 0 stream 0 loc("a")
  exec.wait_event 0 stream 1 loc("a")
  exec.launch @make(write %b) stream 1 : !exec.buffer<256> loc("b")
  exec.output
}

// A workspace is the launch's last buffer; it lies where nothing lives during the launch.
// CHECK-LABEL: exec.program @workspace attributes {arena_bytes = 1536 : i64
// CHECK: %[[W:.*]] = exec.alloc at 0 : <1000>
// CHECK-NEXT: exec.launch @split(read %{{.*}}, write %{{.*}}, update %[[W]])
exec.program @workspace attributes {kind = #program.entry<infer>, inputs = [], outputs = [#exec.value<"y" result tensor<64xf32>>], metrics = []} {
  %a = exec.alloc : <256>
  %b = exec.alloc : <256>
  %c = exec.alloc : <256>
  exec.launch @make(write %a) stream 0 : !exec.buffer<256> loc("a")
  exec.launch @split(read %a, write %b) stream 0 : !exec.buffer<256>, !exec.buffer<256> loc("b")
  exec.launch @use(read %b, write %c) stream 0 : !exec.buffer<256>, !exec.buffer<256> loc("c")
  exec.output %c : !exec.buffer<256>
}

exec.kernel @make_wide [#exec.argument<write 1280>] {
  dl.yield
}
exec.kernel @update_wide [#exec.argument<update 1280>] {
  dl.yield
}
exec.kernel @narrow [#exec.argument<read 1280>, #exec.argument<write 768>] {
  dl.yield
}
exec.kernel @fork [#exec.argument<read 768>, #exec.argument<write 768>, #exec.argument<write 768>] {
  dl.yield
}
exec.kernel @join [#exec.argument<read 768>, #exec.argument<read 768>, #exec.argument<update 768>] {
  dl.yield
}

// By size, duration or time the first narrow buffer takes the place of the wide one, the second stands behind both, and what is left
// between them is too small for the third. The third comes first when that is mended.
// CHECK-LABEL: exec.program @mended attributes {arena_bytes = 2304 : i64
// CHECK-SAME: live_bytes = 2304 : i64
exec.program @mended attributes {kind = #program.entry<train>, inputs = [], outputs = [], metrics = []} {
  %wide = exec.alloc : <1280>
  %a = exec.alloc : <768>
  %b = exec.alloc : <768>
  %c = exec.alloc : <768>
  exec.launch @make_wide(write %wide) stream 0 : !exec.buffer<1280> loc("wide")
  exec.launch @update_wide(update %wide) stream 0 : !exec.buffer<1280> loc("wide")
  exec.launch @narrow(read %wide, write %b) stream 0 : !exec.buffer<1280>, !exec.buffer<768> loc("b")
  exec.launch @fork(read %b, write %a, write %c) stream 0 : !exec.buffer<768>, !exec.buffer<768>, !exec.buffer<768> loc("c")
  exec.launch @join(read %a, read %b, update %c) stream 0 : !exec.buffer<768>, !exec.buffer<768>, !exec.buffer<768> loc("d")
  exec.output
}
