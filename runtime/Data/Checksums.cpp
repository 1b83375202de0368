// Checksums of tensors and of the metadata itself.
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Safetensors.h"

#include <algorithm>

namespace dlc::runtime {

static constexpr std::string_view ownKey = "xxh3", tensorKeys = "xxh3.";

std::string checksumOf(std::span<const std::byte> bytes) {
  uint8_t hash[16];
  hashBytes(bytes, hash);
  return hexadecimal(hash);
}

/// Of all entries; zeros stand between them, which no name holds.
static std::string checksumOf(const Metadata &metadata) {
  std::string all;
  for (const auto &[key, value] : metadata)
    ((all += key) += '\0') += value + '\0';
  return checksumOf(std::as_bytes(std::span(all)));
}

void addChecksums(Metadata &metadata, const std::vector<StoredTensor> &tensors) {
  for (const StoredTensor &tensor : tensors)
    if (!tensor.checksum.empty())
      metadata[concat(tensorKeys, tensor.name)] = tensor.checksum;
  if (auto it = metadata.lower_bound(std::string(tensorKeys));
      it != metadata.end() && it->first.starts_with(tensorKeys))
    metadata[std::string(ownKey)] = checksumOf(metadata);
}

static Status takeOwn(Metadata &metadata) {
  auto own = metadata.extract(std::string(ownKey));
  const auto next = metadata.lower_bound(std::string(tensorKeys));
  const bool expected = next != metadata.end() && next->first.starts_with(tensorKeys);
  if (!own.empty() && own.mapped() == checksumOf(metadata))
    return {};
  if (own.empty() && !expected)
    return {};
  return damaged("its metadata is damaged: the checksum is ", checksumOf(metadata), ", expected ",
                 own.empty() ? "one" : excerpt(own.mapped()));
}

Status takeChecksums(Metadata &metadata, std::vector<StoredTensor> &tensors) {
  DLC_TRY(takeOwn(metadata));
  for (StoredTensor &tensor : tensors)
    if (auto node = metadata.extract(concat(tensorKeys, tensor.name)))
      tensor.checksum = std::move(node.mapped());
  for (const auto &[key, value] : metadata)
    if (key.starts_with(tensorKeys))
      return damaged("no tensor '", excerpt(key.substr(tensorKeys.size())),
                     "', whose checksum it has");
  return {};
}

} // namespace dlc::runtime
