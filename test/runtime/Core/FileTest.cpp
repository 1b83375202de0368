// What is read is a regular file.
#include "runtime/Core/File.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

std::string messageFor(const std::string &path) {
  auto file = File::openForReading(path);
  return file.ok() ? "opened" : std::string(file.status().message());
}

// A fifo without a writer would hang whoever opens it.
TEST(File, RefusesWhatIsNoRegularFile) {
  TemporaryFolder folder;
  const std::string fifo = folder.path("fifo"), socketPath = folder.path("socket");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(socketPath.size(), sizeof(address.sun_path));
  socketPath.copy(address.sun_path, sizeof(address.sun_path));
  ASSERT_EQ(bind(server, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
  EXPECT_EQ(messageFor(fifo), fifo + ": expected a regular file, found a fifo");
  EXPECT_EQ(messageFor(socketPath), socketPath + ": expected a regular file, found a socket");
  EXPECT_EQ(messageFor(folder.root()), folder.root() + ": expected a regular file, found a folder");
  EXPECT_EQ(messageFor("/dev/zero"), "/dev/zero: expected a regular file, found a device");
  EXPECT_EQ(messageFor(folder.path("none")),
            folder.path("none") + ": cannot open: No such file or directory");
  close(server);
}

// What is left of a piece comes again in front of the next one.
TEST(File, IsReadInPieces) {
  TemporaryFolder folder;
  std::vector<std::byte> content(10);
  for (size_t i = 0; i < content.size(); ++i)
    content[i] = std::byte(i);
  writeFile(folder.path("ten"), content);
  const File file = File::openForReading(folder.path("ten")).take();
  std::vector<std::byte> joined;
  std::vector<size_t> sizes;
  auto takeEven = [&](std::span<const std::byte> piece, uint64_t offset) -> Result<size_t> {
    EXPECT_EQ(offset, joined.size());
    sizes.push_back(piece.size());
    const size_t taken = piece.size() / 2 * 2;
    joined.insert(joined.end(), piece.begin(), piece.begin() + static_cast<ptrdiff_t>(taken));
    return taken;
  };
  ASSERT_TRUE(file.readPieces(3, takeEven).ok());
  EXPECT_EQ(joined, content);
  EXPECT_EQ(sizes, (std::vector<size_t>{3, 4, 3, 2}));
  const Status stopped = file.readPieces(
      4, [](auto, uint64_t) -> Result<size_t> { return Status(StatusCode::Damaged, "no more"); });
  EXPECT_EQ(stopped.message(), "no more");
}

} // namespace
