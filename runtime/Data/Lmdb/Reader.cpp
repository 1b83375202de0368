// Reads databases as LMDB writes them (lmdb's mdb.c, "Page header" and "Node header"), without
// LMDB, which trusts its file: a database comes from elsewhere, and a page of it that is damaged
// must not end the process. Each page, node and value is looked for within the file before it is
// read. Pages with keys are read when it is opened, and not by the mapping, which would count the
// pages around each as this process's; those of values are first looked at when one is read.
#include "runtime/Core/File.h"
#include "runtime/Core/FileMapping.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Lmdb/Database.h"

#include <bit>
#include <cstring>
#include <vector>

namespace dlc::runtime {
namespace {

using Bytes = std::span<const std::byte>;

template <typename Number> Number numberAt(Bytes bytes, uint64_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

/// Where things are in the header that each page begins with; and in the description of the
/// database, which stands in the first two pages, the newer one with the larger transaction.
constexpr uint64_t flagsAt = 10, lowerAt = 12, overflowPagesAt = 12, pageHeader = 16, magicAt = 16,
                   versionAt = 20, pageBytesAt = 40, databaseFlagsAt = 92, depthAt = 94,
                   entriesAt = 120, rootAt = 128, lastPageAt = 136, transactionAt = 144,
                   descriptionEnd = 152;
/// In the header that each node begins with: the lower and the upper half of a size, or of a page's
/// number, whose highest part are the flags.
constexpr uint64_t lowAt = 0, highAt = 2, nodeFlagsAt = 4, keyBytesAt = 6, nodeHeader = 8;

constexpr uint32_t magic = 0xbeefc0de, knownVersion = 1;
constexpr uint16_t branchPage = 1, leafPage = 2, overflowPage = 4, kindsOfPages = 0x6f;
constexpr uint16_t onPagesOfItsOwn = 1, isDatabase = 2, severalValues = 4;
constexpr uint64_t noPage = UINT64_MAX;

/// Where a value and its key begin in the file.
struct Record {
  uint64_t value, key;
  uint32_t valueBytes;
  uint16_t keyBytes;
  bool hasOwnPages;
};

class Reader : public LmdbReader {
public:
  Reader(File keys, FileMapping mapping) : keys(std::move(keys)), file(std::move(mapping)) {}

  Status read() {
    DLC_TRY_ASSIGN(found, description());
    if (numberAt<uint16_t>(found, databaseFlagsAt) & severalValues)
      return unsupported(file.path(), ": has several values for a key");
    const uint64_t last = numberAt<uint64_t>(found, lastPageAt),
                   root = numberAt<uint64_t>(found, rootAt),
                   entries = numberAt<uint64_t>(found, entriesAt);
    if (last >= pages)
      return damaged(file.path(), ": has ", pages, " pages of ", pageBytes, " bytes, expected ",
                     last + 1, ": is it whole?");
    // No node is smaller.
    records.reserve(std::min<uint64_t>(entries, file.bytes().size() / nodeHeader));
    if (root != noPage)
      DLC_TRY(walk(root, numberAt<uint16_t>(found, depthAt)));
    if (records.size() != entries)
      return damaged(file.path(), ": has ", records.size(), " records, expected ", entries);
    return {};
  }

  uint64_t size() const override { return records.size(); }
  std::string_view key(uint64_t index) const override {
    const Record &record = records[index];
    return {reinterpret_cast<const char *>(file.bytes().data()) + record.key, record.keyBytes};
  }
  Result<Bytes> value(uint64_t index) const override {
    const Record &record = records[index];
    if (record.hasOwnPages) {
      const Bytes header = file.bytes().subspan(record.value - pageHeader, pageHeader);
      const uint64_t room = uint64_t(numberAt<uint32_t>(header, overflowPagesAt)) * pageBytes;
      if (!(numberAt<uint16_t>(header, flagsAt) & overflowPage) ||
          record.valueBytes + pageHeader > room)
        return damagedRecord(index);
    }
    return file.bytes().subspan(record.value, record.valueBytes);
  }

private:
  /// The newer description, when the size of pages is known.
  Result<Bytes> description() {
    const Bytes all = file.bytes();
    if (all.size() < descriptionEnd || numberAt<uint32_t>(all, magicAt) != magic)
      return damaged(file.path(), ": is no LMDB database of this kind of processor");
    pageBytes = numberAt<uint32_t>(all, pageBytesAt);
    if (!std::has_single_bit(pageBytes) || pageBytes < 256 || pageBytes > 1 << 16)
      return damaged(file.path(), ": claims pages of ", pageBytes, " bytes");
    pages = all.size() / pageBytes;
    if (pages < 2)
      return damaged(file.path(), ": has ", pages, " pages of ", pageBytes,
                     " bytes, expected two at least");
    const Bytes first = page(0), second = page(1);
    for (Bytes each : {first, second}) {
      if (numberAt<uint32_t>(each, magicAt) != magic)
        return damaged(file.path(), ": is no LMDB database of this kind of processor");
      if (const auto version = numberAt<uint32_t>(each, versionAt); version != knownVersion)
        return unsupported(file.path(), ": is of version ", version, " of LMDB's format, expected ",
                           knownVersion);
    }
    return numberAt<uint64_t>(first, transactionAt) >= numberAt<uint64_t>(second, transactionAt)
               ? first
               : second;
  }

  Bytes page(uint64_t number) const { return file.bytes().subspan(number * pageBytes, pageBytes); }

  Status badPage(uint64_t number) const {
    return damaged(file.path(), ": page ", number, " is damaged");
  }
  Status damagedRecord(uint64_t index) const {
    return damaged(file.path(), ": record ", index, " lies in a damaged page");
  }

  /// The records of a page, or of the pages below it, of which `levels` are left.
  Status walk(uint64_t number, unsigned levels) {
    constexpr unsigned deepest = 32;
    // Each page has one above it.
    if (number >= pages || levels == 0 || levels > deepest || ++visited > pages)
      return badPage(number);
    std::vector<std::byte> bytes(pageBytes);
    DLC_TRY(keys.readAt(number * pageBytes, bytes));
    const unsigned kind = numberAt<uint16_t>(bytes, flagsAt) & kindsOfPages,
                   lower = numberAt<uint16_t>(bytes, lowerAt);
    const bool isLeaf = kind == leafPage;
    if ((!isLeaf && kind != branchPage) || lower < pageHeader || lower > pageBytes)
      return badPage(number);
    for (uint64_t at = pageHeader; at + sizeof(uint16_t) <= lower; at += sizeof(uint16_t)) {
      const auto node = numberAt<uint16_t>(bytes, at);
      if (!fits(node, nodeHeader, pageBytes))
        return badPage(number);
      const Bytes own = Bytes(bytes).subspan(node);
      const uint64_t low = numberAt<uint16_t>(own, lowAt), high = numberAt<uint16_t>(own, highAt),
                     rest = numberAt<uint16_t>(own, nodeFlagsAt);
      DLC_TRY(isLeaf ? addRecord(number, node, own, low | high << 16, rest)
                     : walk(low | high << 16 | rest << 32, levels - 1));
    }
    return {};
  }

  /// Of the node at `at` in page `number`.
  Status addRecord(uint64_t number, uint64_t at, Bytes node, uint64_t valueBytes, uint64_t flags) {
    const auto keyBytes = numberAt<uint16_t>(node, keyBytesAt);
    if (flags & (isDatabase | severalValues))
      return unsupported(file.path(), ": has databases in it, or several values for a key");
    const bool hasOwnPages = flags & onPagesOfItsOwn;
    const uint64_t begin = nodeHeader + keyBytes,
                   stored = hasOwnPages ? sizeof(uint64_t) : valueBytes;
    if (!fits(begin, stored, node.size()))
      return badPage(number);
    const uint64_t place = number * pageBytes + at;
    uint64_t value = place + begin;
    if (hasOwnPages) {
      const auto first = numberAt<uint64_t>(node, begin);
      if (first >= pages || !fits(first * pageBytes + pageHeader, valueBytes, file.bytes().size()))
        return damagedRecord(records.size());
      value = first * pageBytes + pageHeader;
    }
    records.push_back(
        {value, place + nodeHeader, static_cast<uint32_t>(valueBytes), keyBytes, hasOwnPages});
    return {};
  }

  File keys;
  FileMapping file;
  uint32_t pageBytes = 0;
  uint64_t pages = 0, visited = 0;
  std::vector<Record> records;
};

} // namespace

Result<std::unique_ptr<const LmdbReader>> openLmdb(const std::string &path) {
  return guarded([&]() -> Result<std::unique_ptr<const LmdbReader>> {
    const std::string file = isFolder(path) ? path + "/data.mdb" : path;
    DLC_TRY_ASSIGN(keys, File::openForReading(file));
    DLC_TRY_ASSIGN(mapping, FileMapping::open(file));
    auto reader = std::make_unique<Reader>(std::move(keys), std::move(mapping));
    DLC_TRY(reader->read());
    return std::unique_ptr<const LmdbReader>(std::move(reader));
  });
}

} // namespace dlc::runtime
