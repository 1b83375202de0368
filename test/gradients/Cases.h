//===- Cases.h - entries whose gradients are checked --------------------------------*- C++ -*-===//
#ifndef DLC_TEST_GRADIENTS_CASES_H
#define DLC_TEST_GRADIENTS_CASES_H

#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace dlc::gradients {

/// Values of an argument are spread evenly over shift + [-scale, scale), so that no two are near
/// each other; integers are drawn from shift + [0, scale).
struct DrawRange {
  double scale = 1, shift = 0;
};

struct Case {
  std::string name;
  std::string signature;              ///< "(%x: tensor<3xf64>) -> tensor<3xf64>"
  std::string body;                   ///< ops, and dl.return
  std::vector<DrawRange> ranges = {}; ///< one an argument; the default where absent
  int orders = 2;                     ///< how often it can be differentiated
};

llvm::ArrayRef<Case> allCases();

} // namespace dlc::gradients

#endif
