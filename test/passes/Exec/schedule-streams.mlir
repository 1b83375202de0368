// RUN: dlc-opt --exec-schedule-streams=streams=2 --exec-verify --split-input-file %s | FileCheck %s
// RUN: dlc-opt --exec-schedule-streams --exec-verify --split-input-file %s | FileCheck %s --check-prefix=ONE

exec.kernel @make [#exec.argument<write 256>] {
  dl.yield
}
exec.kernel @join [#exec.argument<read 256>, #exec.argument<read 256>, #exec.argument<write 256>] {
  dl.yield
}

// Two chains that do not touch each other run side by side; the one that reads both waits for the other stream once.
// CHECK-LABEL: exec.program @chains
// CHECK-SAME: events = 1
// CHECK-SAME: streams = 2
// CHECK: exec.launch @make(write %[[A:.*]]) stream 0
// CHECK: exec.launch @make(write %[[B:.*]]) stream 1
// CHECK: exec.record_event 0 stream 1
// CHECK: exec.wait_event 0 stream 0
// CHECK: exec.launch @join(read %[[A]], read %[[B]], write %[[C:.*]]) stream 0
// CHECK-NOT: exec.wait_event
// CHECK: exec.launch @join(read %[[C]], read %[[B]], write %{{.*}}) stream 0
// With one stream there is nothing to wait for.
// ONE-LABEL: exec.program @chains
// ONE-NOT: event
// ONE: exec.output
exec.program @chains attributes {kind = #program.entry<infer>, inputs = [], outputs = [#exec.value<"y" result tensor<64xf32>>], metrics = []} {
  %a = exec.alloc : <256>
  %b = exec.alloc : <256>
  %c = exec.alloc : <256>
  %d = exec.alloc : <256>
  exec.launch @make(write %a) stream 0 : !exec.buffer<256> loc("a")
  exec.launch @make(write %b) stream 0 : !exec.buffer<256> loc("b")
  exec.launch @join(read %a, read %b, write %c) stream 0 : !exec.buffer<256>, !exec.buffer<256>, !exec.buffer<256> loc("c")
  exec.launch @join(read %c, read %b, write %d) stream 0 : !exec.buffer<256>, !exec.buffer<256>, !exec.buffer<256> loc("d")
  exec.output %d : !exec.buffer<256>
}

// Two pieces of one buffer do not conflict, a piece and the whole do: writing after reading waits as well.
// CHECK-LABEL: exec.program @pieces
// CHECK: exec.fill %{{.*}} with 0 stream 0
// CHECK: exec.fill %{{.*}} with 1 stream 1
// CHECK: exec.record_event 0 stream 1
// CHECK: exec.wait_event 0 stream 0
// CHECK: exec.copy %[[ALL:.*]] to %{{.*}} stream 0
// CHECK: exec.fill %[[ALL]] with 2 stream 0
exec.program @pieces attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %all = exec.alloc : <128>
  %copy = exec.alloc : <128>
  %low = exec.view %all at 0 : <128> to <64>
  %high = exec.view %all at 64 : <128> to <64>
  exec.fill %low with 0 stream 0 : <64> loc("low")
  exec.fill %high with 1 stream 0 : <64> loc("high")
  exec.copy %all to %copy stream 0 : <128>, <128> loc("copy")
  exec.fill %all with 2 stream 0 : <128> loc("again")
  exec.output
}
