// Host tensors.
#include "tools/dlc-run/Tensors.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Philox.h"
#include "runtime/Core/Support.h"

#include <algorithm>

namespace dlc::runtime::tool {

HostTensor makeTensor(std::string_view name, dlc_dtype dtype, std::vector<uint64_t> shape) {
  HostTensor tensor{std::string(name), {dtype, std::move(shape), {}}, {}};
  tensor.bytes.resize(tensor.type.logicalBytes());
  return tensor;
}

HostTensor metricTensor(const EntryInfo &entry, size_t index, std::string_view name,
                        const MetricValue &value) {
  const bool isWide = std::ranges::any_of(entry.metrics[index].terms, [&](const dlc_term &term) {
    return entry.outputs[term.sum].type.dtype == DLC_F64;
  });
  const dlc_dtype dtype = isWide ? DLC_F64 : DLC_F32;
  if (value.table.empty()) {
    HostTensor tensor = makeTensor(name, dtype, {});
    storeElement(dtype, value.number, tensor.bytes.data());
    return tensor;
  }
  const uint64_t side = value.side();
  HostTensor tensor = makeTensor(name, dtype, {side, side});
  for (size_t i = 0; i < value.table.size(); ++i)
    storeElement(dtype, value.table[i], tensor.bytes.data() + i * dtypeSize(dtype));
  return tensor;
}

Result<HostTensor> readTensor(const SafetensorsFile &file, const StoredTensor &stored) {
  HostTensor tensor = makeTensor(stored.name, stored.dtype, stored.shape);
  DLC_TRY(file.read(stored, tensor.bytes));
  return tensor;
}

/// Writes the bytes of each tensor as what is announced of it says.
template <typename Tensors>
static Status save(const std::string &path, std::vector<StoredTensor> announced,
                   const Tensors &tensors, const Metadata &metadata) {
  size_t next = 0;
  for (const auto &tensor : tensors)
    announced[next++].checksum = checksumOf(tensor.bytes);
  DLC_TRY_ASSIGN(writer, SafetensorsWriter::create(path, announced, metadata));
  for (const auto &tensor : tensors)
    DLC_TRY(writer.append(tensor.bytes));
  return writer.commit();
}

Status saveTensors(const std::string &path, const std::vector<HostTensor> &tensors,
                   const Metadata &metadata) {
  std::vector<StoredTensor> announced;
  for (const HostTensor &tensor : tensors)
    announced.push_back({tensor.name, tensor.type.dtype, tensor.type.shape});
  return save(path, std::move(announced), tensors, metadata);
}

Status saveTensors(const std::string &path, const std::vector<Tensor> &tensors,
                   const Metadata &metadata) {
  std::vector<StoredTensor> announced;
  for (const Tensor &tensor : tensors)
    announced.push_back({tensor.name, tensor.dtype, tensor.shape});
  return save(path, std::move(announced), tensors, metadata);
}

Result<HostTensor> readOutput(const Context &context, size_t index) {
  const ValueInfo &output = context.entry().outputs[index];
  HostTensor tensor = makeTensor(output.name, output.type.dtype, output.type.shape);
  DLC_TRY(context.read(index, tensor.bytes));
  return tensor;
}

Result<HostTensor> readVariable(const State &state, size_t index) {
  const VariableInfo &variable = state.module()->plan().variables[index];
  HostTensor tensor = makeTensor(variable.name, variable.type.dtype, variable.type.shape);
  DLC_TRY(state.read(index, tensor.bytes));
  return tensor;
}

HostTensor randomInput(const ValueInfo &input, uint64_t seed) {
  HostTensor tensor = makeTensor(input.name, input.type.dtype, input.type.shape);
  const uint64_t size = dtypeSize(tensor.type.dtype), count = tensor.type.elementCount();
  const bool whole = isWhole(tensor.type.dtype);
  const uint32_t hash = hashName(tensor.name), classes = input.classes == 0 ? 2 : input.classes;
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t word = philox(seed, {static_cast<uint32_t>(i / 4), 0, 0, hash})[i % 4];
    storeElement(tensor.type.dtype, whole ? word % classes : (word >> 8) * 0x1p-24,
                 tensor.bytes.data() + i * size);
  }
  return tensor;
}

Result<std::vector<HostTensor>> bindRandom(Context &context, uint64_t seed) {
  std::vector<HostTensor> tensors;
  const EntryInfo &entry = context.entry();
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    if (i == entry.validInput)
      continue;
    tensors.push_back(randomInput(entry.inputs[i], seed));
    DLC_TRY(context.bind(i, tensors.back().bytes));
  }
  return tensors;
}

} // namespace dlc::runtime::tool
