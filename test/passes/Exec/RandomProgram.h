//===- RandomProgram.h - exec programs drawn from a seed ----------------------------*- C++ -*-===//
#ifndef DLC_TEST_PASSES_EXEC_RANDOMPROGRAM_H
#define DLC_TEST_PASSES_EXEC_RANDOMPROGRAM_H

#include <string>

namespace dlc::test {

/// A module with one program of `records` records: launches of kernels with and without in-place
/// pairs and workspaces, copies, fills, a variable that is read and updated, flat buffers written
/// in pieces. Everything that is read has been written before. No streams, events or offsets yet.
std::string drawProgram(unsigned seed, unsigned records);

} // namespace dlc::test

#endif
