//===- FakeCandidates.h - a target that passes can be tested with -------------------*- C++ -*-===//
//
// Its convolutions want channels innermost, everything else takes both orders alike, and a region
// takes a second whatever it computes: so what is joined is faster.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_PASSES_FAKECANDIDATES_H
#define DLC_TEST_PASSES_FAKECANDIDATES_H

#include "dialects/DL/DLConvolutionOps.h"
#include "dialects/DL/DLFusedOps.h"
#include "passes/DL/CandidateSource.h"

namespace dlc::test {

class FakeCandidates : public dl::CandidateSource {
public:
  void addDialects(mlir::DialectRegistry &) const override {}
  void expect(llvm::ArrayRef<dl::FusedOp>) override {}
  std::vector<dl::Candidate> candidates(dl::FusedOp region) override {
    dl::Layouts rows, last;
    for (mlir::Type type :
         llvm::concat<const mlir::Type>(mlir::SmallVector<mlir::Type>(region->getOperandTypes()),
                                        mlir::SmallVector<mlir::Type>(region->getResultTypes()))) {
      int64_t rank = mlir::cast<mlir::RankedTensorType>(type).getRank();
      rows.push_back({});
      last.push_back(rank < 3 ? program::LayoutAttr()
                              : program::LayoutAttr::getChannelsLast(region.getContext(), rank));
    }
    std::vector<dl::Candidate> all = candidatesIn(region, rows);
    all.front().seconds += convolves(region) ? 1 : 0;
    if (last != rows)
      llvm::append_range(all, candidatesIn(region, last));
    return all;
  }
  std::vector<dl::Candidate> candidatesIn(dl::FusedOp, const dl::Layouts &layouts) override {
    dl::Candidate candidate;
    candidate.generator = "fake";
    candidate.layouts = layouts;
    candidate.seconds = 1;
    return {candidate};
  }
  bool readsStored(dl::AnchorOp, unsigned) override { return false; }
  double conversionSeconds(mlir::RankedTensorType) override { return 0.01; }

private:
  static bool convolves(dl::FusedOp region) {
    return llvm::any_of(region.getBody().front(), [](mlir::Operation &op) {
      return mlir::isa<dl::ConvolutionOp, dl::ConvolutionBackwardDataOp,
                       dl::ConvolutionBackwardFilterOp>(op);
    });
  }
};

} // namespace dlc::test

#endif
