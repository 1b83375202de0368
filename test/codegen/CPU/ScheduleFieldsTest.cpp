//===- ScheduleFieldsTest.cpp - schedules as text and as data ---------------------------------===//
#include "codegen/CPU/Attention/Attention.h"
#include "codegen/CPU/Convolution/ConvolutionSchedule.h"
#include "codegen/CPU/Depthwise/Depthwise.h"
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Gemm/Gemm.h"
#include "codegen/CPU/Winograd/WinogradSchedule.h"
#include <gtest/gtest.h>

using namespace dlc;
using namespace dlc::codegen;

/// The text, which plan files have, and that no field is lost on the way through a candidate.
template <typename Schedule>
static void expectText(const Schedule &schedule, const std::string &text) {
  EXPECT_EQ(textOf(schedule), text);
  const llvm::json::Value numbers = numbersOf(schedule);
  const auto back = scheduleOf<Schedule>(numbers);
  EXPECT_EQ(textOf(back), text);
  EXPECT_EQ(numbersOf(back), numbers);
}

TEST(ScheduleFields, Gemm) {
  using Operand = GemmProblem::Operand;
  expectText(GemmSchedule{14, 2, 256, 3, 4, 5, 6, 7, Operand::None},
             "gemm 14x2 depth 256 block 3x4 task 5x6 splits 7");
  expectText(GemmSchedule{.packed = Operand::A},
             "gemm 1x1 depth 1 block 1x1 task 1x1 splits 1 packed a");
  expectText(GemmSchedule{.packed = Operand::B},
             "gemm 1x1 depth 1 block 1x1 task 1x1 splits 1 packed b");
}

TEST(ScheduleFields, Convolution) {
  expectText(DataSchedule{2, 14, 3, 64, 4, 5, 6, false, false},
             "convolution tile 2x14x3 channels 64 task 4x5x6");
  expectText(DataSchedule{.inPlace = true, .packsInTask = true, .rowsAsChannels = true},
             "convolution tile 1x1x1 channels 1 task 1x1x1 in place packed by tasks rows as "
             "channels");
  expectText(FilterSchedule{2, 3, 4, 5, 6, 7, 8, 9, 10, false, false},
             "convolution filter tile 2x3x4x5 band 6x7 task 8x9 splits 10");
  expectText(FilterSchedule{.inPlace = true, .gradientInPlace = true},
             "convolution filter tile 1x1x1x1 band 1x1 task 1x1 splits 1 in place gradient in "
             "place");
}

TEST(ScheduleFields, OthersOfConvolutions) {
  expectText(
      WinogradSchedule{dl::ConvolutionAlgorithm::Winograd, 2, 3, false, 4, 5, 6, 7, 8, 9, 10},
      "winograd tile 2x3 segment 4 block 5 register 6x7 task 9x8 splits 10");
  expectText(WinogradSchedule{dl::ConvolutionAlgorithm::FFT, 2, 3, true, 4, 5, 6, 7, 8, 9, 10},
             "fft tile 2x3 fitted segment 4 block 5 register 6x7 task 9x8 splits 10");
  expectText(WinogradSchedule{.sharesTiles = true},
             "winograd tile 1x1 segment 1 block 1 register 1x1 task 1x1 splits 1 shared tiles");
  expectText(WinogradSchedule{.sharesTiles = true, .takesRounds = true},
             "winograd tile 1x1 segment 1 block 1 register 1x1 task 1x1 splits 1 shared tiles in "
             "rounds");
  expectText(DepthwiseSchedule{2, 3, 4, 5}, "depthwise rows 2 band 3 task 4 splits 5");
}

TEST(ScheduleFields, AttentionAndWalks) {
  expectText(AttentionSchedule{2, 3, 4, 5, false}, "attention 2x3 block 4x5");
  expectText(AttentionSchedule{2, 3, 4, 5, true}, "attention 2x3 block 4x5 split");
  WalkPlan walk;
  walk.space = {2, 3, 4};
  walk.rows = 5;
  expectText(walk, "2x3x4 rows 5 chunk 1 width 1 unroll 1");
}
