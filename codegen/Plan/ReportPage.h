//===- ReportPage.h - the report as a page for a browser ----------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_REPORTPAGE_H
#define DLC_CODEGEN_PLAN_REPORTPAGE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace dlc::codegen {

/// What `dlc-run bench --layers --json` prints of entries of this module: its lines, checked. Fails
/// for another text, without layers, and for what was measured of another module, with what does
/// not fit.
llvm::Expected<llvm::json::Array> readMeasurements(llvm::StringRef text,
                                                   const llvm::json::Value &report);

/// One page that holds all it needs: of each entry the network as a graph, the time of each layer,
/// the memory over the step, FLOPs and bytes beside the least, kernels and buckets; the code of
/// kernels; and what all words mean. `report` is of buildReport(), `details` of
/// buildReportDetails(), `measured` of readMeasurements() or empty.
std::string printReportPage(const llvm::json::Value &report, const llvm::json::Array &details,
                            const llvm::json::Array &measured);

} // namespace dlc::codegen

#endif
