//===- Passes.td - passes on the exec dialect, in the order of passes/Pipelines.cpp -----------===//
#ifndef DLC_PASSES_EXEC_PASSES_TD
#define DLC_PASSES_EXEC_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrepareOperands : Pass<"exec-prepare-operands", "::mlir::ModuleOp"> {
  let summary = "computes what kernels make of weights once, not in each launch";
  let description = [{
    A kernel may begin with phases that need one operand only (`preparation`): the transform of
    Winograd's filters, the packing of a direct convolution's or of a product's weights. Where a
    program evaluates or infers, and the operand is a variable that no such program writes, these
    phases run in the program `prepare`, of which the runtime runs what an entry needs when
    variables have changed, and their workspace is a variable of role `derived`, one for all
    launches that want the operand in the same form. Not where it would save less than 1% of the
    kernel's time. A derived variable, such as a folded weight, that nothing but `prepare` needs any
    longer becomes memory of that program. Elsewhere, in training above all, launches of one program
    that want the same bytes in the same form, unwritten between them, have them prepared once, in
    front of the first: the state weights of a recurrent layer for all of its steps.
    ```mlir
    exec.launch @conv(read %x, read %w, write %y)
    // becomes, in `prepare` and in the program:
    exec.launch @conv(read %none, read %w, write %none, write %prepared) {part = preparation}
    exec.launch @conv(read %x, read %none, write %y, read %prepared) {part = rest}
    ```
  }];
}

def ScheduleStreams : Pass<"exec-schedule-streams", "::mlir::ModuleOp"> {
  let summary = "gives each record its stream and orders streams by events";
  let description = [{
    Records that touch the same bytes, at least one of them writing, keep their order; all
    others may overlap. Each record goes, in the order of the text, to the stream where it can
    start first by the seconds that its kernel was chosen by; on a tie to the stream of the
    record that it waits for. An event is made only where the order does not follow from streams
    and earlier events, so none can be left out. With one stream (the CPU: a record's tasks fill
    all cores) there are no events. Collectives stand on a stream of their channel, behind those
    that compute, where they run beside them; in the order of the text each goes directly behind
    what it waits for and behind the one of its channel before it.
    ```mlir
    exec.launch @a(write %x) stream 0                   exec.launch @a(write %x) stream 0
    exec.launch @b(write %y) stream 0        becomes    exec.launch @b(write %y) stream 1
    exec.launch @c(read %x, read %y) stream 0           exec.record_event 0 stream 1
                                                        exec.wait_event 0 stream 0
                                                        exec.launch @c(read %x, read %y) stream 0
    ```
  }];
  let options = [
    Option<"streams", "streams", "int64_t", "1", "number of streams to compute on">,
    Option<"recordSeconds", "record-seconds", "double", "1",
           "seconds of a record of which no estimate is known, but for its bytes">,
    Option<"byteSeconds", "byte-seconds", "double", "0", "and of each byte that it touches">];
}

def PlanMemory : Pass<"exec-plan-memory", "::mlir::ModuleOp"> {
  let summary = "gives each arena buffer its offset";
  let description = [{
    Two buffers may share bytes if all accesses of one happen before all accesses of the other, by
    streams and events, not by position; outputs live to the end. Buffers are placed one by one,
    each into a gap between those it may not overlap, in several orders: by falling size, size times
    lifetime, lifetime, by first and by last use. The best of these is mended: buffers that end
    above the most that lives at once (`live_bytes`) are placed first in the next round. The
    smallest arena is kept, and the search ends where it is `live_bytes`, as no arena is smaller. A
    launch's result takes its operand's place where the kernel allows it (`in_place`) and the
    operand is not needed afterwards. Launches get the workspaces of their kernels. Buffers that
    nothing touches are removed.
    `%0 = exec.alloc : !exec.buffer<64>` becomes `%0 = exec.alloc at 0 : !exec.buffer<64>`.
  }];
  let options = [Option<"reuse", "reuse", "bool", "true",
                        "false: each buffer has a place of its own">];
}

def Verify : Pass<"exec-verify", "::mlir::ModuleOp"> {
  let summary = "proves that a plan is ordered";
  let description = [{
    Independent of how the plan was made, checks of each program that
    (V1) each record has a name (NameLoc); (V2) each event is recorded once and waited for only
    behind that, streams and events are within the program's counts; (V3) of two records that touch
    the same byte, one of them writing, the first happens before the second; (V4) buffers that share
    bytes of the arena have lifetimes one behind the other, or one is the other's result in place;
    within a launch only such buffers overlap; (V5) each byte is written before it is read, and
    outputs are written; (V6) nothing writes inputs, constants or scalars; (V7) buffers lie within
    the state and the inputs, outputs in the arena; (V8) of two collectives of a channel one happens
    before the other, so that all ranks, which run the same plan, issue them in one order. An error
    names the record, with a note at the
    other one.
  }];
}

#endif
