// Host tensors for tests: see Tensors.h.
#include "test/e2e/Tensors.h"
#include "test/e2e/Formula.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace dlc::runtime;

namespace dlc::test {
namespace {

template <typename T> T orDie(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(result.status().message()).c_str());
    std::exit(1);
  }
  return result.take();
}

void orDie(Status status) {
  if (!status.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
    std::exit(1);
  }
}

template <typename T> std::vector<double> widen(const std::vector<std::byte> &bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return {values.begin(), values.end()};
}

template <typename T> std::vector<std::byte> narrow(const std::vector<double> &values) {
  std::vector<T> typed(values.begin(), values.end());
  std::vector<std::byte> bytes(typed.size() * sizeof(T));
  std::memcpy(bytes.data(), typed.data(), bytes.size());
  return bytes;
}

} // namespace

static uint64_t countOf(const std::vector<uint64_t> &shape) {
  uint64_t count = 1;
  for (uint64_t size : shape)
    count *= size;
  return count;
}

Tensor formulaTensor(std::vector<uint64_t> shape, std::string_view key, double scale,
                     double offset) {
  const Formula numbers(key);
  std::vector<double> values(countOf(shape));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(numbers(i) * scale + offset);
  return {DLC_F32, std::move(shape), std::move(values)};
}

Tensor formulaLabels(std::vector<uint64_t> shape, std::string_view key, int classes) {
  const Formula numbers(key);
  std::vector<double> values(countOf(shape));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::min(classes - 1, std::max(0, int((numbers(i) + 1) / 2 * classes)));
  return {DLC_I32, std::move(shape), std::move(values)};
}

Tensors readTensors(const std::string &path, Metadata *metadata,
                    const std::function<bool(const std::string &name)> &wanted) {
  SafetensorsFile file = orDie(SafetensorsFile::open(path));
  Tensors out;
  for (const StoredTensor &stored : file.tensors()) {
    if (wanted && !wanted(stored.name))
      continue;
    if (stored.dtype != DLC_F32 && stored.dtype != DLC_F64 && stored.dtype != DLC_I32)
      orDie(Status(StatusCode::Unsupported,
                   path + ": '" + stored.name + "' is neither f32, f64 nor i32"));
    std::vector<std::byte> bytes(stored.bytes);
    orDie(file.read(stored, bytes));
    out[stored.name] = {stored.dtype, stored.shape,
                        stored.dtype == DLC_F32   ? widen<float>(bytes)
                        : stored.dtype == DLC_F64 ? widen<double>(bytes)
                                                  : widen<int32_t>(bytes)};
  }
  if (metadata)
    *metadata = file.metadata();
  return out;
}

void writeTensors(const std::string &path, const Tensors &tensors) {
  std::vector<StoredTensor> stored;
  for (const auto &[name, tensor] : tensors)
    stored.push_back({.name = name,
                      .dtype = tensor.dtype,
                      .shape = tensor.shape,
                      .bytes = tensor.values.size() * dtypeSize(tensor.dtype)});
  SafetensorsWriter writer = orDie(SafetensorsWriter::create(path, stored, {}));
  for (const auto &[name, tensor] : tensors)
    orDie(writer.append(tensor.dtype == DLC_F32   ? narrow<float>(tensor.values)
                        : tensor.dtype == DLC_F64 ? narrow<double>(tensor.values)
                                                  : narrow<int32_t>(tensor.values)));
  orDie(writer.commit());
}

double maxError(const Tensor &a, const Tensor &b) {
  if (a.values.size() != b.values.size())
    return INFINITY;
  double difference = 0, largest = 1e-30;
  for (size_t i = 0; i < a.values.size(); ++i) {
    if (std::isnan(a.values[i]))
      return INFINITY;
    difference = std::max(difference, std::abs(a.values[i] - b.values[i]));
    largest = std::max(largest, std::abs(b.values[i]));
  }
  return difference / largest;
}

Projection project(const Tensor &tensor, std::string_view key) {
  const Formula probe(key);
  Projection result;
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    result.norm += tensor.values[i] * tensor.values[i];
    result.dot += tensor.values[i] * probe(i);
  }
  result.norm = std::sqrt(result.norm);
  return result;
}

} // namespace dlc::test
