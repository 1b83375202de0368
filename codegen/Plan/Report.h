//===- Report.h - what a compiled model costs ---------------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_REPORT_H
#define DLC_CODEGEN_PLAN_REPORT_H

#include "codegen/Compile/KernelSelector.h"
#include "dialects/Exec/Exec.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace dlc::codegen {

/// The compile report of a planned module, as it stands in the plan:
///
///   model, target, parameters, parameter_bytes, state_bytes, kernels (distinct)
///   entries: name, batch, arena_bytes, live_bytes (the most of it in use at once), launches,
///     kernels (distinct), flops, bytes, activation_bytes
///     sums, one a layer in order of its first record: layer, records, parameters, flops, bytes,
///       activation_bytes
///     passes, one a layer and stage without a product, convolution or attention: layer, stage,
///       records, bytes, least_bytes, behind_products_bytes, see MemoryPasses.h
///     memory, where dl-divide-batch or dl-rematerialize did something: bytes_before and
///     bytes_after
///       (arena and state), budget_bytes if there is one, recomputed (launches), recompute_seconds
///       (estimated); where the batch is divided batch_parts and divided_seconds, which that adds
///     layers, one a record in order: layer, stage, shape (first result), layout (of it, where it
///       is not row-major: "nhwc"), parameters, flops, bytes, activation_bytes, kernel
///   training, one a parameter that does not train as its optimizer says: parameter, training ("lr
///   x
///     10, decay x 0", "frozen")
///   schedules, one a kernel: kernel, schedule ("library: cuDNN + bias + ReLU")
///   fallbacks, one a convolution's kernel that does not run as it is asked to: kernel, layers,
///     wanted, reason; slow, one a kernel of loops of last resort: kernel, layers, reason, and the
///     entry of whose estimated seconds all that are slow for this reason take the share; see
///     Shortfalls.h
///   code (CUDA), one a phase of a kernel and architecture: kernel, architecture, threads,
///     registers, spill_bytes, shared_bytes
///
/// A kernel that knows no axes sees its tensors in the order of memory, and so is its shape. FLOPs
/// count a multiply and an add as two; parameters are those that the record is the first of the
/// entry to read; activation_bytes is what it writes into the arena. Sizes in bytes.
/// `selected` are the module's kernels, `compiled` their code, or empty where they have not been
/// compiled.
llvm::json::Value buildReport(mlir::ModuleOp module, KernelSelector &selector,
                              llvm::ArrayRef<SelectedKernel> selected = {},
                              llvm::ArrayRef<CompiledKernel> compiled = {});

/// The report for people: tables of an entry's records, of its layers and of what moves more bytes
/// than its formula needs, aligned, with units.
void printReport(const llvm::json::Value &report, llvm::raw_ostream &out);

} // namespace dlc::codegen

#endif
