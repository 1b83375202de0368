// A loaded module is a private copy of its file: whatever happens to the file, what was checked is
// what runs.
#include "runtime/Core/ModuleImage.h"
#include "dlc/context.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

/// A module in training on fixed data.
class Training {
public:
  static Result<Training> create(const std::string &path) {
    Training training;
    auto module = Module::load(path);
    if (!module.ok())
      return module.takeStatus();
    auto state = State::create(*module, openCpu({.threads = 1}).take(), 3);
    if (!state.ok())
      return state.takeStatus();
    training.state = state.take();
    auto context = Context::create(training.state, "train_step");
    if (!context.ok())
      return context.takeStatus();
    training.context = context.take();
    for (size_t i = 0; i < training.image.size(); ++i)
      training.image[i] = float(i * 37 % 101) / 101;
    for (size_t i = 0; i < training.label.size(); ++i)
      training.label[i] = int32_t(i % 4);
    return training;
  }

  void run(int steps) {
    ASSERT_TRUE(context->bind(0, std::as_bytes(std::span(image))).ok());
    ASSERT_TRUE(context->bind(1, std::as_bytes(std::span(label))).ok());
    for (int step = 0; step < steps; ++step)
      ASSERT_TRUE(context->run().ok());
  }

  std::vector<float> weights() const {
    std::vector<float> values(64);
    EXPECT_TRUE(state->read(0, std::as_writable_bytes(std::span(values))).ok());
    return values;
  }

private:
  std::shared_ptr<State> state;
  std::unique_ptr<Context> context;
  std::vector<float> image = std::vector<float>(8 * 16);
  std::vector<int32_t> label = std::vector<int32_t>(8);
};

std::vector<float> weightsAfter(const std::string &path, int steps) {
  auto training = Training::create(path);
  if (!training.ok()) {
    ADD_FAILURE() << training.status().message();
    return {};
  }
  training->run(steps);
  return training->weights();
}

/// Writes over a file in place, as cp does: who has it mapped sees the new bytes.
void overwrite(const std::string &path, const std::vector<std::byte> &content) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.write(reinterpret_cast<const char *>(content.data()),
             static_cast<std::streamsize>(content.size()));
  ASSERT_TRUE(file.flush().good());
}

// A module's file is overwritten and then cut to nothing between the steps of a run, which goes on
// with the same bits.
TEST(ModuleImage, OutlivesItsFile) {
  TemporaryFolder folder;
  const std::string path = writeSmallModule(folder);
  const std::vector<float> expected = weightsAfter(path, 9);
  auto training = Training::create(path);
  ASSERT_TRUE(training.ok()) << training.status().message();
  training->run(3);
  overwrite(path, std::vector<std::byte>(readFile(path).size(), std::byte(0xcc)));
  training->run(3);
  std::filesystem::resize_file(path, 0);
  training->run(2);
  std::filesystem::remove(path);
  training->run(1);
  EXPECT_EQ(training->weights(), expected);
}

// A file with new content is a new module, though the old one is loaded from the same name and
// inode; both run.
TEST(ModuleImage, SeesTheNewContentOfAFile) {
  TemporaryFolder folder;
  const std::string path = writeSmallModule(folder), other = folder.path("other.so");
  PlanBuilder faster = smallModel();
  faster.scalars[0].value = 0.2;
  writeFile(other, moduleWith(faster.blob()));
  const std::vector<float> slow = weightsAfter(path, 4), fast = weightsAfter(other, 4);
  ASSERT_NE(slow, fast);
  auto first = Training::create(path);
  ASSERT_TRUE(first.ok());
  first->run(2);
  overwrite(path, readFile(other));
  EXPECT_EQ(weightsAfter(path, 4), fast);
  first->run(2);
  EXPECT_EQ(first->weights(), slow);
}

// The copy cannot be changed by whoever finds it.
TEST(ModuleImage, IsSealed) {
  TemporaryFolder folder;
  auto file = File::openForReading(writeSmallModule(folder));
  const uint64_t size = file->size();
  auto image = ModuleImage::copy(file.take());
  ASSERT_TRUE(image.ok()) << image.status().message();
  ASSERT_EQ(image->content().size(), size);
  int copies = 0;
  for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry, gone).string();
    if (target.find("memfd:small.so") == std::string::npos)
      continue;
    ++copies;
    const int descriptor = open(entry.path().c_str(), O_RDWR);
    ASSERT_GE(descriptor, 0);
    EXPECT_EQ(pwrite(descriptor, "x", 1, 0), -1);
    EXPECT_EQ(ftruncate(descriptor, 0), -1);
    close(descriptor);
  }
  EXPECT_EQ(copies, 1);
}

/// From now on this process hears `error` from these system calls, as on a system without them.
void refuseSystemCalls(std::initializer_list<unsigned> calls, unsigned error) {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (unsigned call : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    std::perror("seccomp"), std::exit(3);
}

/// Loads and trains in a process whose temporary files stand in `folder`, and says how it went.
[[noreturn]] void trainIn(const TemporaryFolder &folder, const std::string &path,
                          const std::vector<float> &expected) {
  setenv("TMPDIR", folder.root().c_str(), 1);
  auto training = Training::create(path);
  if (!training.ok()) {
    std::fprintf(stderr, "%s\n", std::string(training.status().message()).c_str());
    std::exit(1);
  }
  for (const auto &entry : std::filesystem::directory_iterator(folder.root()))
    std::fprintf(stderr, "left: %s\n", entry.path().c_str()), std::exit(2);
  overwrite(path, std::vector<std::byte>(1000, std::byte(0xcc)));
  training->run(4);
  std::fputs(training->weights() == expected ? "same bits\n" : "other bits\n", stderr);
  std::_Exit(0); // and not by way of a leak checker, which reads /proc
}

// Without files in memory the copy is a temporary file that nobody can find once it is open.
TEST(ModuleImageDeathTest, DoesWithoutFilesInMemory) {
  TemporaryFolder folder, temporary;
  const std::string path = writeSmallModule(folder);
  const std::vector<float> expected = weightsAfter(path, 4);
  auto without = [&] {
    refuseSystemCalls({SYS_memfd_create}, ENOSYS);
    trainIn(temporary, path, expected);
  };
  EXPECT_EXIT(without(), testing::ExitedWithCode(0), "same bits");
}

/// Hides /proc from this process alone. False if it may not.
bool hideProc() {
  return (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", "/proc", "tmpfs", 0, nullptr) == 0;
}

bool mayHideProc() {
  const pid_t child = fork();
  if (child == 0)
    _exit(hideProc() ? 0 : 1);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// Nor is there a name for a file in memory without /proc.
TEST(ModuleImageDeathTest, DoesWithoutProc) {
  if (!mayHideProc())
    GTEST_SKIP() << "this process may not hide /proc from itself";
  TemporaryFolder folder, temporary;
  const std::string path = writeSmallModule(folder);
  const std::vector<float> expected = weightsAfter(path, 4);
  auto without = [&] {
    hideProc();
    trainIn(temporary, path, expected);
  };
  EXPECT_EXIT(without(), testing::ExitedWithCode(0), "same bits");
}

// If there is no place for a copy at all, that is what the error says.
TEST(ModuleImageDeathTest, SaysThatThereIsNoPlace) {
  TemporaryFolder folder;
  const std::string path = writeSmallModule(folder);
  auto nowhere = [&] {
    refuseSystemCalls({SYS_memfd_create}, EPERM);
    setenv("TMPDIR", "/nowhere", 1);
    std::fprintf(stderr, "%s\n", std::string(Module::load(path).status().message()).c_str());
    std::exit(0);
  };
  EXPECT_EXIT(nowhere(), testing::ExitedWithCode(0),
              "small.so: no private copy of the module: no folder for temporary files: ");
}

/// The loader's message about a file of `size` bytes, most of them a hole, that begins as `start`.
std::string messageForHole(const std::vector<std::byte> &start, uint64_t size) {
  TemporaryFolder folder;
  const std::string path = folder.path("x.so");
  writeFile(path, start);
  std::error_code error;
  std::filesystem::resize_file(path, size, error);
  if (error)
    return error.message();
  return std::string(Module::load(path).status().message()).substr(path.size() + 2);
}

// What is no module is refused by its first bytes and its size, before anything of it is copied.
TEST(ModuleImage, DoesNotCopyHugeFiles) {
  const uint64_t terabyte = uint64_t(1) << 40;
  EXPECT_EQ(messageForHole(moduleWith(smallModel().blob()), terabyte),
            "has 1099511627776 bytes, expected at most 2147483648");
  EXPECT_EQ(messageForHole({}, terabyte),
            "not a module: no ELF file; dlc compiles a model (.dl) to one");
}

} // namespace
