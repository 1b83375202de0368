// How every program of dlc writes a file: so that a reader sees the old content or the new one,
// never half of one, and so that nothing is lost where writing fails. test/borders keeps it the
// only way.
//
// A regular file is written under a temporary name beside it, synchronised, then renamed; the
// folder is synchronised where that is allowed. Symbolic links are followed and stay; a device, a
// pipe or /dev/stdout is written to as it is. A file that is replaced hands on its permissions and,
// if that is allowed, its owner; one that may not be written to is not replaced.
//
// The owner of a temporary file holds a lock on it, so those of processes that were killed are told
// apart and removed when the same file is written next.
//
// Threads: distinct writers may be used by distinct threads, also for one path: the last commit
// wins.
#ifndef DLC_RUNTIME_CORE_FILEWRITER_H
#define DLC_RUNTIME_CORE_FILEWRITER_H

#include "dlc/status.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dlc::runtime {

enum class Durability {
  /// After commit() the file survives a loss of power.
  Durable,
  /// What can be made again and is checked when it is read, as in a cache: not synchronised, and
  /// leftovers are for removeLeftovers.
  Cached,
};

class FileWriter {
public:
  static Result<FileWriter> create(const std::string &path,
                                   Durability durability = Durability::Durable);
  FileWriter(FileWriter &&other) noexcept;
  FileWriter &operator=(FileWriter &&) = delete;
  /// Before commit(), leaves nothing.
  ~FileWriter();

  Status append(std::span<const std::byte> data);
  Status commit();

private:
  FileWriter(int descriptor, std::string path, std::string temporary, std::string target,
             Durability durability)
      : descriptor(descriptor), durability(durability), path(std::move(path)),
        temporary(std::move(temporary)), target(std::move(target)) {}
  Status write(std::span<const std::byte> data);
  Status writeOut();
  Status finishStream();

  int descriptor;
  Durability durability;
  /// What the caller calls it, the temporary name (empty: a device or a pipe, written directly),
  /// and what that is renamed to.
  std::string path, temporary, target;
  std::vector<std::byte> pending;
};

/// Writes all of it to an open file; false with errno if that fails.
bool writeAll(int descriptor, std::span<const std::byte> data);

Status writeFile(const std::string &path, std::span<const std::byte> content,
                 Durability durability = Durability::Durable);
Status writeFile(const std::string &path, std::string_view content,
                 Durability durability = Durability::Durable);

/// A file that grows line by line, or record by record, each as it comes: a log, which others read
/// meanwhile.
class LineWriter {
public:
  /// Behind what is there if `append`, and on a line of its own; else in its place. A device, a
  /// pipe or /dev/stdout goes on where it is.
  static Result<LineWriter> open(const std::string &path, bool append);
  LineWriter(LineWriter &&other) noexcept;
  LineWriter &operator=(LineWriter &&) = delete;
  ~LineWriter();

  /// Writes the line and its end.
  Status add(std::string_view line);
  /// Writes these bytes alone.
  Status append(std::span<const std::byte> bytes);

private:
  LineWriter(int descriptor, std::string path) : descriptor(descriptor), path(std::move(path)) {}
  int descriptor;
  std::string path;
};

/// Puts a file that another library has written in the place of `path`, in the same folder, as
/// FileWriter does: synchronised, and renamed.
Status putInPlace(const std::string &temporary, const std::string &path);
/// Removes a file if it is there.
void removeFile(const std::string &path);

/// Gives the file at `path` another name, in the place of what has that: a link where the file
/// system has them, else a copy. What is written to `path` later leaves the other as it is.
Status addName(const std::string &path, const std::string &other);

/// Whether two names lead to one regular file, or would if it were there.
bool isSameFile(const std::string &a, const std::string &b);

/// Whether what is written to `path` replaces nothing: a device, a pipe, or /dev/stdout and its
/// like, whatever file that is.
bool isStream(const std::string &path);

/// Whether `path` could be written now and is none of the inputs, of which empty ones are none;
/// changes nothing.
Status checkWritable(const std::string &path, std::span<const std::string> inputs = {});

/// Removes the temporary files of processes that live no more: all in `folder`, or those of the
/// file `name` in it.
void removeLeftovers(const std::string &folder, std::string_view name = {});

/// A folder for files that live as long as this object, and those of one process only. Those of
/// processes that were killed are removed when the next one is made.
class ScratchFolder {
public:
  static Result<ScratchFolder> create();
  ScratchFolder(ScratchFolder &&other) noexcept;
  ScratchFolder &operator=(ScratchFolder &&) = delete;
  ~ScratchFolder();

  std::string pathOf(std::string_view name) const { return folder + "/" + std::string(name); }
  /// Writes a file and returns its path.
  Result<std::string> write(std::string_view name, std::string_view content) const;

private:
  ScratchFolder(int descriptor, std::string folder)
      : descriptor(descriptor), folder(std::move(folder)) {}
  int descriptor;
  std::string folder;
};

} // namespace dlc::runtime

#endif
