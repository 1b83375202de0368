//===- DataPlan.cpp - see DataPlan.h ----------------------------------------------------------===//
#include "codegen/CPU/Convolution/DataPlan.h"
#include "codegen/CPU/Convolution/Convolution.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

DataPlan::DataPlan(const ConvolutionProblem &stored, const DataSchedule &schedule, int64_t lanes)
    : stored(stored), problem(schedule.rowsAsChannels ? tapRowsProblem(stored) : stored),
      geometry(problem, schedule.kernel->step(), schedule.kernel->group()), schedule(schedule),
      block(geometry, schedule), lanes(lanes), width(schedule.vectors * lanes),
      panels(ceilDiv(geometry.targetChannels, width)) {
  for (int64_t phase = 0; phase < geometry.phases(); ++phase)
    appendPhase(phase);
}

int64_t DataPlan::rowOffset(int64_t row) const {
  if (copiesTiles())
    return row;
  return (row / schedule.boxCols * block.rowStep * block.pitch +
          row % schedule.boxCols * block.colStep) *
         pixelStep();
}

void DataPlan::appendPhase(int64_t phase) {
  const PhaseDimension &d = geometry.dimension(phase, 0), &h = geometry.dimension(phase, 1),
                       &w = geometry.dimension(phase, 2);
  const int64_t taps = geometry.taps(phase);
  int64_t row[Fields] = {};
  row[Taps] = taps;
  row[OffsetStart] = int64_t(offsetTable.size());
  row[FilterStart] = int64_t(filterTable.size());
  row[SliceStart] = int64_t(sliceTable.size());
  row[PackedStart] = packedElements;
  row[FirstD] = d.first, row[FirstH] = h.first;
  row[CountD] = d.count, row[CountH] = h.count, row[CountW] = w.count;
  row[MinH] = h.minOffset();
  row[TapsH] = int64_t(d.taps.size() * h.taps.size()), row[TapsW] = int64_t(w.taps.size());
  row[Slices] = h.taps.empty() || geometry.maxTaps(2) == 0 ? 0 : int64_t(d.taps.size());
  phaseTable.append(row, row + Fields);

  for (const ConvolutionTap &tap : d.taps)
    sliceTable.push_back(tap.offset);
  SmallVector<ConvolutionTap> rows = h.taps;
  if (skipsRows())
    llvm::sort(rows, [](auto &a, auto &b) { return a.offset < b.offset; });
  auto forEachTap = [&](ArrayRef<ConvolutionTap> rows, auto visit) {
    for (auto [slice, td] : llvm::enumerate(d.taps))
      for (const ConvolutionTap &th : rows)
        for (const ConvolutionTap &tw : w.taps)
          visit(int64_t(slice), td, th, tw);
  };
  forEachTap(rows, [&](int64_t, auto &td, auto &th, auto &tw) {
    filterTable.push_back((td.kernel * geometry.kernel[1] + th.kernel) * geometry.kernel[2] +
                          tw.kernel);
  });
  auto appendSteps = [&](ArrayRef<ConvolutionTap> rows) {
    for (int64_t channel = 0; channel < schedule.channelBlock; ++channel) {
      int64_t line = channel % geometry.sourceBlock * taps * sourceLines();
      forEachTap(rows, [&](int64_t slice, auto &, auto &th, auto &tw) {
        const int64_t number = channel / geometry.sourceBlock;
        const int64_t place =
            slice * block.plane() + (th.offset - row[MinH]) * block.pitch + tw.offset - firstCol();
        const int64_t pixel = number * blockStep() + place * pixelStep();
        offsetTable.push_back(pixel + channel % geometry.sourceBlock);
        for (int64_t i = 0; i < sourceLines(); ++i, ++line)
          offsetTable.push_back(pixel + rowOffset(std::min(line, boxSize() - 1)));
      });
    }
  };
  if (skipsRows())
    for (const ConvolutionTap &tap : rows)
      appendSteps(tap);
  else
    appendSteps(rows);
  packedElements += geometry.groups * panels * geometry.sourceChannels * taps * width;
}

int64_t DataPlan::packedChannels() const {
  return std::clamp<int64_t>(16384 / (width * filterTaps()), 1, geometry.sourceChannels);
}

int64_t DataPlan::packTasks() const {
  return geometry.groups * panels * ceilDiv(geometry.sourceChannels, packedChannels());
}

int64_t DataPlan::accumulatorElements() const {
  int64_t strips = blocks() > 1 ? schedule.bandRows * schedule.panels : 1;
  if (writesTiles())
    return blocks() > 1 ? strips * geometry.columnPhases() * stripAccumulators() : slotElements();
  // The transposition of a strip's end reads whole tiles.
  return (strips * geometry.columnPhases() * schedule.bandCols * boxSize() + lanes) * width;
}
