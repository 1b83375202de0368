//===- Status.h - failures of the runtime's file functions as LLVM's errors ---------*- C++ -*-===//
#ifndef DLC_CODEGEN_KERNEL_STATUS_H
#define DLC_CODEGEN_KERNEL_STATUS_H

#include "dlc/status.h"
#include "llvm/Support/Error.h"

namespace dlc::codegen {

inline llvm::Error toError(const runtime::Status &status) {
  return status.ok() ? llvm::Error::success()
                     : llvm::createStringError(std::string(status.message()));
}

template <typename T> llvm::Expected<T> toExpected(runtime::Result<T> result) {
  if (!result.ok())
    return toError(result.status());
  return result.take();
}

} // namespace dlc::codegen

#endif
