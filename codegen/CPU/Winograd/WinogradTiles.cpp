//===- WinogradTiles.cpp - see WinogradTiles.h ------------------------------------------------===//
#include "codegen/CPU/Winograd/WinogradTiles.h"
#include "codegen/CPU/Convolution/Convolution.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

WinogradBlock WinogradPhase::decodeBlock(Value number) {
  WinogradBlock block;
  block.firstSegment = e.mul(number, schedule.blockSegments);
  block.segments = e.minimum(e.constant(schedule.blockSegments),
                             e.sub(e.constant(sizes.segments), block.firstSegment));
  block.tiles = e.mul(block.segments, schedule.segmentTiles);
  return block;
}

void WinogradPhase::forSegments(const WinogradBlock &block,
                                llvm::function_ref<void(const WinogradSegment &)> body) {
  e.loop(e.constant(0), block.segments, 1, [&](Value number) {
    SmallVector<Value> place =
        e.delinearize(e.add(block.firstSegment, number),
                      {sizes.segments, sizes.tileRowsOfImage, sizes.segmentsOfRow});
    WinogradSegment segment;
    segment.image = place[0];
    segment.tileRow = place[1];
    segment.row = e.mul(place[1], schedule.tileRows);
    segment.col = e.mul(place[2], sizes.segmentCols());
    segment.wholeTiles = e.mul(number, sizes.wholeTiles);
    if (schedule.fitted)
      orderTiles(block, number, segment);
    body(segment);
  });
}

/// Rows of tiles that are short come first, but last among columns that are: see
/// WinogradSchedule.h.
void WinogradPhase::orderTiles(const WinogradBlock &block, Value number, WinogradSegment &segment) {
  Value images = e.div(block.segments, sizes.tileRowsOfImage);
  Value image = e.div(number, sizes.tileRowsOfImage);
  Value shortRow = e.sub(segment.tileRow, e.constant(sizes.wholeRows));
  Value isWhole = e.less(shortRow, e.constant(0));
  Value ofWhole = e.add(e.mul(image, sizes.wholeRows), segment.tileRow);
  Value ofShort = e.add(e.mul(image, sizes.shortRows()), shortRow);
  Value allWhole = e.mul(images, sizes.wholeRows), allShort = e.mul(images, sizes.shortRows());
  segment.row = e.sub(segment.row, e.maximum(shortRow, e.constant(0)));
  segment.wholeTiles =
      e.mul(e.select(isWhole, e.add(allShort, ofWhole), ofShort), sizes.wholeTiles);
  segment.shortTiles =
      e.add(e.mul(block.segments, sizes.wholeTiles),
            e.mul(e.select(isWhole, ofWhole, e.add(allWhole, ofShort)), sizes.shortTiles));
}

void WinogradPhase::forTiles(const WinogradSegment &segment, TileBody body) {
  auto inRow = [&](bool shortRow) {
    const std::unique_ptr<TileTransform> whole = sizes.transform(shortRow, false);
    e.loop(sizes.wholeTiles, [&](Value tile) {
      body(e.add(segment.wholeTiles, tile), e.mul(tile, schedule.tileCols), *whole);
    });
    if (sizes.shortTiles == 0)
      return;
    const std::unique_ptr<TileTransform> less = sizes.transform(shortRow, true);
    e.loop(sizes.shortTiles, [&](Value tile) {
      Value col = e.add(e.mul(tile, schedule.tileCols - 1), sizes.wholeTiles * schedule.tileCols);
      body(e.add(segment.shortTiles, tile), col, *less);
    });
  };
  if (sizes.shortRows() == 0)
    return inRow(false);
  e.when(e.less(segment.tileRow, e.constant(sizes.wholeRows)), [&] { inRow(false); });
  e.when(e.less(e.constant(sizes.wholeRows - 1), segment.tileRow), [&] { inRow(true); });
}

std::pair<Value, Value> WinogradPhase::tilesOf(const WinogradBlock &block, Value point) {
  if (!schedule.fitted)
    return {e.constant(0), block.tiles};
  Value images = e.div(block.segments, sizes.tileRowsOfImage);
  Value lastRow = e.less(e.constant((sizes.highPoints - 1) * sizes.widePoints - 1), point);
  Value lastCol = e.equal(e.rem(point, sizes.widePoints), e.constant(sizes.widePoints - 1));
  // Of each kind of points, those of an image.
  auto ofImages = [&](auto bound) {
    auto ofKind = [&](bool lastRow, bool lastCol) {
      return e.constant(bound(sizes.tilesOf({0, lastRow, lastCol}, sizes.tileRowsOfImage)));
    };
    return e.mul(images,
                 e.select(lastRow, e.select(lastCol, ofKind(true, true), ofKind(true, false)),
                          e.select(lastCol, ofKind(false, true), ofKind(false, false))));
  };
  return {ofImages([](auto range) { return range.first; }),
          ofImages([](auto range) { return range.second; })};
}

PhaseChannel WinogradPhase::phaseOf(Value channel) {
  const int64_t rows = problem.stride[1], cols = problem.stride[2], block = problem.xBlock;
  if (rows * cols == 1)
    return {channel, e.constant(0), e.constant(0)};
  // Phases of a block follow each other.
  Value number = e.div(channel, block), phase = e.rem(number, rows * cols);
  Value ofImage = e.add(e.mul(e.div(number, rows * cols), block), e.rem(channel, block));
  return {ofImage, e.div(phase, cols), e.rem(phase, cols)};
}

void WinogradPhase::forTaps(Value taps, const PhaseChannel &phase, bool clears, TapBody body) {
  auto isWhole = [&](unsigned axis) { return problem.kernel[axis] % problem.stride[axis] == 0; };
  const bool descends = problem.direction == ConvolutionProblem::Direction::BackwardData;
  const int64_t all = sizes.highTaps * sizes.wideTaps;
  e.loop(sizes.highTaps, [&](Value row) {
    e.loop(sizes.wideTaps, [&](Value col) {
      Value number = e.add(e.mul(row, sizes.wideTaps), col);
      if (descends)
        number = e.sub(e.constant(all - 1), number);
      Value place = e.at(taps, e.mul(number, e.lanes));
      Value high = e.add(e.mul(row, problem.stride[1]), phase.row);
      Value wide = e.add(e.mul(col, problem.stride[2]), phase.col);
      if (isWhole(1) && isWhole(2))
        return body(high, wide, place);
      if (clears)
        e.storeAligned(e.zeroVector(), place);
      Value exists = e.both(e.less(high, e.constant(problem.kernel[1])),
                            e.less(wide, e.constant(problem.kernel[2])));
      e.when(exists, [&] { body(high, wide, place); });
    });
  });
}

std::pair<Value, Value> WinogradPhase::extentsOf(const WinogradSegment &segment) {
  Value rows = e.constant(schedule.tileRows), cols = e.constant(sizes.segmentCols());
  if (sizes.shortRows() > 0)
    rows = e.select(e.less(segment.tileRow, e.constant(sizes.wholeRows)), rows,
                    e.constant(schedule.tileRows - 1));
  return {e.minimum(rows, e.sub(e.constant(sizes.planeRows), segment.row)),
          e.minimum(cols, e.sub(e.constant(sizes.planeCols), segment.col))};
}

namespace {
/// Rows x pitch pixels of up to a vector of channels, and where they go with the channels
/// innermost.
struct Gather {
  Value top, left; ///< of the image; before it and behind it pixels are zero
  Value imageRows, imageCols, channels;
  Value rows, pitch;
  Value tile, buffer; ///< lanes x lanes elements, and the target
  bool allChannels;   ///< a whole vector of them, always
  std::function<Value(Value channel, Value row, Value col, Value mask)> read;
  std::function<void(Value channel, Value row, Value col)> prefetch;
};

/// A row of the image; `end`: behind its last column, or for one outside before every column.
struct GatherRow {
  Value number, end;
};
} // namespace

static GatherRow rowOf(PackEmitter &e, const Gather &gather, Value number) {
  Value zero = e.constant(0);
  Value exists = e.both(e.less(e.constant(-1), number), e.less(number, gather.imageRows));
  // Masked rows are not read as vectors, but a body may read scalars that belong to the row.
  return {e.minimum(e.maximum(number, zero), e.sub(gather.imageRows, e.constant(1))),
          e.select(exists, gather.imageCols, e.constant(-(int64_t(1) << 30)))};
}

/// Those of a vector's pixels from a column on that exist; it may be before the row.
static Value maskOf(PackEmitter &e, const GatherRow &row, Value col) {
  return e.intersect(e.lanesFrom(e.sub(e.constant(0), col)), e.lanesBelow(e.sub(row.end, col)));
}

static Value readPixels(PackEmitter &e, const Gather &gather, Value channel, const GatherRow &row,
                        Value col, Value mask, int64_t rowStride) {
  // Rows of different channels take turns, more of them than the processor foresees.
  const int64_t ahead = 2;
  gather.prefetch(channel, e.add(row.number, ahead * rowStride), col);
  // Of vectors that begin before the row no lane counts as the first.
  Value count = e.select(e.less(e.constant(-1), col), e.sub(row.end, col), e.constant(0));
  return e.readLanes(count, mask,
                     [&](Value mask) { return gather.read(channel, row.number, col, mask); });
}

/// Of each row and vector of columns: `read` brings the pixels of all channels into the tile.
static void forChunks(PackEmitter &e, const Gather &gather,
                      llvm::function_ref<void(Value row, Value chunk)> read) {
  Value zero = e.constant(0);
  e.loop(zero, gather.rows, 1, [&](Value row) {
    e.loop(zero, gather.pitch, e.lanes, [&](Value chunk) {
      if (!gather.allChannels)
        e.clearRows(gather.tile, gather.channels);
      read(row, chunk);
      Value pixel = e.add(e.mul(row, gather.pitch), chunk);
      e.transpose(gather.tile, e.constant(e.lanes), e.at(gather.buffer, e.mul(pixel, e.lanes)),
                  e.constant(e.lanes));
    });
  });
}

static void emitGather(PackEmitter &e, const Gather &gather) {
  forChunks(e, gather, [&](Value rowOfTile, Value chunk) {
    const GatherRow row = rowOf(e, gather, e.add(gather.top, rowOfTile));
    Value col = e.add(gather.left, chunk), mask = maskOf(e, row, col);
    e.loop(e.constant(0), gather.channels, 1, [&](Value channel) {
      e.storeAligned(readPixels(e, gather, channel, row, col, mask, /*rowStride=*/1),
                     e.at(gather.tile, e.mul(channel, e.lanes)));
    });
  });
}

/// Vectors that follow each other as those of their phases.
static SmallVector<Value> phasesOf(PackEmitter &e, ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return {vectors[0]};
  SmallVector<Value> phases(vectors.size());
  for (int64_t first : {0, 1}) {
    SmallVector<Value> half;
    for (size_t i = 0; i < vectors.size(); i += 2)
      half.push_back(e.everySecond(vectors[i], vectors[i + 1], first));
    for (auto [i, phase] : llvm::enumerate(phasesOf(e, half)))
      phases[2 * i + first] = phase;
  }
  return phases;
}

/// The same of the phases of an image: those along a row are read together, from the first of a
/// vector's channels on.
static void emitGatherPhases(PackEmitter &e, const Gather &gather, Value firstChannel,
                             int64_t rowStride, int64_t colStride) {
  forChunks(e, gather, [&](Value rowOfTile, Value chunk) {
    Value top = e.add(gather.top, e.mul(rowOfTile, rowStride));
    Value left = e.add(gather.left, e.mul(chunk, colStride));
    e.loop(e.constant(0), gather.channels, colStride, [&](Value channel) {
      Value rowOfImage = e.div(e.add(firstChannel, channel), colStride);
      const GatherRow row = rowOf(e, gather, e.add(top, e.rem(rowOfImage, rowStride)));
      SmallVector<Value> pixels;
      for (int64_t i = 0; i < colStride; ++i) {
        Value col = e.add(left, i * e.lanes);
        pixels.push_back(readPixels(e, gather, e.div(rowOfImage, rowStride), row, col,
                                    maskOf(e, row, col), rowStride));
      }
      for (auto [phase, vector] : llvm::enumerate(phasesOf(e, pixels)))
        e.storeAligned(vector, e.at(gather.tile, e.mul(e.add(channel, int64_t(phase)), e.lanes)));
    });
  });
}

/// Gathers from an image that lies in memory as it is. Arguments: the image from the first channel
/// on, distances of channels and of rows, then those of Gather.
static void emitGatherStored(PackEmitter &e, ValueRange arguments) {
  auto place = [&](Value channel, Value row, Value col) {
    Value channelPlace = e.atStored(arguments[0], e.mul(channel, arguments[1]));
    return e.atStored(channelPlace, e.add(e.mul(row, arguments[2]), col));
  };
  auto read = [&](Value channel, Value row, Value col, Value mask) {
    return e.loadStored(place(channel, row, col), mask);
  };
  auto prefetch = [&](Value channel, Value row, Value col) {
    e.prefetch(place(channel, row, col), /*forWriting=*/false);
  };
  emitGather(e, {arguments[3], arguments[4], arguments[5], arguments[6], arguments[7], arguments[8],
                 arguments[9], arguments[10], arguments[11],
                 /*allChannels=*/false, read, prefetch});
}

void WinogradPhase::gather(const WinogradTiles &tiles, const WinogradSegment &segment,
                           Value channelVector, Value tile, Value buffer) {
  Value zero = e.constant(0), firstChannel = e.mul(channelVector, e.lanes);
  Value channels = e.minimum(e.constant(e.lanes), e.sub(e.constant(tiles.channels), firstChannel));
  const bool hasPhases = tiles.stride[1] * tiles.stride[2] > 1;
  Value base = hasPhases ? zero : firstChannel;
  Gather gather{e.add(e.mul(segment.row, tiles.stride[1]), tiles.firstRow),
                e.add(e.mul(segment.col, tiles.stride[2]), tiles.firstCol),
                e.constant(tiles.imageRows), e.constant(tiles.imageCols),
                // A panel's last vectors may lie behind all channels.
                e.maximum(channels, zero), e.constant(tiles.rows), e.constant(tiles.pitch), tile,
                buffer,
                /*allChannels=*/tiles.channels % e.lanes == 0,
                [&](Value channel, Value row, Value col, Value mask) {
                  return tiles.image.read(
                      {{segment.image, e.add(base, channel), zero, row, col}, 4, 1, mask});
                },
                [&](Value channel, Value row, Value col) {
                  tiles.image.prefetch({segment.image, e.add(base, channel), zero, row, col});
                }};
  if (hasPhases)
    return emitGatherPhases(e, gather, firstChannel, tiles.stride[1], tiles.stride[2]);
  if (!tiles.image.address || tiles.image.strides[4] != 1)
    return emitGather(e, gather);
  e.callFunction("gather_pixels",
                 {tiles.image.address({segment.image, firstChannel, zero, zero, zero}),
                  e.constant(tiles.image.strides[1]), e.constant(tiles.image.strides[3]),
                  gather.top, gather.left, gather.imageRows, gather.imageCols, gather.channels,
                  gather.rows, gather.pitch, tile, buffer},
                 emitGatherStored);
}

void WinogradPhase::copy(const WinogradTiles &tiles, const WinogradSegment &segment,
                         Value channelVector, Value buffer) {
  // A panel's last vectors may lie behind all channels: they repeat the last one.
  Value last = e.constant(tiles.channels - e.lanes), zero = e.constant(0);
  const auto [rowStride, colStride] = std::pair(tiles.stride[1], tiles.stride[2]);
  auto cornerOf = [&](Value vector) -> SmallVector<Value> {
    Value channel = e.minimum(e.mul(vector, e.lanes), last);
    PhaseChannel phase{channel, zero, zero};
    if (rowStride * colStride > 1)
      phase = phaseOf(channel);
    return {segment.image,
            e.div(phase.channel, tiles.block),
            e.rem(phase.channel, tiles.block),
            zero,
            e.add(e.mul(segment.row, rowStride), e.add(phase.row, tiles.firstRow)),
            e.add(e.mul(segment.col, colStride), e.add(phase.col, tiles.firstCol))};
  };
  SmallVector<Value> later;
  if (tiles.endVector)
    later = cornerOf(e.minimum(e.add(channelVector, 1), e.add(tiles.endVector, -1)));
  copyBlocks(e, tiles.image, cornerOf(channelVector), e.lanes, tiles.block,
             {1, tiles.imageRows, tiles.imageCols}, tiles.rows, tiles.pitch, buffer, colStride,
             rowStride, /*numbers=*/1, later);
}

void WinogradPhase::transformTiles(const WinogradTiles &tiles, const WinogradSegment &segment,
                                   Value channelVector, Value buffer, Value numbers,
                                   int64_t pointStride, int64_t partStride,
                                   llvm::function_ref<Value(Value)> target) {
  Value pixels = e.at(buffer, e.lanes * e.lanes);
  if (tiles.block > 1)
    copy(tiles, segment, channelVector, pixels);
  else
    gather(tiles, segment, channelVector, buffer, pixels);
  forTiles(segment, [&](Value tile, Value col, const TileTransform &transform) {
    Value corner = e.at(pixels, e.mul(col, e.lanes));
    callToPoints(e, transform, tiles.side,
                 {corner, tiles.pitch * e.lanes, target(tile), pointStride, partStride, numbers,
                  tiles.streams, tiles.clears});
  });
}
