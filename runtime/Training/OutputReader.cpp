// Copying rows of samples.
#include "runtime/Training/OutputReader.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/SampleShape.h"

#include <cstring>

namespace dlc::runtime {

TensorType OutputReader::typeOf(const ValueInfo &output, uint64_t samples) const {
  TensorType type{output.type.dtype, output.type.shape, {}};
  if (countsSamples(entry, output))
    type.shape[output.batchAxis] = samples;
  return type;
}

std::vector<Tensor> OutputReader::tensors(uint64_t samples) const {
  std::vector<Tensor> all;
  for (const ValueInfo &output : entry.outputs) {
    if (output.isFetched())
      continue;
    const TensorType type = typeOf(output, samples);
    all.push_back({std::string(output.name), type.dtype, type.shape,
                   std::vector<std::byte>(type.logicalBytes())});
  }
  return all;
}

Status OutputReader::read(const SampleRange &range, std::vector<Tensor> &tensors) {
  size_t next = 0;
  for (size_t i = 0; i < entry.outputs.size(); ++i)
    if (!entry.outputs[i].isFetched())
      DLC_TRY(read(i, range, tensors[next++].bytes.data()));
  return {};
}

Status OutputReader::read(size_t output, const SampleRange &range, std::byte *all, Place place) {
  const ValueInfo &value = entry.outputs[output];
  const uint64_t bytes = value.type.logicalBytes();
  if (!countsSamples(entry, value) || range.all == entry.batch)
    return context.read(output, {all, bytes}, place);
  const uint64_t row = elementsTogether(value) * dtypeSize(value.type.dtype);
  if (value.batchAxis == 0 && range.count == entry.batch)
    return context.read(output, {all + range.first * row, bytes}, place);
  auto from = [&](uint64_t outer) { return outer * entry.batch * row; };
  auto to = [&](uint64_t outer) {
    return std::span(all + (outer * range.all + range.first) * row, range.count * row);
  };
  const uint64_t pieces = bytes / (entry.batch * row);
  if (place == Place::Host) {
    whole.resize(bytes);
    DLC_TRY(context.read(output, whole));
    for (uint64_t outer = 0; outer < pieces; ++outer)
      std::memcpy(to(outer).data(), whole.data() + from(outer), range.count * row);
    return {};
  }
  if (!wholeThere || wholeThere->size() < bytes) {
    DLC_TRY_ASSIGN(made, device().allocate(bytes));
    wholeThere = std::move(made);
  }
  DLC_TRY(context.read(output, {wholeThere->address(), bytes}, Place::Device));
  return inOrder(device(), context.state()->stream(), [&]() -> Status {
    for (uint64_t outer = 0; outer < pieces; ++outer)
      DLC_TRY(wholeThere->copyTo(from(outer), to(outer)));
    return {};
  });
}

} // namespace dlc::runtime
