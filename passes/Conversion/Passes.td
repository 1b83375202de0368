//===- Passes.td - conversions between dialects -----------------------------------------------===//
#ifndef DLC_PASSES_CONVERSION_PASSES_TD
#define DLC_PASSES_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertDLToExec : Pass<"convert-dl-to-exec", "::mlir::ModuleOp"> {
  let summary = "values become buffers, fused groups become kernels";
  let description = [{
    Expects entries after dl-schedule: dl.read, dl.assign, dl.scalar, dl.constant, dl.reshape,
    dl.fused, dl.multi_tensor and dl.return, in the order in which they run.

    - The region of each dl.fused and dl.multi_tensor moves into an exec.kernel; regions with equal
      text share one.
    - Variables get their places in the state. Those that one multi_tensor updates follow each
      other, and so do its slots and gradients: a launch passes one flat buffer for all tensors of
      a stream. Gradients are written there by the kernels that compute them.
    - A reshape is the same buffer. A read is the variable's memory. An assigned value is computed
      in the variable's memory if no one reads the old value later, and copied there at the end
      otherwise.
    - An output stands in the arena: one that is an input, a constant or a variable is copied.
    ```mlir
    %w = dl.read @w : tensor<4xf32>
    %y = dl.fused(%x, %w) ... {
      ... dl.add ...
    }
    dl.return %y : tensor<4xf32>
    ```
    becomes
    ```mlir
    %w = exec.state @w at 0 : !exec.buffer<16>
    %y = exec.alloc : !exec.buffer<16>
    exec.launch @k_0123456789abcdef(read %x, read %w, write %y) stream 0
    exec.output %y : !exec.buffer<16>
    ```
  }];
  let dependentDialects = ["::dlc::exec::ExecDialect"];
}

#endif
