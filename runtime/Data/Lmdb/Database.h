// Databases: read without LMDB, which trusts its file, and written by it. Part of libdlc_lmdb.so.
#ifndef DLC_RUNTIME_DATA_LMDB_DATABASE_H
#define DLC_RUNTIME_DATA_LMDB_DATABASE_H

#include "runtime/Data/Lmdb/Plugin.h"

namespace dlc::runtime {

/// What LmdbPlugin says.
Result<std::unique_ptr<const LmdbReader>> openLmdb(const std::string &path);
Result<std::unique_ptr<LmdbWriter>> createLmdb(const std::string &folder);

} // namespace dlc::runtime

#endif
