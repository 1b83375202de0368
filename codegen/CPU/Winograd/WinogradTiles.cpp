//===- WinogradTiles.cpp - see WinogradTiles.h ------------------------------------------------===//
#include "codegen/CPU/Winograd/WinogradTiles.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

WinogradSegment WinogradPhase::decodeSegment(Value number) {
  SmallVector<Value> place =
      e.delinearize(number, {sizes.segments, sizes.tileRowsOfImage, sizes.segmentsOfRow});
  return {place[0], e.mul(place[1], schedule.tileRows), e.mul(place[2], sizes.segmentCols())};
}

/// Rows x pitch pixels of a vector of channels, with the channels innermost.
void WinogradPhase::gather(const WinogradTiles &tiles, const WinogradSegment &segment,
                           Value channelVector, Value tile, Value buffer) {
  Value zero = e.constant(0), firstChannel = e.mul(channelVector, e.lanes);
  Value top = e.add(segment.row, tiles.firstRow), left = e.add(segment.col, tiles.firstCol);
  Value channels = e.minimum(e.constant(e.lanes), e.sub(e.constant(tiles.channels), firstChannel));
  // A panel's last vectors may lie behind all channels.
  channels = e.maximum(channels, zero);
  const int64_t ahead = 2; // rows
  e.loop(tiles.rows, [&](Value row) {
    Value h = e.add(top, row);
    Value exists = e.both(e.less(e.constant(-1), h), e.less(h, e.constant(tiles.imageRows)));
    // Masked rows are not read as vectors, but a body may read scalars that belong to the row.
    h = e.minimum(e.maximum(h, zero), e.constant(tiles.imageRows - 1));
    // Before every column there is none: no lane passes.
    Value end = e.select(exists, e.constant(tiles.imageCols), e.constant(-(int64_t(1) << 30)));
    e.loop(zero, e.constant(tiles.pitch), e.lanes, [&](Value chunk) {
      Value w = e.add(left, chunk);
      Value mask = e.intersect(e.lanesFrom(e.sub(zero, w)), e.lanesBelow(e.sub(end, w)));
      if (tiles.channels % e.lanes != 0)
        e.clearRows(tile, channels);
      e.loop(zero, channels, 1, [&](Value channel) {
        Place place{{segment.image, e.add(firstChannel, channel), zero, h, w}, 4, 1, mask};
        if (tiles.image.address) {
          // Rows of different channels take turns, more of them than the processor foresees.
          SmallVector<Value> next = place.indices;
          next[3] = e.add(h, ahead);
          e.prefetch(tiles.image.address(next), /*forWriting=*/false);
        }
        e.storeAligned(tiles.image.read(place), e.at(tile, e.mul(channel, e.lanes)));
      });
      Value pixel = e.add(e.mul(row, tiles.pitch), chunk);
      e.transpose(tile, e.constant(e.lanes), e.at(buffer, e.mul(pixel, e.lanes)),
                  e.constant(e.lanes));
    });
  });
}

Value WinogradPhase::pointPlace(Value base, Value point, int64_t pointStride, int64_t part,
                                int64_t partStride) {
  return e.at(base, e.add(e.mul(point, pointStride), part * partStride));
}

void WinogradPhase::transformTiles(const WinogradTiles &tiles, const WinogradSegment &segment,
                                   Value channelVector, Value buffer, Value numbers,
                                   int64_t pointStride, int64_t partStride,
                                   llvm::function_ref<Value(Value)> target) {
  Value pixels = e.at(buffer, e.lanes * e.lanes);
  gather(tiles, segment, channelVector, buffer, pixels);
  e.loop(schedule.segmentTiles, [&](Value tile) {
    Value corner = e.at(pixels, e.mul(tile, schedule.tileCols * e.lanes));
    Value place = target(tile);
    transform->toPoints(
        e, tiles.side, numbers,
        [&](Value row, int64_t col) {
          return e.loadAligned(e.at(corner, e.mul(e.add(e.mul(row, tiles.pitch), col), e.lanes)));
        },
        [&](Value point, int64_t part, Value value) {
          e.storeAligned(value, pointPlace(place, point, pointStride, part, partStride));
        });
  });
}
