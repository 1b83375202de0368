// LMDB trusts its file. What can be seen from outside is checked before it is opened (the size of
// its pages) and while it is walked through (that its file has all pages, that each value lies in
// it); where LMDB finds a page to be damaged it calls a function, which throws. A page whose nodes
// lead out of the file at its end is not seen, and ends the process.
#include "runtime/Data/Lmdb/Database.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Support.h"

#include <bit>
#include <cstring>
#include <lmdb.h>
#include <sys/mman.h>
#include <vector>

namespace dlc::runtime {
namespace {

/// What LMDB says of its own pages.
struct DamagedPage {};

struct Environment {
  MDB_env *env = nullptr;
  MDB_txn *transaction = nullptr;
  MDB_dbi database = 0;

  Environment() = default;
  Environment(Environment &&other) noexcept
      : env(std::exchange(other.env, nullptr)),
        transaction(std::exchange(other.transaction, nullptr)), database(other.database) {}
  Environment &operator=(Environment &&) = delete;
  ~Environment() {
    if (transaction)
      mdb_txn_abort(transaction);
    if (env)
      mdb_env_close(env);
  }
};

Status failed(const std::string &path, int code) {
  const bool isOwn = code >= MDB_KEYEXIST && code <= MDB_LAST_ERRCODE;
  const StatusCode kind = code == ENOMEM                 ? StatusCode::OutOfMemory
                          : code == MDB_VERSION_MISMATCH ? StatusCode::Unsupported
                          : isOwn                        ? StatusCode::Damaged
                                                         : StatusCode::Io;
  return failure(kind, path, ": ", mdb_strerror(code));
}

//--------------------------------------------------------------------------------------------------
// Reading
//--------------------------------------------------------------------------------------------------

/// What a database begins with, as far as it is asked for: the header of a page, and of the
/// description in it.
struct FirstPage {
  uint64_t header[2];
  uint32_t magic, version;
  uint64_t address, mapBytes;
  uint32_t pageBytes;
};

constexpr uint32_t databaseMagic = 0xbeefc0de;

/// The size of its pages; LMDB would divide by it, whatever it is.
Result<uint32_t> pageBytesOf(const File &file) {
  FirstPage page = {};
  if (file.size() >= sizeof(page))
    DLC_TRY(file.readAt(0, std::as_writable_bytes(std::span(&page, 1))));
  if (page.magic != databaseMagic)
    return damaged(file.path(), ": is no LMDB database of this kind of processor");
  if (!std::has_single_bit(page.pageBytes) || page.pageBytes < 256 || page.pageBytes > 1 << 16)
    return damaged(file.path(), ": claims pages of ", page.pageBytes, " bytes");
  return page.pageBytes;
}

class Reader : public LmdbReader {
public:
  struct Record {
    const std::byte *value;
    const char *key;
    uint32_t valueBytes;
    uint16_t keyBytes;
  };
  Reader(Environment environment, std::vector<Record> records)
      : environment(std::move(environment)), records(std::move(records)) {}
  uint64_t size() const override { return records.size(); }
  std::string_view key(uint64_t index) const override {
    return {records[index].key, records[index].keyBytes};
  }
  std::span<const std::byte> value(uint64_t index) const override {
    return {records[index].value, records[index].valueBytes};
  }

private:
  /// Its transaction keeps the map and what it shows.
  Environment environment;
  std::vector<Record> records;
};

/// Where the map begins, by a key in one of its pages, which begins with its number.
const std::byte *mapBegin(const void *key, uint32_t pageBytes) {
  const auto *page = reinterpret_cast<const std::byte *>(reinterpret_cast<uintptr_t>(key) &
                                                         ~uintptr_t(pageBytes - 1));
  uint64_t number = 0;
  std::memcpy(&number, page, sizeof(number));
  return page - number * pageBytes;
}

/// Whether a database begins there, whose first page says so, and not somewhere that a damaged page
/// has led to.
bool isMapBegin(const std::byte *place) {
  unsigned char isHeld = 0;
  FirstPage page;
  if (mincore(const_cast<std::byte *>(place), sizeof(page), &isHeld) != 0)
    return false;
  std::memcpy(&page, place, sizeof(page));
  return page.magic == databaseMagic;
}

/// All keys, and where their values are.
Status walk(const Environment &environment, const File &file, uint32_t pageBytes,
            std::vector<Reader::Record> &records) {
  MDB_cursor *cursor = nullptr;
  if (const int code = mdb_cursor_open(environment.transaction, environment.database, &cursor))
    return failed(file.path(), code);
  const std::unique_ptr<MDB_cursor, void (*)(MDB_cursor *)> closer(cursor, mdb_cursor_close);
  MDB_val key, value;
  int code = 0;
  const std::byte *begin = nullptr;
  // No node is smaller.
  const uint64_t most = file.size() / 10;
  while ((code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
    const std::byte *own = mapBegin(key.mv_data, pageBytes);
    if (!begin && isMapBegin(own))
      begin = own;
    const auto *data = static_cast<const std::byte *>(value.mv_data);
    if (own != begin || records.size() == most || key.mv_size > UINT16_MAX || data < begin ||
        !fits(static_cast<uint64_t>(data - begin), value.mv_size, file.size()))
      return damaged(file.path(), ": record ", records.size(), " lies in a damaged page");
    if (value.mv_size > UINT32_MAX)
      return damaged(file.path(), ": record ", records.size(), " has ", value.mv_size, " bytes");
    records.push_back({data, static_cast<const char *>(key.mv_data),
                       static_cast<uint32_t>(value.mv_size), static_cast<uint16_t>(key.mv_size)});
  }
  return code == MDB_NOTFOUND ? Status() : failed(file.path(), code);
}

Result<std::unique_ptr<const LmdbReader>> openDatabase(const std::string &path) {
  DLC_TRY_ASSIGN(file, File::openForReading(path));
  DLC_TRY_ASSIGN(pageBytes, pageBytesOf(file));
  Environment environment;
  int code = mdb_env_create(&environment.env);
  if (code == 0)
    code =
        mdb_env_set_assert(environment.env, [](MDB_env *, const char *) { throw DamagedPage(); });
  // Without locks, so that a database may lie where nobody may write.
  if (code == 0)
    code = mdb_env_open(environment.env, path.c_str(),
                        MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS | MDB_NOSUBDIR, 0);
  MDB_envinfo info = {};
  if (code == 0)
    code = mdb_env_info(environment.env, &info);
  if (code != 0)
    return failed(path, code);
  if (info.me_last_pgno >= file.size() / pageBytes)
    return damaged(path, ": has ", file.size() / pageBytes, " pages of ", pageBytes,
                   " bytes, expected ", info.me_last_pgno + 1, ": is it whole?");
  code = mdb_txn_begin(environment.env, nullptr, MDB_RDONLY, &environment.transaction);
  if (code == 0)
    code = mdb_dbi_open(environment.transaction, nullptr, 0, &environment.database);
  if (code != 0)
    return failed(path, code);
  std::vector<Reader::Record> records;
  MDB_stat stat = {};
  if (mdb_stat(environment.transaction, environment.database, &stat) == 0)
    records.reserve(std::min<uint64_t>(stat.ms_entries, file.size() / 10));
  DLC_TRY(walk(environment, file, pageBytes, records));
  if (records.size() != stat.ms_entries)
    return damaged(path, ": has ", records.size(), " records, expected ", stat.ms_entries);
  return std::unique_ptr<const LmdbReader>(
      std::make_unique<Reader>(std::move(environment), std::move(records)));
}

//--------------------------------------------------------------------------------------------------
// Writing
//--------------------------------------------------------------------------------------------------

class Writer : public LmdbWriter {
public:
  Writer(std::string path, std::string temporary)
      : path(std::move(path)), temporary(std::move(temporary)) {}
  ~Writer() override {
    if (!temporary.empty())
      removeFile(temporary);
  }

  Status start() {
    removeFile(temporary);
    int code = mdb_env_create(&environment.env);
    if (code == 0)
      code = mdb_env_set_mapsize(environment.env, mapBytes);
    if (code == 0)
      code = mdb_env_open(environment.env, temporary.c_str(),
                          MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0666);
    return code == 0 ? begin() : failed(temporary, code);
  }

  /// What is written and not yet committed lies in memory, and the map has room for it.
  Status add(std::string_view key, std::span<const std::byte> value) override {
    constexpr uint64_t mostPending = 32 << 20, pageBytes = 4096;
    const uint64_t bytes = value.size() + key.size() + 2 * pageBytes;
    if (pending + bytes > mostPending && pending > 0)
      DLC_TRY(renew());
    if (written + bytes > mapBytes / 2)
      DLC_TRY(grow(written + bytes));
    MDB_val keyText = {key.size(), const_cast<char *>(key.data())},
            content = {value.size(), const_cast<std::byte *>(value.data())};
    const int code =
        mdb_put(environment.transaction, environment.database, &keyText, &content, MDB_APPEND);
    pending += bytes;
    written += bytes;
    return code == 0 ? Status() : failed(temporary, code);
  }

  Status finish() override {
    DLC_TRY(commit());
    if (const int code = mdb_env_sync(environment.env, 1))
      return failed(temporary, code);
    mdb_env_close(std::exchange(environment.env, nullptr));
    DLC_TRY(putInPlace(temporary, path));
    temporary.clear();
    return {};
  }

private:
  Status begin() {
    int code = mdb_txn_begin(environment.env, nullptr, 0, &environment.transaction);
    if (code == 0)
      code = mdb_dbi_open(environment.transaction, nullptr, 0, &environment.database);
    pending = 0;
    return code == 0 ? Status() : failed(temporary, code);
  }
  Status commit() {
    const int code = mdb_txn_commit(std::exchange(environment.transaction, nullptr));
    return code == 0 ? Status() : failed(temporary, code);
  }
  Status renew() {
    DLC_TRY(commit());
    return begin();
  }
  Status grow(uint64_t needed) {
    while (needed > mapBytes / 2)
      mapBytes *= 2;
    DLC_TRY(commit());
    if (const int code = mdb_env_set_mapsize(environment.env, mapBytes))
      return failed(temporary, code);
    return begin();
  }

  std::string path, temporary;
  Environment environment;
  /// Of the map; that were put into it, rounded up; and of those, not yet committed.
  uint64_t mapBytes = 64 << 20, written = 0, pending = 0;
};

} // namespace

Result<std::unique_ptr<const LmdbReader>> openLmdb(const std::string &path) {
  return guarded([&]() -> Result<std::unique_ptr<const LmdbReader>> {
    const std::string file = isFolder(path) ? path + "/data.mdb" : path;
    try {
      return openDatabase(file);
    } catch (const DamagedPage &) {
      return damaged(file, ": has a damaged page");
    }
  });
}

Result<std::unique_ptr<LmdbWriter>> createLmdb(const std::string &folder) {
  return guarded([&]() -> Result<std::unique_ptr<LmdbWriter>> {
    const std::string path = folder + "/data.mdb";
    auto writer = std::make_unique<Writer>(path, path + ".part");
    DLC_TRY(writer->start());
    return std::unique_ptr<LmdbWriter>(std::move(writer));
  });
}

} // namespace dlc::runtime
