//===- Simulator.h - runs a program on marked memory --------------------------------*- C++ -*-===//
//
// The oracle of the mutation tests: it knows nothing of happens-before. Memory is cells of 64
// bytes; a record marks the cells that it writes with its number and notes the marks of those that
// it reads. What each record must see follows from running the text in order with memory of its own
// for each buffer; what it does see, from running the streams in a random order that the events
// allow, in the planned arena.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_PASSES_EXEC_SIMULATOR_H
#define DLC_TEST_PASSES_EXEC_SIMULATOR_H

#include "dialects/Exec/Exec.h"

namespace dlc::test {

/// Marks seen: by each record in the order of the text, last the outputs.
using Observations = std::vector<std::vector<int64_t>>;

Observations runInOrder(exec::ProgramOp program);
Observations runShuffled(exec::ProgramOp program, unsigned seed);

} // namespace dlc::test

#endif
