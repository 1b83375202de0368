//===- Tables.cpp - the tables of the blob while they grow ------------------------------------===//
//
// The structs of abi.h have no padding and this compiler runs on little-endian machines only, so
// their bytes in memory are the bytes of the blob.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/Plan/Tables.h"
#include <bit>
#include <cstring>
#include <type_traits>

namespace dlc::codegen {

static_assert(std::endian::native == std::endian::little);
static_assert(std::has_unique_object_representations_v<dlc_plan_header>);
static_assert(std::has_unique_object_representations_v<dlc_value>);
static_assert(std::has_unique_object_representations_v<dlc_entry>);
static_assert(std::has_unique_object_representations_v<dlc_kernel>);
static_assert(std::has_unique_object_representations_v<dlc_record>);
static_assert(std::has_unique_object_representations_v<dlc_image>);
static_assert(std::has_unique_object_representations_v<dlc_library_call>);
// The others hold doubles, for which the trait says nothing: their sizes are the sums of their
// fields.
static_assert(sizeof(dlc_variable) == 8 + sizeof(dlc_type) + 2 * 4 + 2 * 8 + 2 * 8 + 2 * 4);
static_assert(sizeof(dlc_scalar) == 8 + 2 * 4 + 2 * 8 && sizeof(dlc_term) == 2 * 4 + 2 * 8);

dlc_string Tables::addString(llvm::StringRef text) {
  auto [known, isNew] = knownStrings.try_emplace(text, strings.size());
  if (isNew)
    strings.append(text.data(), text.size()).push_back('\0');
  return {known->second, static_cast<uint32_t>(text.size())};
}

/// Appends zeros up to the next multiple of DLC_ALIGNMENT.
static void align(std::string &bytes) {
  bytes.resize((bytes.size() + DLC_ALIGNMENT - 1) / DLC_ALIGNMENT * DLC_ALIGNMENT);
}

uint64_t Tables::addConstant(llvm::StringRef bytes) {
  if (auto known = knownConstants.find(bytes); known != knownConstants.end())
    return known->second;
  align(constants);
  uint64_t offset = knownConstants[bytes] = constants.size();
  constants.append(bytes.data(), bytes.size());
  return offset;
}

uint64_t Tables::addImage(llvm::StringRef bytes) {
  align(imageBytes);
  uint64_t offset = imageBytes.size();
  imageBytes.append(bytes.data(), bytes.size());
  return offset;
}

namespace {
/// Tables one behind the other, and their directory.
struct Body {
  uint64_t start; ///< of the first table in the blob, a multiple of DLC_ALIGNMENT
  std::vector<dlc_table> directory;
  std::string bytes;

  template <typename T> void add(dlc_table_kind kind, llvm::ArrayRef<T> table) {
    align(bytes);
    directory.push_back(
        {static_cast<uint32_t>(kind), sizeof(T), start + bytes.size(), table.size()});
    bytes.append(reinterpret_cast<const char *>(table.data()), table.size() * sizeof(T));
  }
};
} // namespace

std::string Tables::serialise(dlc_plan_header header) const {
  constexpr size_t tableCount = 18;
  std::string blob(sizeof(dlc_plan_header) + tableCount * sizeof(dlc_table), '\0');
  align(blob);
  Body body{blob.size(), {}, {}};
  body.add(DLC_TABLE_STRINGS, llvm::ArrayRef<char>(strings.data(), strings.size()));
  body.add(DLC_TABLE_CONSTANTS, llvm::ArrayRef<char>(constants.data(), constants.size()));
  body.add(DLC_TABLE_VARIABLES, llvm::ArrayRef(variables));
  body.add(DLC_TABLE_SCALARS, llvm::ArrayRef(scalars));
  body.add(DLC_TABLE_ENTRIES, llvm::ArrayRef(entries));
  body.add(DLC_TABLE_VALUES, llvm::ArrayRef(values));
  body.add(DLC_TABLE_METRICS, llvm::ArrayRef(metrics));
  body.add(DLC_TABLE_TERMS, llvm::ArrayRef(terms));
  body.add(DLC_TABLE_KERNELS, llvm::ArrayRef(kernels));
  body.add(DLC_TABLE_RECORDS, llvm::ArrayRef(records));
  body.add(DLC_TABLE_ARGUMENTS, llvm::ArrayRef(arguments));
  body.add(DLC_TABLE_IMMEDIATES, llvm::ArrayRef(immediates));
  body.add(DLC_TABLE_STEPS, llvm::ArrayRef(steps));
  body.add(DLC_TABLE_SETTINGS, llvm::ArrayRef(settings));
  body.add(DLC_TABLE_IMAGES, llvm::ArrayRef(images));
  body.add(DLC_TABLE_IMAGE_BYTES, llvm::ArrayRef<char>(imageBytes.data(), imageBytes.size()));
  body.add(DLC_TABLE_CALLS, llvm::ArrayRef(calls));
  body.add(DLC_TABLE_SCHEDULE, llvm::ArrayRef(schedule));
  header.magic = DLC_PLAN_MAGIC;
  header.size = sizeof(dlc_plan_header);
  header.table_count = body.directory.size();
  header.total_size = blob.size() + body.bytes.size();
  std::memcpy(blob.data(), &header, sizeof(header));
  std::memcpy(blob.data() + sizeof(header), body.directory.data(),
              body.directory.size() * sizeof(dlc_table));
  return blob + body.bytes;
}

} // namespace dlc::codegen
