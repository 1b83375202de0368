//===- ReportPage.h - the report as a page for a browser ----------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_REPORTPAGE_H
#define DLC_CODEGEN_PLAN_REPORTPAGE_H

#include "llvm/Support/JSON.h"
#include <string>

namespace dlc::codegen {

/// One page that holds all it needs: of each entry the network as a graph, the time of each layer,
/// the memory over the step, FLOPs and bytes beside the least, kernels and buckets; the code of
/// kernels; and what all words mean. `report` is of buildReport(), `details` of
/// buildReportDetails(), `measured` of readMeasurements() or empty.
std::string printReportPage(const llvm::json::Value &report, const llvm::json::Array &details,
                            const llvm::json::Array &measured);

} // namespace dlc::codegen

#endif
