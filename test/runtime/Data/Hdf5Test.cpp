// HDF5 files: those that make.py has written by h5py, beside what NumPy makes of them, and damaged
// ones.
#include "runtime/Core/Support.h"
#include "runtime/Data/Hdf5/Trial.h"
#include "test/runtime/Data/Inputs.h"
#include "test/runtime/Data/PackedInputs.h"

#include <csignal>
#include <random>
#include <set>
#include <thread>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

std::string inputFile(std::string_view name) {
  return std::string(DLC_TEST_INPUTS "/hdf5/") + std::string(name);
}
std::string dataIn(std::string_view name) { return "hdf5:" + inputFile(name); }

std::string bytesIn(const Dataset &dataset, uint64_t index, size_t field) {
  std::vector<std::byte> room;
  const auto at = sampleAt(dataset, index, field, room);
  return at.ok() ? std::string(reinterpret_cast<const char *>(*at),
                               sampleBytes(dataset.fields()[field]))
                 : std::string(at.status().message());
}

/// A field of the same name, of the same type and shape.
size_t fieldLike(const DatasetField &field, const Dataset &dataset) {
  const auto &fields = dataset.fields();
  const auto found = std::ranges::find(fields, field.name, &DatasetField::name);
  EXPECT_NE(found, fields.end()) << field.name;
  if (found == fields.end())
    return 0;
  EXPECT_EQ(found->dtype, field.dtype) << field.name;
  EXPECT_EQ(found->shape, field.shape) << field.name;
  return static_cast<size_t>(found - fields.begin());
}

// Of either byte order, in one piece, within the header, in chunks of each kind, old and new
// formats of the file, and behind a block of the user's; in any order, by several threads.
TEST(Hdf5, ReadsWhatH5pyWrites) {
  const auto expected = *openDataset("npz:" + inputFile("arrays.npz"), Split::Train);
  const std::pair<const char *, size_t> files[] = {
      {"earliest.h5", 31}, {"latest.h5", 32}, {"block.h5", 3}};
  for (const auto &[file, fields] : files) {
    const auto opened = openDataset(dataIn(file), Split::Train);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    const Dataset &dataset = **opened;
    EXPECT_EQ(dataset.fields().size(), fields) << file;
    EXPECT_EQ(dataset.size(), 6u);
    EXPECT_FALSE(isInMemory(dataset));
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 4; ++seed)
      threads.emplace_back([&, seed] {
        std::mt19937 draws(seed);
        for (unsigned i = 0; i < 300; ++i) {
          const size_t field = draws() % dataset.fields().size();
          const uint64_t index = draws() % dataset.size();
          const DatasetField &found = dataset.fields()[field];
          EXPECT_EQ(bytesIn(dataset, index, field),
                    bytesIn(*expected, index, fieldLike(found, *expected)))
              << found.file << " " << index;
        }
      });
    for (std::thread &thread : threads)
      thread.join();
  }
}

std::string namesIn(const Dataset &dataset) {
  std::string names;
  for (const DatasetField &field : dataset.fields())
    names += field.name + " ";
  return names + std::to_string(dataset.size());
}

TEST(Hdf5, DividesSplits) {
  const EntryInfo reader = entryWith({inputOf("x", DLC_F32, {2})}, 2);
  auto expectSplit = [&](const char *file, Split split, const char *names, const char *ignored) {
    const auto dataset = *openDataset(dataIn(file), split, &reader);
    EXPECT_EQ(namesIn(*dataset), names) << file;
    std::string left;
    for (const std::string &name : dataset->arrayNames()->ignored)
      left += name + " ";
    EXPECT_EQ(left, ignored) << file;
  };
  for (const char *file : {"splits.h5", "dotted.h5"})
    EXPECT_TRUE(hasSplit(dataIn(file), Split::Test));
  EXPECT_FALSE(hasSplit(dataIn("links.h5"), Split::Test));
  expectSplit("splits.h5", Split::Train, "x 4", "mean ");
  expectSplit("splits.h5", Split::Test, "x 2", "");
  expectSplit("dotted.h5", Split::Train, "x 3", "deep/er/x ");
  expectSplit("dotted.h5", Split::Test, "x 2", "");
  // A group in itself ends; other names and other files are left.
  const auto all = openDataset(dataIn("links.h5"), Split::Train);
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ((*all)->arrayNames()->all, std::vector<std::string>{"g/x"});
}

TEST(Hdf5, NamesWhatIsNotRead) {
  const std::string file = inputFile("refused.h5");
  const std::string types = ", expected one of f4, f8, f2, i1, i2, i4, i8, u1, u2, u4, b1 in "
                            "either byte order";
  auto dataset = [&](const char *name) { return file + ": dataset '" + name + "': "; };
  const std::pair<std::vector<const char *>, std::string> cases[] = {
      {{"texts"}, file + ": elements of dataset 'texts' are texts" + types},
      {{"records"}, file + ": elements of dataset 'records' are records" + types},
      {{"u8"}, file + ": elements of dataset 'u8' are u8" + types},
      {{"long"}, file + ": elements of dataset 'long' are no plain numbers" + types},
      {{"one"}, file + ": 'one' is one number, expected one a sample"},
      {{"none"}, file + ": there are no samples in it"},
      {{"good", "fewer"}, file + ": 'good' has 4 samples, 'fewer' 3"},
      {{"lzf"},
       dataset("lzf") + "is packed by 'lzf', expected gzip, shuffle and fletcher32; h5repack -f "
                        "GZIP=1 makes it so"},
      {{"begun"},
       dataset("begun") +
           "chunk [2, 0] is not there: it was never written, or its list is damaged"},
      {{"never"}, dataset("never") + "was never written"},
      {{"virtual"}, dataset("virtual") + "lies in other files"},
      {{"outside"}, dataset("outside") + "lies in other files"}};
  for (const auto &[names, message] : cases) {
    std::vector<ValueInfo> inputs;
    for (const char *name : names)
      inputs.push_back(inputOf(name, DLC_F32, {2}));
    const EntryInfo reader = entryWith(std::move(inputs), 2);
    const auto opened = openDataset(dataIn("refused.h5"), Split::Train, &reader);
    ASSERT_FALSE(opened.ok()) << names[0];
    EXPECT_EQ(opened.status().message(), message);
  }
  EXPECT_EQ(openingOf("hdf5:/no/where.h5"), "/no/where.h5: cannot open: No such file or directory");
  EXPECT_EQ(openingOf(dataIn("arrays.npz")),
            inputFile("arrays.npz") +
                ": is a zip archive of NumPy's savez (.npz), expected an HDF5 file");
  EXPECT_TRUE(openingOf(inputFile("links.h5"))
                  .ends_with("did you mean 'hdf5:" + inputFile("links.h5") + "'?"));
}

/// "read", or what was wrong, of all samples.
std::string readingOf(const std::string &path) {
  const auto opened = openDataset("hdf5:" + path, Split::Train);
  if (!opened.ok())
    return std::string(opened.status().message());
  std::string said = "read";
  std::vector<std::byte> room;
  // A damaged shape may claim any number.
  for (uint64_t index = 0; index < std::min<uint64_t>((*opened)->size(), 20); ++index)
    for (size_t field = 0; field < (*opened)->fields().size(); ++field)
      if (sampleBytes((*opened)->fields()[field]) < 1 << 20)
        if (const auto at = sampleAt(**opened, index, field, room); !at.ok())
          said = at.status().message();
  return said;
}

TEST(Hdf5, NamesDamagedChunks) {
  TemporaryFolder folder;
  const std::string path = folder.path("x.h5"), good = readText(inputFile("latest.h5"));
  // What deflate begins a chunk with, and Fletcher's sum ends one with.
  std::set<std::string> said;
  for (size_t at = 0; at < good.size(); at += 41) {
    std::string text = good;
    text[at] = static_cast<char>(text[at] ^ 0x55);
    writeText(path, text);
    const std::string reading = readingOf(path);
    for (std::string_view end : {"cannot be inflated", "has a wrong checksum"})
      if (reading.ends_with(end) && reading.starts_with(path + ": dataset '") &&
          reading.find("': chunk ") != reading.npos)
        said.emplace(end);
  }
  EXPECT_EQ(said.size(), 2u);
}

// Whatever stands in it, it is read or refused.
TEST(Hdf5, BearsAnyDamage) {
  TemporaryFolder folder;
  const std::string path = folder.path("x.h5");
  std::mt19937_64 draws(1);
  unsigned refused = 0;
  for (const char *file : {"earliest.h5", "latest.h5", "splits.h5"}) {
    const std::string good = readText(inputFile(file));
    for (size_t i = 0; i < 120; ++i) {
      std::string text = good;
      if (i % 10 == 0)
        text.resize(draws() % text.size());
      else
        for (uint64_t bytes = 1 + draws() % 8; bytes > 0; --bytes)
          text[draws() % text.size()] = static_cast<char>(draws());
      writeText(path, text);
      const std::string said = readingOf(path);
      refused += said != "read";
      EXPECT_TRUE(said == "read" || said.starts_with(path + ": ")) << said;
    }
  }
  EXPECT_GT(refused, 100u);
}

TEST(Hdf5, LeavesTheEndToAChild) {
  using Said = Result<std::string>;
  const std::string bytes("a\n\0\n", 4);
  const auto sent = tryInChild([&](const SayPlace &say) -> Said {
    say("x");
    return bytes;
  });
  ASSERT_TRUE(sent.ok()) << sent.status().message();
  EXPECT_EQ(*sent, bytes);
  const Said refused = tryInChild([](const SayPlace &say) -> Said {
    say("x");
    return unsupported("too\nlong");
  });
  EXPECT_EQ(refused.status().code(), StatusCode::Unsupported);
  EXPECT_EQ(refused.status().message(), "too\\x0along");
  for (int signal : {SIGSEGV, SIGABRT, SIGKILL}) {
    const Said ended = tryInChild([&](const SayPlace &say) -> Said {
      say("x.h5: dataset 'a'");
      say("x.h5: dataset 'b'");
      std::raise(signal);
      return std::string();
    });
    EXPECT_EQ(ended.status().code(), StatusCode::Damaged);
    EXPECT_EQ(ended.status().message(),
              "x.h5: dataset 'b': is damaged: libhdf5 comes to no end of it");
  }
}

} // namespace
