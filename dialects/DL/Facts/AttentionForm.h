//===- AttentionForm.h - one description of attention and of its gradients ----------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_FACTS_ATTENTIONFORM_H
#define DLC_DIALECTS_DL_FACTS_ATTENTIONFORM_H

#include "dialects/DL/DL.h"

namespace dlc::dl {

/// What dl.attention and dl.attention_backward have in common.
struct AttentionForm {
  mlir::Value q, k, v, mask, kept; ///< mask and kept may be null
  int64_t heads = 0;               ///< of all samples
  int64_t queries = 0, keys = 0;   ///< T and S
  int64_t depth = 0, width = 0;    ///< D and E
  double scale = 1;
  double keptFactor = 1; ///< what scores that are kept are multiplied by
  bool causal = false;

  /// `op` is one of the two.
  static AttentionForm get(mlir::Operation *op);

  /// Scores that are seen, as far as `causal` says it.
  uint64_t scores() const;
};

} // namespace dlc::dl

#endif
