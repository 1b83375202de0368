//===- StorageOrder.h - kernels that know no axes see tensors as they lie in memory -*- C++ -*-===//
#ifndef DLC_PASSES_CONVERSION_STORAGEORDER_H
#define DLC_PASSES_CONVERSION_STORAGEORDER_H

#include "dialects/DL/DL.h"

namespace dlc {

/// Rewrites the body of a kernel so that the axes of its tensors stand in the order in which they
/// lie in memory, and no tensor has a layout: [2, 3, 4, 5] with channels last becomes [2, 4, 5, 3].
/// A blocked axis is two: [2, 32, 4, 5] in blocks of 16 channels becomes [2, 2, 4, 5, 16].
/// Generators then walk memory in order, and kernels that differ in their layouts only are one.
/// Only where the order of axes means nothing: element-wise ops, broadcasts, pooling and a
/// reduction, all tensors of the layout's rank stored in the same order, or, beside blocked ones,
/// row-major and transposed in the kernel. Around windows blocks that lie behind the pixels,
/// [2, 4, 5, 2, 16] in memory, are seen as those in front of them, and keep a layout that says so.
/// Otherwise nothing changes.
void adoptStorageOrder(mlir::Block &body);

} // namespace dlc

#endif
