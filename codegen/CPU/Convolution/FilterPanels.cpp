//===- FilterPanels.cpp - see FilterPanels.h --------------------------------------------------===//
#include "codegen/CPU/Convolution/FilterPanels.h"
#include "codegen/CPU/Convolution/Convolution.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

Value FilterPanels::field(Value phase, DataPlan::Field which) {
  if (geometry.phases() == 1)
    return e.constant(plan.phaseTable[which]);
  return e.entry(e.table("phases", plan.phaseTable), e.add(e.mul(phase, Fields), which));
}

void FilterPanels::pack() {
  const int64_t step = plan.packedChannels();
  SmallVector<Value> place = e.delinearize(
      kernel.task, {geometry.groups, plan.panels, ceilDiv(geometry.sourceChannels, step)});
  Piece piece{place[0], place[1], e.mul(place[2], step), {}};
  piece.last = e.minimum(e.add(piece.first, step), e.constant(geometry.sourceChannels));
  tileBuffer = kernel.scratch;
  readFilter();
  packPiece(piece, {});
}

/// The filter is indexed (k, c, d, r, s). Where it lies in memory as it is, its taps are rows of a
/// matrix that is packed by transposed tiles.
void FilterPanels::readFilter() {
  const ConvolutionProblem &p = plan.problem;
  const int64_t channels = p.inChannels / p.groups;
  const auto matrices =
      plan.isForward()
          ? PackedPhase::IndexMap::identity({1, p.outChannels, channels * plan.filterTaps()})
          : PackedPhase::IndexMap::identity({p.outChannels, channels, plan.filterTaps()});
  tapRows = source(1, matrices);
  filter = source(1, imageMap(p.outChannels, channels, p.kernel));
}

void FilterPanels::packPiece(const Piece &piece, const Panels &panels) {
  // Lanes that are neighbours in memory are read as they are.
  const bool contiguous = !plan.isForward() && plan.filterTaps() == 1;
  if (!tapRows.address || contiguous)
    return packElements(piece, panels);
  if (!plan.isForward())
    return packBackward(piece, panels);
  if (plan.filterTaps() > 1 && (geometry.numbers == 2 || plan.skipsRows()))
    return packForwardTaps(piece, panels);
  packForward(piece, panels);
}

Value FilterPanels::packedAt(const Panels &panels, Value phase, Value group, Value panel,
                             Value channel) {
  if (panels.scratch) {
    Value step = e.mul(e.sub(channel, panels.channel), field(phase, Taps));
    Value start = e.mul(e.sub(phase, panels.phase), plan.panelElements());
    return e.at(panels.scratch, e.add(start, e.mul(step, plan.width)));
  }
  Value start = e.add(e.mul(group, plan.panels), panel);
  start = e.add(e.mul(start, geometry.sourceChannels), channel);
  return e.at(kernel.workspace(), e.add(field(phase, PackedStart),
                                        e.mul(e.mul(start, field(phase, Taps)), plan.width)));
}

Value FilterPanels::packedTapAt(const Panels &panels, Value phase, const Piece &piece,
                                Value channel, Value row, Value col) {
  const int64_t block = plan.skipsRows() ? schedule.channelBlock : 1;
  Value first = e.mul(e.div(channel, block), block);
  Value place = e.add(e.mul(row, block), e.sub(channel, first));
  Value step = e.add(e.mul(place, field(phase, TapsW)), col);
  return e.at(packedAt(panels, phase, piece.group, piece.panel, first), e.mul(step, plan.width));
}

void FilterPanels::forEachTap(const Panels &panels, Value phase, const Piece &piece, Value channel,
                              llvm::function_ref<void(Value, Value)> body) {
  e.loop(e.constant(0), field(phase, TapsH), 1, [&](Value row) {
    e.loop(e.constant(0), field(phase, TapsW), 1, [&](Value col) {
      body(e.add(e.mul(row, field(phase, TapsW)), col),
           packedTapAt(panels, phase, piece, channel, row, col));
    });
  });
}

void FilterPanels::forEachPhase(const Panels &panels, llvm::function_ref<void(Value phase)> body) {
  if (!panels.scratch)
    return e.loop(geometry.phases(), body);
  e.loop(geometry.columnPhases(), [&](Value number) { body(e.add(panels.phase, number)); });
}

/// Forward has one phase: the taps of all channels follow each other in the filter as in the panel,
/// and the channels where there is one.
void FilterPanels::packForward(const Piece &piece, const Panels &panels) {
  const int64_t count = plan.filterTaps();
  Value target = packedAt(panels, e.constant(0), piece.group, piece.panel, piece.first);
  Value steps = e.mul(e.sub(piece.last, piece.first), count);
  for (int64_t v = 0; v < schedule.vectors; ++v) {
    Value lane = e.add(e.mul(piece.panel, plan.width), v * e.lanes);
    Value corner[] = {e.constant(0), e.add(e.mul(piece.group, geometry.targetChannels), lane),
                      e.mul(piece.first, count * geometry.numbers)};
    const PackedSum sum{schedule.kernel->formatB(e.element), geometry.channels * count};
    PackedPhase::pack(tapRows, sum, corner, /*along=*/1, /*lanesContiguous=*/false,
                      e.sub(e.constant(geometry.targetChannels), lane), steps, plan.width,
                      e.at(target, v * e.lanes));
  }
}

/// The same where they do not follow each other in the panel, or those of two channels take turns.
void FilterPanels::packForwardTaps(const Piece &piece, const Panels &panels) {
  const int64_t count = plan.filterTaps(), most = plan.packedTogether(),
                ofPlace = geometry.numbers * count;
  Value rows = e.at(tileBuffer, e.lanes * e.lanes);
  e.loop(piece.first, piece.last, most, [&](Value first) {
    Value places = e.minimum(e.constant(most), e.sub(piece.last, first));
    Value left = e.sub(e.constant(geometry.channels), e.mul(first, geometry.numbers));
    Value taps = e.mul(e.minimum(e.mul(places, geometry.numbers), left), count);
    if (geometry.channels % geometry.numbers != 0)
      e.loop(taps, e.mul(places, ofPlace), 1,
             [&](Value tap) { e.storeAligned(e.zeroVector(), e.at(rows, e.mul(tap, e.lanes))); });
    for (int64_t v = 0; v < schedule.vectors; ++v) {
      Value lane = e.add(e.mul(piece.panel, plan.width), v * e.lanes);
      Value corner[] = {e.constant(0), e.add(e.mul(piece.group, geometry.targetChannels), lane),
                        e.mul(first, ofPlace)};
      // Each row is on other pages than the one before it.
      if (most > 1 && !schedule.packsInTask) {
        Value next = tapRows.address({corner[0], corner[1], e.add(corner[2], ofPlace * most)});
        e.loop(e.lanes, [&](Value row) {
          prefetchRun(e.atStored(next, e.mul(row, tapRows.strides[1])), ofPlace * most);
        });
      }
      PackedPhase::pack(tapRows, {}, corner, /*along=*/1, /*lanesContiguous=*/false,
                        e.sub(e.constant(geometry.targetChannels), lane), taps, e.lanes, rows);
      e.loop(e.constant(0), places, 1, [&](Value place) {
        forEachTap(panels, e.constant(0), piece, e.add(first, place), [&](Value tap, Value target) {
          Value from = e.at(rows, e.mul(e.add(e.mul(place, ofPlace), tap), e.lanes));
          e.storeAligned(placeOf(from, count), e.at(target, v * e.lanes));
        });
      });
    }
  });
}

/// A vector of places whose numbers stand at `from`, each `apart` vectors from the one before.
Value FilterPanels::placeOf(Value from, int64_t apart) {
  Value first = e.loadAligned(from);
  return geometry.numbers == 1 ? first
                               : e.pairUp(first, e.loadAligned(e.at(from, apart * e.lanes)));
}

/// Backward the taps of a channel are spread over the phases.
void FilterPanels::packBackward(const Piece &piece, const Panels &panels) {
  Value all = e.at(tileBuffer, e.lanes * e.lanes);
  Value table = e.table("filter", plan.filterTable);
  e.loop(piece.first, piece.last, 1, [&](Value channel) {
    Value summed = e.add(e.mul(piece.group, geometry.sourceChannels), channel);
    for (int64_t v = 0; v < schedule.vectors; ++v) {
      Value lane = e.add(e.mul(piece.panel, plan.width), v * e.lanes);
      for (int64_t number = 0; number < geometry.numbers; ++number) {
        Value row = e.add(e.mul(summed, geometry.numbers), number);
        // A row is on other pages than the one before it.
        const int64_t ahead = 4;
        prefetchRun(tapRows.address({e.add(row, ahead), lane, e.constant(0)}),
                    e.lanes * plan.filterTaps());
        PackedPhase::pack(tapRows, {}, {row, lane, e.constant(0)}, /*along=*/1,
                          /*lanesContiguous=*/false,
                          e.sub(e.constant(geometry.targetChannels), lane),
                          e.constant(plan.filterTaps()), e.lanes,
                          e.at(all, number * plan.filterTaps() * e.lanes));
      }
      forEachPhase(panels, [&](Value phase) {
        forEachTap(panels, phase, piece, channel, [&](Value tap, Value target) {
          Value place = e.entry(table, e.add(field(phase, FilterStart), tap));
          Value from = e.at(all, e.mul(place, e.lanes));
          e.storeAligned(placeOf(from, plan.filterTaps()), e.at(target, v * e.lanes));
        });
      });
    }
  });
}

void FilterPanels::prefetchRun(Value start, int64_t elements, unsigned locality) {
  e.loop(e.constant(0), e.constant(elements), e.element.storedLine(),
         [&](Value line) { e.prefetch(e.atStored(start, line), /*forWriting=*/false, locality); });
}

void FilterPanels::packElements(const Piece &piece, const Panels &panels) {
  forEachPhase(panels, [&](Value phase) {
    e.loop(piece.first, piece.last, 1, [&](Value channel) {
      forEachTap(panels, phase, piece, channel,
                 [&](Value tap, Value place) { packTap(phase, piece, channel, tap, place); });
    });
  });
}

void FilterPanels::packTap(Value phase, const Piece &piece, Value channel, Value tap,
                           Value target) {
  Value flat = e.entry(e.table("filter", plan.filterTable), e.add(field(phase, FilterStart), tap));
  SmallVector<Value> place = e.delinearize(flat, geometry.kernel);
  for (int64_t v = 0; v < schedule.vectors; ++v) {
    Value lane = e.add(e.mul(piece.panel, plan.width), v * e.lanes);
    // The lanes are k forward, c backward.
    auto read = [&](int64_t number) {
      Value summed = e.add(e.mul(channel, geometry.numbers), number);
      Value lanes = e.sub(e.constant(geometry.targetChannels), lane);
      if (geometry.channels % geometry.numbers != 0) {
        Value last = e.constant(geometry.channels - 1);
        lanes = e.select(e.less(last, summed), e.constant(0), lanes);
        summed = e.minimum(summed, last);
      }
      Value first =
          e.mul(piece.group, plan.isForward() ? geometry.targetChannels : geometry.channels);
      Value k = e.add(first, plan.isForward() ? lane : summed);
      Value c = plan.isForward() ? summed : lane;
      return filter.read({{k, c, place[0], place[1], place[2]},
                          plan.isForward() ? 0u : 1u,
                          1,
                          e.lanesBelow(lanes)});
    };
    Value packed = read(0);
    if (geometry.numbers == 2)
      packed = e.pairUp(packed, read(1));
    e.storeAligned(packed, e.at(target, v * e.lanes));
  }
}

void FilterPanels::prefetch(const Piece &piece, Value number, int64_t parts) {
  const int64_t taps = plan.filterTaps(), channels = schedule.channelBlock * geometry.numbers;
  const int64_t rows = plan.isForward() ? plan.width : channels;
  const int64_t elements = taps * (plan.isForward() ? channels : plan.width);
  const int64_t ofPart = ceilDiv(rows, parts);
  Value lane = e.mul(piece.panel, plan.width);
  e.loop(ofPart, [&](Value next) {
    Value row = e.add(e.mul(number, ofPart), next);
    SmallVector<Value> corner;
    if (plan.isForward())
      corner = {e.constant(0), e.add(e.add(e.mul(piece.group, geometry.targetChannels), lane), row),
                e.mul(piece.first, taps * geometry.numbers)};
    else
      corner = {e.add(e.mul(e.add(e.mul(piece.group, geometry.sourceChannels), piece.first),
                            geometry.numbers),
                      row),
                lane, e.constant(0)};
    prefetchRun(tapRows.address(corner), elements, /*locality=*/2);
  });
}
