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

// -----

// A collective runs on a stream of its channel, behind those that compute: an event before it, and one where its sum is needed. What
// stands between does not wait. Collectives of a channel keep their order by the stream alone.
// CHECK-LABEL: exec.program @collectives
// CHECK-SAME: streams = 3
// ONE-LABEL: exec.program @collectives
// ONE-SAME: events = 4
// ONE-SAME: streams = 2
// ONE: exec.fill %[[A:.*]] with 0 stream 0
// ONE-NEXT: exec.record_event 0 stream 0
// ONE-NEXT: exec.wait_event 0 stream 1
// ONE-NEXT: exec.all_reduce sum %[[A]] as f32 channel 0 stream 1
// ONE-NEXT: exec.record_event 2 stream 1
// ONE-NEXT: exec.fill %[[B:.*]] with 0 stream 0
// ONE-NEXT: exec.record_event 1 stream 0
// ONE-NEXT: exec.wait_event 1 stream 1
// ONE-NEXT: exec.all_reduce sum %[[B]] as f32 channel 0 stream 1
// ONE-NEXT: exec.record_event 3 stream 1
// ONE-NEXT: exec.wait_event 2 stream 0
// ONE-NEXT: exec.copy %[[A]]
// ONE-NEXT: exec.wait_event 3 stream 0
// ONE-NEXT: exec.copy %[[B]]
exec.program @collectives attributes {kind = #program.entry<train>, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc : <64>
  %b = exec.alloc : <64>
  %c = exec.alloc : <64>
  exec.fill %a with 0 stream 0 : <64> loc("a")
  exec.all_reduce sum %a as f32 channel 0 stream 0 : <64> loc("bucket1")
  exec.fill %b with 0 stream 0 : <64> loc("b")
  exec.all_reduce sum %b as f32 channel 0 stream 0 : <64> loc("bucket2")
  exec.copy %a to %c stream 0 : <64>, <64> loc("update1")
  exec.copy %b to %c stream 0 : <64>, <64> loc("update2")
  exec.output
}

// -----

// Parts of a bucket start behind what each of them waits for, not where the bucket stands, in the order of their channel.
// ONE-LABEL: exec.program @parts
// ONE: exec.fill %[[B:.*]] with 0 stream 0
// ONE-NEXT: exec.record_event 0 stream 0
// ONE-NEXT: %[[FIRST:.*]] = exec.view %[[B]] at 0
// ONE-NEXT: exec.wait_event 0 stream 1
// ONE-NEXT: exec.all_reduce sum %[[FIRST]]
// ONE-NEXT: %[[SECOND:.*]] = exec.view %[[B]] at 64
// ONE-NEXT: exec.all_reduce sum %[[SECOND]]
// ONE-NEXT: exec.fill %[[A:.*]] with 0 stream 0
// ONE-NEXT: exec.record_event 1 stream 0
// ONE-NEXT: exec.wait_event 1 stream 1
// ONE-NEXT: exec.all_reduce sum %[[A]]
// ONE-NEXT: exec.fill %{{.*}} with 1 stream 0
exec.program @parts attributes {kind = #program.entry<train>, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc : <64>
  %b = exec.alloc : <128>
  %c = exec.alloc : <64>
  exec.fill %b with 0 stream 0 : <128> loc("b")
  exec.fill %a with 0 stream 0 : <64> loc("a")
  exec.fill %c with 1 stream 0 : <64> loc("c")
  %first = exec.view %b at 0 : <128> to <64>
  exec.all_reduce sum %first as f32 channel 0 stream 0 : <64> loc("bucket1")
  %second = exec.view %b at 64 : <128> to <64>
  exec.all_reduce sum %second as f32 channel 0 stream 0 : <64> loc("bucket1")
  exec.all_reduce sum %a as f32 channel 0 stream 0 : <64> loc("bucket2")
  exec.output
}

// -----

// Two channels are two streams: a small sum overtakes a bucket.
// ONE-LABEL: exec.program @channels
// ONE-SAME: streams = 3
// ONE: exec.all_reduce sum %{{.*}} as f32 channel 0 stream 1
// ONE: exec.all_reduce sum %{{.*}} as f64 channel 1 stream 2
// CHECK-LABEL: exec.program @channels
exec.program @channels attributes {kind = #program.entry<train>, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc : <64>
  %b = exec.alloc : <64>
  exec.fill %a with 0 stream 0 : <64> loc("a")
  exec.fill %b with 0 stream 0 : <64> loc("b")
  exec.all_reduce sum %a as f32 channel 0 stream 0 : <64> loc("bucket1")
  exec.all_reduce sum %b as f64 channel 1 stream 0 : <64> loc("moments")
  exec.output
}

// -----

exec.kernel @make [#exec.argument<write 256>] {
  dl.yield
}

// What is computed again stays behind what stands before it, although another stream has nothing to do: it would lie there longer.
// CHECK-LABEL: exec.program @again
// CHECK: exec.launch @make(write %{{.*}}) stream 0
// CHECK: exec.launch @make(write %{{.*}}) stream 0 {exec.keeps_place}
exec.program @again attributes {kind = #program.entry<infer>, inputs = [], outputs = [], metrics = []} {
  %a = exec.alloc : <256>
  %b = exec.alloc : <256>
  exec.launch @make(write %a) stream 0 : !exec.buffer<256> loc("a")
  exec.launch @make(write %b) stream 0 {exec.keeps_place} : !exec.buffer<256> loc("b")
  exec.output
}
