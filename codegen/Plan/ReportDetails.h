//===- ReportDetails.h - what pictures of a compiled model need ---------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_REPORTDETAILS_H
#define DLC_CODEGEN_PLAN_REPORTDETAILS_H

#include "dialects/Exec/Exec.h"
#include "llvm/Support/JSON.h"

namespace dlc::codegen {

/// What buildReport() leaves out because no plan needs it. An array with an object an entry, in the
/// order of the report's:
///
///   seconds, estimated, one a row of the report's `layers`
///   edges, between the layers of the forward pass: [from, to, bytes], each pair once; "input:NAME"
///   for an
///     input
///   holders, one a buffer of the arena, in the order of the text: layer and stage of the record
///     that first writes it, layers (how many write to it), kind ("kept": of the forward pass, for
///     the backward pass; "passing": of the forward pass alone; "gradient": of an activation;
///     "parameter-gradient"; "workspace"; "other"), bytes, offset, and first and end: numbers of
///     records, events included, where it begins and ends to be in use. What takes another one's
///     place in the same kernel begins where that ends.
///   records, how many there are, events included
llvm::json::Array buildReportDetails(mlir::ModuleOp module);

} // namespace dlc::codegen

#endif
