// Mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019), as torchvision has them.
#include "runtime/Data/Augment/Mix.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace dlc::runtime {

/// Student's t of 2 alpha degrees of freedom by Bailey's polar method (Mathematics of Computation
/// 62, 1994), of which 1/2 + t / (2 sqrt(2 alpha + t^2)) is the number (Devroye 1996): for any
/// alpha, and without a rejection.
double drawBeta(double alpha, uint32_t first, uint32_t second) {
  const double uniform = (first + 0.5) * 0x1p-32,
               cosine = std::cos(2 * std::numbers::pi * (second + 0.5) * 0x1p-32);
  const double square = std::expm1(-std::log(uniform) / alpha) * cosine * cosine;
  return 0.5 + std::copysign(0.5 * std::sqrt(1 / (1 + 1 / square)), cosine);
}

Mixture mixtureOf(std::span<const Transform> mixes, const Sides &sides, const BatchDraws &draws) {
  const PhiloxWords words = draws.of(0);
  const Transform &mix = mixes[static_cast<size_t>(drawWhole(words[2], mixes.size()))];
  Mixture mixture = {.share = drawBeta(mix.amount, words[0], words[1])};
  if (mix.kind != TransformKind::CutMix)
    return mixture;
  // A box of the other's share of both sides, about any pixel; what lies outside is cut off.
  const PhiloxWords places = draws.of(1);
  const double half = 0.5 * std::sqrt(1 - mixture.share);
  auto ends = [half](uint32_t word, int64_t size) {
    const int64_t middle = drawWhole(word, static_cast<uint64_t>(size)),
                  reach = static_cast<int64_t>(half * static_cast<double>(size));
    return std::pair<uint64_t, uint64_t>(std::max<int64_t>(middle - reach, 0),
                                         std::min(middle + reach, size));
  };
  mixture.pastes = true;
  std::tie(mixture.left, mixture.right) = ends(places[0], sides.width);
  std::tie(mixture.top, mixture.bottom) = ends(places[1], sides.height);
  const auto pasted =
      static_cast<double>((mixture.bottom - mixture.top) * (mixture.right - mixture.left));
  mixture.share = 1 - pasted / (static_cast<double>(sides.width) * sides.height);
  return mixture;
}

static bool isBytesOrFloats(dlc_dtype dtype) { return !isWhole(dtype) || dtype == DLC_U8; }

/// An input that cannot be mixed.
static Status checkInput(const Transform &mix, const MappedInput &mapped, const ValueInfo &input) {
  const auto refusal = [&](const auto &...what) {
    return invalid("`augment`: '", mix.text, "' mixes ", what...);
  };
  const std::string type = input.type.str();
  if (!mapped.samplesFirst())
    return refusal("samples along the first axis of inputs, input '", input.name, "' is ", type);
  if (takesImages(input) ? isBytesOrFloats(input.type.dtype) : !isWhole(input.type.dtype))
    return {};
  const bool isLabel = mapped.elements == 1;
  return refusal("labels as well, and input '", input.name, "' takes whole numbers, ", type,
                 isLabel ? concat("; probabilities of classes are ", input.name, ": f32[N, ",
                                  input.classes == 0 ? "C" : std::to_string(input.classes), "]")
                         : "");
}

Result<Sides> checkMixes(std::span<const Transform> mixes, const EntryInfo &entry,
                         std::span<const MappedInput> mapping) {
  Sides sides = {0, 0};
  if (mixes.empty())
    return sides;
  const auto cut = std::ranges::find(mixes, TransformKind::CutMix, &Transform::kind);
  for (const MappedInput &mapped : mapping) {
    const ValueInfo &input = entry.inputs[mapped.input];
    DLC_TRY(checkInput(mixes.front(), mapped, input));
    if (!takesImages(input))
      continue;
    const Sides own = imageAxes(input)->sides;
    if (cut != mixes.end() && sides.height != 0 && sides != own)
      return invalid("`augment`: '", cut->text, "' cuts the same box out of all images, input '",
                     input.name, "' is ", input.type.str(), ", and others are ", sides.height,
                     " x ", sides.width);
    sides = own;
  }
  if (cut != mixes.end() && sides.height == 0)
    return invalid("`augment`: '", cut->text, "' cuts images, and entry '", entry.name,
                   "' takes none, which are inputs [N, planes, height, width]");
  if (entry.batch < 2)
    return invalid("`augment`: '", mixes.front().text, "' mixes the samples of a batch, entry '",
                   entry.name, "' has a batch of ", entry.batch);
  return sides;
}

/// Rounded once; a whole number to the nearest.
static void blend(double share, const MappedInput &mapped, const std::byte *other, std::byte *own) {
  if (mapped.to == DLC_F32) {
    auto *to = reinterpret_cast<float *>(own);
    const auto *from = reinterpret_cast<const float *>(other);
    const auto kept = static_cast<float>(share), taken = static_cast<float>(1 - share);
    for (uint64_t i = 0; i < mapped.elements; ++i)
      to[i] = kept * to[i] + taken * from[i];
    return;
  }
  const uint64_t size = dtypeSize(mapped.to);
  for (uint64_t i = 0; i < mapped.elements; ++i, own += size, other += size) {
    const double mixed =
        share * loadElement(mapped.to, own) + (1 - share) * loadElement(mapped.to, other);
    storeElement(mapped.to, mapped.to == DLC_U8 ? std::nearbyint(mixed) : mixed, own);
  }
}

/// The box of an image.
static void paste(const Mixture &mixture, const MappedInput &mapped, const ValueInfo &input,
                  const std::byte *other, std::byte *own) {
  const std::vector<uint64_t> &shape = input.type.shape;
  const uint64_t size = dtypeSize(mapped.to);
  for (uint64_t plane = 0; plane < shape[1]; ++plane)
    for (uint64_t y = mixture.top; y < mixture.bottom; ++y) {
      const uint64_t at = ((plane * shape[2] + y) * shape[3] + mixture.left) * size;
      std::memcpy(own + at, other + at, (mixture.right - mixture.left) * size);
    }
}

void mixSamples(const Mixture &mixture, const MappedInput &mapped, const ValueInfo &input,
                std::span<std::byte> block, std::vector<std::byte> &room) {
  const uint64_t bytes = mapped.elements * dtypeSize(mapped.to);
  if (mixture.share == 1 || bytes == 0 || block.empty())
    return;
  const bool pastes = mixture.pastes && takesImages(input);
  // From the last on, so that the one before is still as it was; and what the first takes is kept.
  const std::span<std::byte> last = block.last(bytes);
  room.assign(last.begin(), last.end());
  for (uint64_t at = block.size(); at != 0; at -= bytes) {
    std::byte *const own = block.data() + at - bytes;
    const std::byte *const other = at == bytes ? room.data() : own - bytes;
    if (pastes)
      paste(mixture, mapped, input, other, own);
    else
      blend(mixture.share, mapped, other, own);
  }
}

} // namespace dlc::runtime
