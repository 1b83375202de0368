//===- AttentionKernels.h - kernels of attention as text ----------------------------*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_ATTENTIONKERNELS_H
#define DLC_TEST_CODEGEN_ATTENTIONKERNELS_H

#include "test/codegen/Harness.h"

namespace dlc::test {

struct AttentionSizes {
  int samples, heads, queries, keys, depth, width;
};

/// dl.attention of all its operands as they are stored. `mask`: "", or the tail of its type;
/// `causal`: "" or " causal".
KernelSource attention(const AttentionSizes &sizes, const std::string &causal = "",
                       const std::string &mask = "", bool kept = false);
KernelSource attentionBackward(const AttentionSizes &sizes, const std::string &causal = "",
                               const std::string &mask = "", bool kept = false);
/// dl.attention of operands that are computed where they are read: a scaled q, a mask for each
/// key, dropout by random numbers.
KernelSource fusedAttention();

} // namespace dlc::test

#endif
