// What LMDB writes.
#include "runtime/Data/Lmdb/Database.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Support.h"

#include <lmdb.h>

namespace dlc::runtime {
namespace {

struct Environment {
  MDB_env *env = nullptr;
  MDB_txn *transaction = nullptr;
  MDB_dbi database = 0;

  Environment() = default;
  Environment(const Environment &) = delete;
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

Result<std::unique_ptr<LmdbWriter>> createLmdb(const std::string &folder) {
  return guarded([&]() -> Result<std::unique_ptr<LmdbWriter>> {
    const std::string path = folder + "/data.mdb";
    auto writer = std::make_unique<Writer>(path, path + ".part");
    DLC_TRY(writer->start());
    return std::unique_ptr<LmdbWriter>(std::move(writer));
  });
}

} // namespace dlc::runtime
