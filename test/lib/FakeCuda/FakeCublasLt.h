// cuBLASLt on the host's memory, for tests of what the CUDA device asks of it: column-major
// products in double, with the epilogues as cublasLt.h describes them. It shares no code with
// runtime/Device/SIMT/Reference.cpp.
#ifndef DLC_TEST_LIB_FAKECUDA_FAKECUBLASLT_H
#define DLC_TEST_LIB_FAKECUDA_FAKECUBLASLT_H

#include "runtime/Device/CUDA/Libraries.h"

#include <set>

namespace dlc::test {

/// Epilogues for which the fake has no algorithm.
extern std::set<cublasLtEpilogue_t> epiloguesWithoutAlgorithm;

const dlc::runtime::CublasLt &fakeCublasLt();

} // namespace dlc::test

#endif
