// The members of a tar file: ustar, with long names as GNU tar and pax have them.
#ifndef DLC_RUNTIME_DATA_FORMATS_TARFILE_H
#define DLC_RUNTIME_DATA_FORMATS_TARFILE_H

#include "runtime/Data/Formats/Shards.h"

namespace dlc::runtime {

inline constexpr uint64_t tarBlock = 512;

/// A regular file in a tar file.
struct TarMember {
  std::string name;
  /// Of its bytes; its header is the block in front of them.
  uint64_t offset = 0, bytes = 0;
};

/// Walks from member to member, and reads headers only: no more than a page for each.
class TarReader {
public:
  explicit TarReader(const File &file) : file(file), window(file) {}
  /// The next member that is a regular file; false behind the last one. Fails with Damaged where
  /// the file ends within a member or without the block of zeros that ends an archive, where a
  /// header has no or a wrong checksum, and where something lies behind the end, as where several
  /// archives were put into one file.
  Result<bool> next(TarMember &member);
  /// A small member's bytes. Fails with Damaged, and does not say where, for more than 64 KiB.
  Result<std::vector<std::byte>> contentOf(const TarMember &member);

private:
  Status checkEnd();
  Result<std::vector<std::byte>> extraOf(std::string_view what, uint64_t bytes);
  Result<std::string> longName(uint64_t bytes);
  Status readPax(uint64_t bytes, TarMember &member);

  const File &file;
  FileWindow window;
  uint64_t at = 0;
};

/// Fails with Damaged unless a block is the header of a member of `bytes` bytes.
Status checkTarHeader(std::span<const std::byte> block, uint64_t bytes);

/// Adds a member's header, in front of it one for a name that is too long for it. The same for the
/// same name, whenever and by whomever it is written.
void appendTarHeader(std::vector<std::byte> &out, std::string_view name, uint64_t bytes);

} // namespace dlc::runtime

#endif
