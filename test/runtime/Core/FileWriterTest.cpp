// Writing files: what was there is replaced whole or stays, with its permissions, behind its links;
// what cannot be written is an error that leaves nothing.
#include "runtime/Core/FileWriter.h"
#include "test/lib/Nobody/Nobody.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dlc::runtime;
using dlc::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

std::string textOf(const std::string &path) {
  const std::vector<std::byte> bytes = dlc::test::readFile(path);
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

std::string message(const Status &status) { return std::string(status.message()); }

mode_t modeOf(const std::string &path) {
  struct stat status = {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

std::vector<std::string> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

TEST(FileWriter, WritesANewFileAndReplacesAnOldOne) {
  TemporaryFolder folder;
  const std::string path = folder.path("a");
  ASSERT_TRUE(writeFile(path, "one").ok());
  EXPECT_EQ(textOf(path), "one");
  const std::string large(3'000'000, 'x');
  ASSERT_TRUE(writeFile(path, large).ok());
  EXPECT_EQ(textOf(path), large);
  EXPECT_EQ(namesIn(folder.root()), (Names{"a"}));
}

TEST(FileWriter, KeepsPermissions) {
  TemporaryFolder folder;
  const std::string path = folder.path("a");
  const mode_t mask = umask(027);
  EXPECT_TRUE(writeFile(path, "one").ok());
  EXPECT_EQ(modeOf(path), 0640u);
  for (mode_t mode : {0600u, 0755u, 0666u}) {
    chmod(path.c_str(), mode);
    EXPECT_TRUE(writeFile(path, "two").ok());
    EXPECT_EQ(modeOf(path), mode);
  }
  umask(mask);
}

TEST(FileWriter, KeepsTheOwner) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root may give files away";
  TemporaryFolder folder;
  const std::string path = folder.path("a");
  ASSERT_TRUE(writeFile(path, "one").ok());
  if (chown(path.c_str(), 1234, 2345) != 0)
    GTEST_SKIP() << "no other users here";
  ASSERT_TRUE(writeFile(path, "two").ok());
  struct stat status = {};
  stat(path.c_str(), &status);
  EXPECT_EQ(status.st_uid, 1234u);
  EXPECT_EQ(status.st_gid, 2345u);
}

// A link stays a link, also one to a link, and to what is not there yet.
TEST(FileWriter, WritesThroughSymbolicLinks) {
  TemporaryFolder folder;
  fs::create_directory(folder.path("deep"));
  fs::create_symlink("deep/file", folder.path("link"));
  fs::create_symlink(folder.path("link"), folder.path("link2"));
  for (const char *text : {"one", "two"}) {
    ASSERT_TRUE(writeFile(folder.path("link2"), text).ok());
    EXPECT_EQ(textOf(folder.path("deep/file")), text);
  }
  EXPECT_TRUE(fs::is_symlink(folder.path("link")));
  EXPECT_TRUE(fs::is_symlink(folder.path("link2")));
  EXPECT_EQ(namesIn(folder.path("deep")), (Names{"file"}));
  fs::create_symlink("round", folder.path("round"));
  EXPECT_EQ(message(writeFile(folder.path("round"), "x")),
            folder.path("round") + ": cannot write: too many symbolic links");
}

TEST(FileWriter, WritesToDevicesAndPipes) {
  EXPECT_TRUE(writeFile("/dev/null", "x").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(message(writeFile("/dev/full", "x")),
            "/dev/full: cannot write: No space left on device");
  EXPECT_TRUE(checkWritable("/dev/full").ok());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (const char *folder : {"/dev/fd/", "/proc/self/fd/"}) {
    ASSERT_TRUE(writeFile(folder + std::to_string(ends[1]), "hello").ok());
    char text[5];
    ASSERT_EQ(read(ends[0], text, 5), 5);
    EXPECT_EQ(std::string(text, 5), "hello");
  }
  close(ends[0]);
  close(ends[1]);
}

// What stands before in the file that standard output was sent to stays, as does what follows.
TEST(FileWriter, GoesOnWhereAnOwnDescriptorStands) {
  TemporaryFolder folder;
  const int descriptor = open(folder.path("log").c_str(), O_CREAT | O_WRONLY, 0644);
  ASSERT_EQ(write(descriptor, "a", 1), 1);
  EXPECT_TRUE(writeFile("/dev/fd/" + std::to_string(descriptor), "b").ok());
  ASSERT_EQ(write(descriptor, "c", 1), 1);
  close(descriptor);
  EXPECT_EQ(textOf(folder.path("log")), "abc");
}

TEST(FileWriter, SaysWhatIsWrong) {
  TemporaryFolder folder;
  const std::string root = folder.root();
  using Check = std::function<Status(const std::string &)>;
  for (const Check &check : {Check([](const std::string &path) { return checkWritable(path); }),
                             Check([](const std::string &path) { return writeFile(path, "x"); })}) {
    EXPECT_EQ(message(check("")), "the name of the file to write is empty");
    EXPECT_EQ(message(check(root)), root + ": cannot write: it is a folder");
    EXPECT_EQ(message(check(root + "/")), root + "/: cannot write: it names a folder");
    EXPECT_EQ(message(check(root + "/no/x")),
              root + "/no/x: cannot write: folder " + root + "/no/: No such file or directory");
  }
  EXPECT_TRUE(fs::is_empty(root));
}

TEST(FileWriter, KeepsToPermissions) {
  TemporaryFolder folder;
  dlc::test::Nobody user(folder.root());
  if (!user)
    GTEST_SKIP() << "the superuser cannot become nobody here";
  const std::string path = folder.path("a");
  ASSERT_TRUE(writeFile(path, "one").ok());
  chmod(path.c_str(), 0444);
  EXPECT_EQ(message(writeFile(path, "two")), path + ": cannot write: Permission denied");
  EXPECT_EQ(message(checkWritable(path)), path + ": cannot write: Permission denied");
  EXPECT_EQ(textOf(path), "one");
  chmod(path.c_str(), 0644);
  chmod(folder.root().c_str(), 0500);
  EXPECT_EQ(message(writeFile(path, "two")),
            path + ": cannot create a file in " + folder.root() + ": Permission denied");
  EXPECT_EQ(message(checkWritable(path)),
            path + ": cannot create a file in " + folder.root() + ": Permission denied");
  EXPECT_EQ(textOf(path), "one");
  chmod(folder.root().c_str(), 0700);
}

// A folder that may be written to but not read cannot be synchronised; the file is there all the
// same.
TEST(FileWriter, WritesIntoAFolderThatCannotBeRead) {
  TemporaryFolder folder;
  dlc::test::Nobody user(folder.root());
  if (!user)
    GTEST_SKIP() << "the superuser cannot become nobody here";
  chmod(folder.root().c_str(), 0300);
  EXPECT_EQ(message(writeFile(folder.path("a"), "one")), "");
  chmod(folder.root().c_str(), 0700);
  EXPECT_EQ(textOf(folder.path("a")), "one");
}

/// As a full disk, while it lives.
struct FileSizeLimit {
  rlimit before;
  void (*handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
  }
};

TEST(FileWriter, LeavesTheOldFileWhereThereIsNoRoom) {
  TemporaryFolder folder;
  const std::string path = folder.path("a");
  ASSERT_TRUE(writeFile(path, "one").ok());
  for (rlim_t limit : {rlim_t(0), rlim_t(100'000)}) {
    FileSizeLimit full(limit);
    EXPECT_EQ(message(writeFile(path, std::string(3'000'000, 'x'))),
              path + ": cannot write: File too large");
  }
  EXPECT_EQ(textOf(path), "one");
  EXPECT_EQ(namesIn(folder.root()), (Names{"a"}));
}

// The longest name there can be, whose temporary name must be shorter.
TEST(FileWriter, TakesLongNames) {
  TemporaryFolder folder;
  const std::string path = folder.path(std::string(255, 'n'));
  EXPECT_TRUE(writeFile(path, "one").ok());
  EXPECT_EQ(textOf(path), "one");
  EXPECT_NE(message(writeFile(path + "n", "one")).find("File name too long"), std::string::npos);
}

//--------------------------------------------------------------------------------------------------
// Leftovers
//--------------------------------------------------------------------------------------------------

void touch(const std::string &path) { close(open(path.c_str(), O_CREAT | O_WRONLY, 0644)); }

// Only what bears a temporary name of this file and is no process's goes.
TEST(FileWriter, RemovesWhatKilledProcessesLeft) {
  TemporaryFolder folder;
  const Names others = {"a.dlc-1.tmp", "a.dlc-1-.tmp",  "a.dlc-1-2.tmpx", "a.dlc-x-2.tmp",
                        "a.tmp",       "b.dlc-1-2.tmp", "a.dlc-1-0.tmp~", "aa.dlc-1-2.tmp"};
  for (const std::string &name : others)
    touch(folder.path(name));
  touch(folder.path("a.dlc-1-2.tmp"));
  touch(folder.path("a.dlc-" + std::to_string(getpid()) + "-0.tmp"));
  fs::create_directory(folder.path("a.dlc-7-7.tmp"));
  fs::create_symlink("a.tmp", folder.path("a.dlc-8-8.tmp"));
  ASSERT_TRUE(writeFile(folder.path("a"), "one").ok());
  Names expected = others;
  for (const char *name : {"a", "a.dlc-7-7.tmp", "a.dlc-8-8.tmp"})
    expected.push_back(name);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(namesIn(folder.root()), expected);
  // A cache clears its folder by itself.
  touch(folder.path("a.dlc-1-2.tmp"));
  ASSERT_TRUE(writeFile(folder.path("a"), "two", Durability::Cached).ok());
  EXPECT_TRUE(fs::exists(folder.path("a.dlc-1-2.tmp")));
  removeLeftovers(folder.root());
  EXPECT_FALSE(fs::exists(folder.path("a.dlc-1-2.tmp")));
  EXPECT_FALSE(fs::exists(folder.path("b.dlc-1-2.tmp")));
}

// Two writers of one file, here and in another process: neither takes the other's file away, and
// the last one wins.
TEST(FileWriter, SharesAPathWithOthers) {
  TemporaryFolder folder;
  const std::string path = folder.path("a");
  int ready[2], go[2];
  ASSERT_EQ(pipe(ready) + pipe(go), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto writer = FileWriter::create(path);
    char byte = 0;
    bool good = writer.ok() && write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1;
    good = good && writer->append(std::as_bytes(std::span("other", 5))).ok();
    _exit(good && writer->commit().ok() ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  auto first = FileWriter::create(path), second = FileWriter::create(path);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(namesIn(folder.root()).size(), 3u);
  ASSERT_TRUE(second->append(std::as_bytes(std::span("2", 1))).ok());
  ASSERT_TRUE(second->commit().ok());
  EXPECT_EQ(textOf(path), "2");
  ASSERT_TRUE(first->append(std::as_bytes(std::span("1", 1))).ok());
  ASSERT_TRUE(first->commit().ok());
  EXPECT_EQ(textOf(path), "1");
  ASSERT_EQ(write(go[1], &byte, 1), 1);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(textOf(path), "other");
  EXPECT_EQ(namesIn(folder.root()), (Names{"a"}));
  for (int end : {ready[0], ready[1], go[0], go[1]})
    close(end);
}

// Processes that write the same two contents are killed: the file is always one of them.
TEST(FileWriter, SurvivesKills) {
  TemporaryFolder folder;
  const std::string path = folder.path("a"), one(70'000, '1'), two(90'000, '2');
  ASSERT_TRUE(writeFile(path, one).ok());
  for (int round = 0; round < 30; ++round) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0)
      for (bool first = true;; first = !first) {
        const char byte = writeFile(path, first ? two : one).ok() ? 'y' : 'n';
        if (write(ready[1], &byte, 1) != 1)
          _exit(1);
      }
    close(ready[1]);
    // Some writes, then as far as the other came.
    char byte = 'y';
    for (int writes = 0; writes <= round % 7 && byte == 'y'; ++writes)
      ASSERT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ready[0]);
    const std::string text = textOf(path);
    EXPECT_TRUE(text == one || text == two) << text.size();
  }
  ASSERT_TRUE(writeFile(path, one).ok());
  EXPECT_EQ(namesIn(folder.root()), (Names{"a"}));
}

TEST(ScratchFolder, RemovesItselfAndWhatKilledProcessesLeft) {
  TemporaryFolder parent;
  setenv("TMPDIR", parent.root().c_str(), 1);
  for (const char *name : {"dlc-1-0", "dlc-1-0x", "dlc-x"})
    fs::create_directory(parent.path(name));
  touch(parent.path("dlc-1-0/a.o"));
  {
    auto first = ScratchFolder::create();
    ASSERT_TRUE(first.ok()) << first.status().message();
    auto file = first->write("a.o", "text");
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(textOf(*file), "text");
    auto second = ScratchFolder::create();
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(textOf(first->pathOf("a.o")), "text");
    EXPECT_EQ(namesIn(parent.root()).size(), 4u);
  }
  EXPECT_EQ(namesIn(parent.root()), (Names{"dlc-1-0x", "dlc-x"}));
  setenv("TMPDIR", parent.path("none").c_str(), 1);
  EXPECT_EQ(message(ScratchFolder::create().status()).find("no folder for temporary files: "), 0u);
  unsetenv("TMPDIR");
}

//--------------------------------------------------------------------------------------------------
// Outputs that are inputs
//--------------------------------------------------------------------------------------------------

TEST(FileWriter, KnowsAFileByAnyName) {
  TemporaryFolder folder;
  touch(folder.path("a"));
  touch(folder.path("b"));
  fs::create_hard_link(folder.path("a"), folder.path("hard"));
  fs::create_symlink("a", folder.path("soft"));
  for (const char *name : {"a", "hard", "soft", "./a"}) {
    const std::string path = folder.path(name);
    EXPECT_TRUE(isSameFile(folder.path("a"), path)) << path;
    EXPECT_EQ(message(checkWritable(path, std::vector{folder.path("b"), folder.path("a")})),
              path + ": is an input as well; name another file for the output");
  }
  EXPECT_FALSE(isSameFile(folder.path("a"), folder.path("b")));
  EXPECT_FALSE(isSameFile("/dev/null", "/dev/null"));
  EXPECT_TRUE(isSameFile(folder.path("new"), folder.path("./new")));
  EXPECT_FALSE(isSameFile(folder.path("new"), folder.path("a")));
  EXPECT_TRUE(checkWritable(folder.path("new"), std::vector{folder.path("a"), std::string()}).ok());
}

} // namespace
