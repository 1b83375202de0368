//===- Program.h - a small planned program for the tests of the plan ----------------*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_PLAN_PROGRAM_H
#define DLC_TEST_CODEGEN_PLAN_PROGRAM_H

namespace dlc::test {

/// One entry with everything that the tables hold: a kernel in two phases with a workspace, a copy,
/// a fill, events on two streams, a constant that is used twice, scalars, a metric, a blocked
/// layout, a setting.
inline constexpr const char *smallProgram = R"mlir(
module @model attributes {dl.documentation = "about it"} {
  program.settings {epochs = 3 : i64}
  exec.variable @conv.weight
      : tensor<1x6x1x2xf32, #program.layout<order = [0, 2, 1, 3], blocks = [1, 4]>>
      role<parameter> init(<uniform, -0.5, 0.25>) at 64 bytes 64
  exec.variable @conv.weight.momentum
      : tensor<1x6x1x2xf32, #program.layout<order = [0, 2, 1, 3], blocks = [1, 4]>>
      role<slot> of(@conv.weight) init(<constant, 0.0, 0.0>) at 0 bytes 64
  exec.kernel @sum [#exec.argument<read 64>, #exec.argument<read 8>, #exec.argument<read 4>,
                    #exec.argument<write 64>]
      attributes {workspace = 128 : i64, key = "000102030405060708090a0b0c0d0e0f",
                  flops = 100 : i64, bytes_moved = 200 : i64,
                  candidate = #program.candidate<generator = "cpu-map", schedule = "16 elements",
                                                 seconds = 1.5e-3 : f64>,
                  second_best = #program.candidate<generator = "cpu-loops", schedule = "loops",
                                                   seconds = 0.2 : f64>,
                  phases = [#exec.phase<"sum_0" tasks = 7 scratch = 256>,
                            #exec.phase<"sum_1" tasks = 1 scratch = 0>]} {
  ^bb0(%x: tensor<16xf32>, %c: tensor<2xf32>, %s: tensor<f32>):
    dl.yield %x : tensor<16xf32>
  }
  exec.program @train_step attributes {kind = #program.entry<train>, batch = 16 : i64,
      every = 5 : i64, arena_bytes = 512 : i64, live_bytes = 256 : i64, streams = 2 : i64,
      events = 1 : i64, valid = 1 : i64,
      schedule = [
        #program.schedule_part<warmup, in_epochs = false, length = 7.0 : f64, n = 7.0 : f64,
                               0.5 : f64, 0.0 : f64, 0.0 : f64>,
        #program.schedule_part<one_cycle, in_epochs = true, length = 0.0 : f64, n = 3.0 : f64,
                               0.3 : f64, 0.04 : f64, 0.01 : f64>,
        #program.schedule_part<plateau, in_epochs = true, length = 0.0 : f64, n = 0.0 : f64,
                               0.5 : f64, 3.0 : f64, 1.0 : f64, metric = "accuracy">],
      inputs = [#exec.value<"x" input tensor<16xf32> batch_axis = 0>,
                #exec.value<"valid" input tensor<i32>>],
      outputs = [#exec.value<"loss.sum" accumulator tensor<f32>>,
                 #exec.value<"gradient.conv.weight" gradient tensor<16xf32> of = @conv.weight>],
      metrics = [#program.metric<"loss", loss, exp,
                     [<"loss.sum", count = 16.0 : f64, coefficient = 2.0 : f64>]>]} {
    %x = exec.input 0 : <64>
    %w = exec.state @conv.weight at 64 : <64>
    %c = exec.constant dense<1.5> : tensor<2xf32> : <8>
    %again = exec.constant dense<[1.5, 1.5]> : tensor<2xf32> : <8>
    %momentum = exec.scalar "optimizer.momentum", 0.9 as f32 at 4 : <4>
    %rate = exec.scalar "optimizer.learning_rate", 0.1 as f32 scheduled at 0 : <4>
    %ws = exec.alloc at 128 : <128>
    %y = exec.alloc at 0 : <64>
    %z = exec.alloc at 256 : <64>
    %l = exec.alloc at 64 : <4>
    exec.launch @sum(read %w, read %c, read %rate, write %y, update %ws) stream 0 :
        !exec.buffer<64>, !exec.buffer<8>, !exec.buffer<4>, !exec.buffer<64>, !exec.buffer<128>
        loc("conv")
    exec.record_event 0 stream 0 loc("conv")
    exec.wait_event 0 stream 1 loc("conv")
    exec.copy %y to %z stream 1 : <64>, <64> loc("conv/copy")
    exec.fill %l with 7 stream 1 : <4> loc("loss")
    exec.launch @sum(read %x, read %again, read %momentum, write %w, update %ws) stream 0 :
        !exec.buffer<64>, !exec.buffer<8>, !exec.buffer<4>, !exec.buffer<64>, !exec.buffer<128>
        loc("conv/update")
    exec.output %l, %z : !exec.buffer<4>, !exec.buffer<64>
  }
}
)mlir";

} // namespace dlc::test

#endif
