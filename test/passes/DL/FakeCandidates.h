//===- FakeCandidates.h - a target that passes can be tested with -------------------*- C++ -*-===//
//
// Its convolutions want channels innermost, or in blocks of two, which nothing else is converted to
// inside of them; everything else takes both orders alike, and a region takes a second whatever it
// computes: so what is joined is faster.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_PASSES_DL_FAKECANDIDATES_H
#define DLC_TEST_PASSES_DL_FAKECANDIDATES_H

#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "passes/DL/Choice/CandidateSource.h"

namespace dlc::test {

class FakeCandidates : public dl::CandidateSource {
public:
  explicit FakeCandidates(bool blocks = false) : blocks(blocks) {}
  void addDialects(mlir::DialectRegistry &) const override {}
  void expect(llvm::ArrayRef<dl::FusedOp>) override {}
  std::vector<dl::Candidate> candidates(dl::FusedOp region) override {
    dl::Layouts rows, wanted;
    for (mlir::Type type :
         llvm::concat<const mlir::Type>(mlir::SmallVector<mlir::Type>(region->getOperandTypes()),
                                        mlir::SmallVector<mlir::Type>(region->getResultTypes()))) {
      rows.push_back({});
      wanted.push_back(wantedLayout(mlir::cast<mlir::RankedTensorType>(type)));
    }
    std::vector<dl::Candidate> all = candidatesIn(region, rows);
    all.front().seconds += convolves(region) ? 1 : 0;
    if (wanted != rows)
      llvm::append_range(all, candidatesIn(region, wanted));
    return all;
  }
  std::vector<dl::Candidate> candidatesIn(dl::FusedOp, const dl::Layouts &layouts) override {
    dl::Candidate candidate;
    candidate.generator = "fake";
    candidate.layouts = layouts;
    candidate.seconds = 1;
    return {candidate};
  }
  std::string refusal(dl::FusedOp) override { return ""; }
  bool readsStored(dl::AnchorOp) override { return false; }
  bool takesReductions(dl::AnchorOp anchor) override { return anchor.takesReductions(); }
  bool takesUpdates(dl::AnchorOp) override { return true; }
  bool convertsItself(dl::FusedOp region) override { return !blocks || !convolves(region); }
  bool estimatesConversions() override { return false; }
  double conversionSeconds(mlir::RankedTensorType, program::LayoutAttr,
                           program::LayoutAttr) override {
    return 0.01;
  }
  double secondsPerCopiedByte() override { return 1e-10; }
  int64_t mostRowBytes() override { return 256 << 10; }

private:
  program::LayoutAttr wantedLayout(mlir::RankedTensorType type) const {
    if (!blocks)
      return type.getRank() < 3
                 ? program::LayoutAttr()
                 : program::LayoutAttr::getChannelsLast(type.getContext(), type.getRank());
    // Images have four rows, filters three.
    if (type.getRank() != 4 || type.getDimSize(2) != 4)
      return {};
    return program::LayoutAttr::get(type.getContext(), {0, 1, 2, 3}, {1, 2});
  }
  static bool convolves(dl::FusedOp region) {
    return llvm::any_of(region.getBody().front(), [](mlir::Operation &op) {
      return mlir::isa<dl::ConvolutionOp, dl::ConvolutionBackwardDataOp,
                       dl::ConvolutionBackwardFilterOp>(op);
    });
  }

  const bool blocks;
};

} // namespace dlc::test

#endif
