// safetensors files: what is written is read, what is damaged is refused.
#include "dlc/checkpoint.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Data/RenameRules.h"
#include "runtime/Data/Safetensors.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <clocale>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <locale>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

/// A file of this header and so many bytes of data.
std::vector<std::byte> fileOf(const std::string &header, size_t data) {
  std::vector<std::byte> content(8 + header.size() + data);
  const uint64_t size = header.size();
  std::memcpy(content.data(), &size, 8);
  std::memcpy(content.data() + 8, header.data(), header.size());
  return content;
}

std::string messageFor(const TemporaryFolder &folder, const std::vector<std::byte> &content) {
  const std::string path = folder.path("x.safetensors");
  writeFile(path, content);
  auto file = SafetensorsFile::open(path);
  if (file.ok())
    return "opened";
  const std::string message(file.status().message());
  EXPECT_TRUE(message.starts_with(path + ": ")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  return message.substr(path.size() + 2);
}

TEST(Safetensors, WritesWhatItReads) {
  TemporaryFolder folder;
  const std::string path = folder.path("t.safetensors");
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  const int32_t b = 7;
  auto writer = SafetensorsWriter::create(
      path, {{"a", DLC_F32, {2, 3}, 0, 0}, {"b.c", DLC_I32, {}, 0, 0}, {"none", DLC_U8, {0}, 0, 0}},
      {{"key", "value"}});
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  ASSERT_TRUE(writer->append(std::as_bytes(std::span(a))).ok());
  ASSERT_TRUE(writer->append(std::as_bytes(std::span(&b, 1))).ok());
  EXPECT_FALSE(std::filesystem::exists(path)); // not before it is complete
  ASSERT_TRUE(writer->commit().ok());
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->metadata(), (Metadata{{"key", "value"}}));
  EXPECT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->find("a")->typeText(), "f32[2, 3]");
  std::vector<float> back(6);
  ASSERT_TRUE(file->read(*file->find("a"), std::as_writable_bytes(std::span(back))).ok());
  EXPECT_EQ(back, a);
  EXPECT_EQ(file->find("c"), nullptr);
}

// Tensors without elements lie where others begin, and stay in their order all the same: so many
// that no sort keeps it by chance.
TEST(Safetensors, WritesManyEmptyTensors) {
  TemporaryFolder folder;
  std::vector<StoredTensor> tensors;
  for (int i = 0; i < 100; ++i)
    tensors.push_back({"empty" + std::to_string(i), DLC_F32, {uint64_t(i), 0}, 0, 0});
  auto writer = SafetensorsWriter::create(folder.path("t"), tensors, {});
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  ASSERT_TRUE(writer->commit().ok());
  auto file = SafetensorsFile::open(folder.path("t"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ(file->tensors().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    EXPECT_EQ(file->tensors()[i].name, tensors[i].name);
}

// A writer that is given up leaves no file, temporary ones included.
TEST(Safetensors, LeavesNothingHalfWritten) {
  TemporaryFolder folder;
  {
    auto writer = SafetensorsWriter::create(folder.path("t"), {{"a", DLC_F32, {2}, 0, 0}}, {});
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.root()));
  auto nowhere = SafetensorsWriter::create(folder.path("no/t"), {}, {});
  EXPECT_NE(std::string(nowhere.status().message()).find("cannot write: folder "),
            std::string::npos);
}

TEST(Safetensors, ChecksTheHeader) {
  TemporaryFolder folder;
  auto header = [&](const std::string &text, size_t data = 8) {
    std::string message = messageFor(folder, fileOf(text, data));
    const std::string first = "damaged safetensors file: ";
    return message.starts_with(first) ? message.substr(first.size()) : message;
  };
  EXPECT_EQ(messageFor(folder, {}), "no safetensors file: 0 bytes");
  auto content = fileOf("{}", 0);
  content[3] = std::byte(9);
  EXPECT_EQ(messageFor(folder, content),
            "damaged safetensors file: a header of 150994946 bytes in a file of 10");
  EXPECT_EQ(header(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})"), "opened");
  EXPECT_EQ(header("[]"), "the header is no JSON object");
  EXPECT_EQ(header("{"), "the header is no JSON object");
  EXPECT_EQ(header(R"({"a": 1})"), "tensor 'a': expected dtype, shape and data_offsets");
  EXPECT_EQ(header(R"({"a": {"dtype": "F4", "shape": [2], "data_offsets": [0, 8]}})"),
            "tensor 'a': dtype \"F4\" is none of F32, F64, BF16, F16, I32, I64, U8, BOOL");
  EXPECT_EQ(header(R"({"a": {"dtype": "F32", "shape": [2.5], "data_offsets": [0, 8]}})"),
            "tensor 'a': 'shape' holds something else than whole numbers");
  EXPECT_EQ(header(R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 8]}})"),
            "tensor 'a': 'shape' holds something else than whole numbers");
  EXPECT_EQ(
      header(
          R"({"a": {"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 8]}})"),
      "tensor 'a': 'shape' has too many elements");
  EXPECT_EQ(header(R"({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}})"),
            "tensor 'a': has 8 bytes, f32[3] takes 12");
  EXPECT_EQ(header(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}})"),
            "tensor 'a': bytes [4, 12) of 8");
  EXPECT_EQ(header(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})", 9),
            "the tensors take 8 bytes, the file holds 9");
  EXPECT_EQ(header(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})"),
            "tensor 'a' begins at byte 4 of the data, expected 0");
  EXPECT_EQ(header(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                       "b": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})"),
            "tensor 'b' begins at byte 4 of the data, expected 8");
  EXPECT_EQ(header(R"({"__metadata__": {"a": 1}})", 0),
            "'__metadata__' holds something else than text");
}

// Depth and length of what a file says do not matter: messages quote a little of it.
TEST(Safetensors, BoundsWhatItQuotes) {
  TemporaryFolder folder;
  auto header = [&](const std::string &text) {
    return messageFor(folder, fileOf(text, 8)).substr(std::strlen("damaged safetensors file: "));
  };
  const std::string deep(1000000, '['), longName(1000000, 'n'),
      good = R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 8]})";
  EXPECT_EQ(header(deep), "the header is no JSON object");
  EXPECT_EQ(header("{\"a\": " + deep), "tensor 'a': expected dtype, shape and data_offsets");
  EXPECT_EQ(header("{\"a\": {\"dtype\": " + deep), "tensor 'a': 'dtype' is no text");
  EXPECT_EQ(header("{\"a\": {\"shape\": " + deep),
            "tensor 'a': 'shape' holds something else than whole numbers");
  EXPECT_EQ(header("{\"__metadata__\": {\"shape\": " + deep),
            "'__metadata__' holds something else than text");
  EXPECT_EQ(header("{\"__metadata__\": 1}"), "'__metadata__' is no object");
  EXPECT_EQ(header("{\"" + longName + "\": 1}"),
            "tensor '" + longName.substr(0, 100) + "...': expected dtype, shape and data_offsets");
  EXPECT_EQ(header(R"({"a": {"dtype": ")" + longName + "\"}}"),
            "tensor 'a': dtype \"" + longName.substr(0, 100) +
                "...\" is none of F32, F64, BF16, F16, I32, I64, U8, BOOL");
  EXPECT_EQ(header(R"({"a": {"dtype": "F32", "shape": [1,1,1,1,1,1,1,1,1]}})"),
            "tensor 'a': 'shape' is no list of at most 8 numbers");
  EXPECT_EQ(header(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 8]}})"),
            "tensor 'a': 'data_offsets' is no pair of whole numbers");
  EXPECT_EQ(header(R"({"a": {"dtype": "F32", "shape": [1]}})"),
            "tensor 'a': 'data_offsets' is missing");
  EXPECT_EQ(header("{\"a\": " + good + ", \"a\": " + good + "}"), "tensor 'a' is there twice");
}

struct Ready {
  TemporaryFolder folder;
  std::shared_ptr<const Module> module = Module::load(writeSmallModule(folder)).take();
  std::shared_ptr<State> state(uint64_t seed) {
    return State::create(module, openCpu({.threads = 1}).take(), seed).take();
  }
  /// The file's bytes after saving.
  std::vector<std::byte> save(const State &state) {
    EXPECT_TRUE(saveVariables(state, folder.path("c.safetensors"), {}).ok());
    return readFile(folder.path("c.safetensors"));
  }
};

TEST(Checkpoint, RestoresEverything) {
  Ready ready;
  auto first = ready.state(1), second = ready.state(2);
  const auto expected = ready.save(*first);
  ASSERT_TRUE(
      loadVariables(*second, ready.folder.path("c.safetensors"), LoadMode::Everything).ok());
  EXPECT_EQ(ready.save(*second), expected);
}

/// Groups digits after each one, so that even a short number is written otherwise.
struct Grouping : std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\1"; }
};

// A host program's locale, of C++ and of C, changes no byte of a checkpoint.
TEST(Checkpoint, IsTheSameInEveryLocale) {
  Ready ready;
  auto state = ready.state(3);
  const std::string plain = ready.folder.path("plain"), grouped = ready.folder.path("grouped");
  ASSERT_TRUE(saveVariables(*state, plain, {{"seed", "3"}}).ok());
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Grouping));
  const std::string numeric = std::setlocale(LC_NUMERIC, nullptr);
  for (const char *name : {"C", "de_DE.UTF-8", "fr_FR.UTF-8"}) {
    std::setlocale(LC_NUMERIC, name); // Where there is none of that name it stays as it is.
    const Status saved = saveVariables(*state, grouped, {{"seed", "3"}});
    EXPECT_TRUE(saved.ok()) << saved.message();
    EXPECT_TRUE(loadVariables(*state, grouped, LoadMode::Everything).ok());
    EXPECT_EQ(readFile(grouped), readFile(plain));
  }
  std::setlocale(LC_NUMERIC, numeric.c_str());
  std::locale::global(before);
}

// The header is read back before there is a file: one that a reader would take for another replaces
// nothing.
TEST(Safetensors, WritesNoHeaderThatReadsOtherwise) {
  TemporaryFolder folder;
  const std::string path = folder.path("t.safetensors");
  const std::vector<StoredTensor> tensors = {{"a", DLC_F32, {2, 3}, 0, 0}};
  EXPECT_EQ(SafetensorsWriter::create(path, tensors, {{"key", "\xff"}}).status().message(),
            path + ": the header to be written reads as another one");
  const auto name = SafetensorsWriter::create(path, {{"a\n", DLC_F32, {}, 0, 0}}, {});
  EXPECT_EQ(name.status().message(),
            path + ": the header to be written: a tensor's name is not printable UTF-8");
  EXPECT_FALSE(std::filesystem::exists(path));
}

// A program that trains saves how far it has come, and goes on from there.
TEST(Checkpoint, HoldsTheStep) {
  Ready ready;
  auto state = ready.state(3);
  state->setStep(1234567);
  const std::string path = ready.folder.path("c.safetensors");
  ASSERT_TRUE(saveVariables(*state, path, {}).ok());
  auto second = ready.state(3);
  ASSERT_TRUE(loadVariables(*second, path, LoadMode::Weights).ok());
  EXPECT_EQ(second->step(), 0u);
  ASSERT_TRUE(loadVariables(*second, path, LoadMode::Everything).ok());
  EXPECT_EQ(second->step(), 1234567u);
  ASSERT_TRUE(saveVariables(*state, path, {{"step", "8"}}).ok());
  ASSERT_TRUE(loadVariables(*second, path, LoadMode::Everything).ok());
  EXPECT_EQ(second->step(), 8u);
}

// A checkpoint whose bits changed is no checkpoint: each bit, in the data and in the header.
TEST(Checkpoint, SeesEveryFlippedBit) {
  Ready ready;
  auto state = ready.state(1);
  const std::string path = ready.folder.path("c.safetensors");
  ASSERT_TRUE(saveVariables(*state, path, {{"epoch", "12"}, {"step", "345"}}).ok());
  auto content = readFile(path);
  uint64_t header = 0;
  std::memcpy(&header, content.data(), 8);
  for (size_t bit = 0; bit < content.size() * 8; ++bit) {
    content[bit / 8] ^= std::byte(1u << bit % 8);
    writeFile(path, content);
    content[bit / 8] ^= std::byte(1u << bit % 8);
    auto loaded = loadVariables(*state, path, LoadMode::Everything);
    ASSERT_FALSE(loaded.ok()) << "bit " << bit % 8 << " of byte " << bit / 8;
    if (bit / 8 < 8 + header)
      continue;
    // What a tensor holds is reported with its name.
    const std::string message(loaded.status().message());
    ASSERT_TRUE(message.starts_with(path + ": tensor '")) << message;
    ASSERT_NE(message.find("' is damaged: its checksum is "), std::string::npos) << message;
  }
}

// Files of other programs have no checksums, and those that came before ours had.
TEST(Checkpoint, AcceptsFilesWithoutChecksums) {
  TemporaryFolder folder;
  const std::string path = folder.path("t");
  const std::vector<float> values = {1, 2};
  for (const std::string &checksum :
       {std::string(), checksumOf(std::as_bytes(std::span(values))), std::string(32, '0')}) {
    auto writer =
        SafetensorsWriter::create(path, {{"a", DLC_F32, {2}, 0, 0, checksum}}, {{"key", "value"}});
    ASSERT_TRUE(writer->append(std::as_bytes(std::span(values))).ok());
    ASSERT_TRUE(writer->commit().ok());
    auto file = SafetensorsFile::open(path);
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->metadata(), (Metadata{{"key", "value"}}));
    std::vector<float> back(2);
    Status read = file->read(*file->find("a"), std::as_writable_bytes(std::span(back)));
    EXPECT_EQ(read.message(), checksum != std::string(32, '0')
                                  ? ""
                                  : path + ": tensor 'a' is damaged: its checksum is " +
                                        checksumOf(std::as_bytes(std::span(values))) +
                                        ", expected " + checksum);
  }
}

// Numbers that are not finite are not written, in any type that can hold them.
TEST(Checkpoint, KeepsTheOldFileWhereANumberIsNotFinite) {
  Ready ready;
  auto state = ready.state(1);
  const auto good = ready.save(*state);
  std::vector<float> bias(4, 1);
  for (float bad : {INFINITY, -INFINITY, NAN}) {
    bias[2] = bad;
    ASSERT_TRUE(state->write(1, std::as_bytes(std::span(bias))).ok());
    Status status = saveVariables(*state, ready.folder.path("c.safetensors"), {});
    EXPECT_EQ(status.code(), StatusCode::Failed);
    EXPECT_EQ(status.message(), "the parameter 'linear1.bias' holds a number that is not finite");
    EXPECT_EQ(readFile(ready.folder.path("c.safetensors")), good);
  }
  for (auto [dtype, finite, infinite] : std::vector<std::tuple<dlc_dtype, uint64_t, uint64_t>>{
           {DLC_F64, 0x7fefffffffffffff, 0x7ff0000000000000},
           {DLC_BF16, 0x7f7f, 0xff80},
           {DLC_F16, 0x7bff, 0x7e00},
           {DLC_F32, 0xff7fffff, 0x7f800001}}) {
    const uint64_t numbers[] = {finite, infinite};
    auto bytes = std::as_bytes(std::span(numbers));
    EXPECT_TRUE(allFinite(dtype, bytes.first(dtypeSize(dtype))));
    EXPECT_FALSE(allFinite(dtype, bytes.subspan(8, dtypeSize(dtype))));
  }
  const uint64_t ones = ~uint64_t(0);
  EXPECT_TRUE(allFinite(DLC_I64, std::as_bytes(std::span(&ones, 1))));
}

// Another model's file is refused with both names, whatever its tensors are, unless it is asked
// for.
TEST(Checkpoint, RefusesAnotherModel) {
  Ready ready;
  auto state = ready.state(1);
  PlanBuilder plan = smallModel();
  plan.header.model = plan.text("Other");
  writeFile(ready.folder.path("other.so"), moduleWith(plan.blob()));
  auto other = State::create(Module::load(ready.folder.path("other.so")).take(),
                             openCpu({.threads = 1}).take(), 2)
                   .take();
  const std::string path = ready.folder.path("other.safetensors");
  ASSERT_TRUE(saveVariables(*other, path, {}).ok());
  const auto before = ready.save(*state);
  for (LoadMode mode : {LoadMode::Weights, LoadMode::Everything})
    EXPECT_EQ(loadVariables(*state, path, mode).status().message(),
              path + ": is of model 'Other', the module's is 'Small'");
  EXPECT_EQ(ready.save(*state), before);
  auto report = loadMatching(*state, path);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->taken, 2u);
  EXPECT_TRUE(report->missing.empty());
}

// Starting from what was learnt elsewhere: parameters by name, nothing else.
TEST(Checkpoint, TakesWhatMatches) {
  Ready ready;
  auto state = ready.state(1);
  const std::string path = ready.folder.path("w.safetensors");
  auto save = [&](const StoredTensor &tensor) {
    const std::vector<float> ones(64, 1);
    auto writer = SafetensorsWriter::create(path, {tensor, {"x", DLC_F32, {3}, 0, 0}}, {});
    const TensorType type{tensor.dtype, tensor.shape, {}};
    EXPECT_TRUE(writer->append(std::as_bytes(std::span(ones)).first(type.logicalBytes())).ok());
    EXPECT_TRUE(writer->append(std::as_bytes(std::span(ones)).first(12)).ok());
    EXPECT_TRUE(writer->commit().ok());
  };
  auto weights = [&] {
    std::vector<float> values(64);
    EXPECT_TRUE(state->read(0, std::as_writable_bytes(std::span(values))).ok());
    return values;
  };
  save({"linear1.weight", DLC_F32, {4, 16}, 0, 0});
  auto report = loadMatching(*state, path);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->taken, 1u);
  EXPECT_EQ(report->missing, (std::vector<std::string>{"linear1.bias"}));
  EXPECT_EQ(weights(), std::vector<float>(64, 1));
  save({"linear1.weight", DLC_F32, {16, 4}, 0, 0});
  EXPECT_EQ(loadMatching(*state, path).status().message(),
            path +
                ": tensor 'linear1.weight' is f32[16, 4], the model expects f32[4, 16]; give the "
                "layer another name=, then it begins anew");
}

// What does not belong to the model is an error, and nothing of the file has been taken then.
TEST(Checkpoint, RefusesWhatDoesNotFit) {
  Ready ready;
  auto state = ready.state(1);
  const auto before = ready.save(*state);
  auto message = [&](std::vector<StoredTensor> tensors, LoadMode mode) {
    const std::string path = ready.folder.path("other.safetensors");
    auto writer = SafetensorsWriter::create(path, tensors, {});
    for (const StoredTensor &tensor : tensors)
      EXPECT_TRUE(writer
                      ->append(std::vector<std::byte>(
                          TensorType{tensor.dtype, tensor.shape, {}}.logicalBytes()))
                      .ok());
    EXPECT_TRUE(writer->commit().ok());
    auto loaded = loadVariables(*state, path, mode);
    EXPECT_EQ(loaded.ok() || ready.save(*state) == before, true);
    return loaded.ok() ? std::string("loaded")
                       : std::string(loaded.status().message()).substr(path.size() + 2);
  };
  const StoredTensor weight{"linear1.weight", DLC_F32, {4, 16}, 0, 0},
      bias{"linear1.bias", DLC_F32, {4}, 0, 0};
  EXPECT_EQ(message({weight}, LoadMode::Parameters),
            "no tensor 'linear1.bias', the parameter f32[4]");
  EXPECT_EQ(message({weight, bias, {"x", DLC_F32, {1}, 0, 0}}, LoadMode::Parameters),
            "tensor 'x' is no variable of the model");
  EXPECT_EQ(message({weight, {"linear1.bias", DLC_F32, {5}, 0, 0}}, LoadMode::Parameters),
            "tensor 'linear1.bias' is f32[5], the model expects f32[4]");
  EXPECT_EQ(message({weight, {"linear1.bias", DLC_F64, {4}, 0, 0}}, LoadMode::Parameters),
            "tensor 'linear1.bias' is f64[4], the model expects f32[4]");
  EXPECT_EQ(message({weight, bias}, LoadMode::Everything),
            "no tensor 'linear1.weight.velocity', the slot f32[4, 16] of the model's optimizer; "
            "`initFrom` takes the weights only");
  EXPECT_EQ(message({weight, bias}, LoadMode::Parameters), "loaded");
}

/// The values of a variable of floats.
std::vector<float> valuesOf(const State &state, std::string_view name) {
  const Plan &plan = state.module()->plan();
  const VariableInfo *variable = plan.findVariable(name);
  std::vector<float> values(variable->type.elementCount());
  const auto index = static_cast<size_t>(variable - plan.variables.data());
  EXPECT_TRUE(state.read(index, std::as_writable_bytes(std::span(values))).ok());
  return values;
}

// Weights in 16 bits become the model's floats; to go on as before, they must be these.
TEST(Checkpoint, TakesWeightsOfOtherFloats) {
  Ready ready;
  auto state = ready.state(1);
  const std::string path = ready.folder.path("half.safetensors");
  const std::vector<StoredTensor> tensors{{"linear1.weight", DLC_BF16, {4, 16}, 0, 0},
                                          {"linear1.bias", DLC_F16, {4}, 0, 0}};
  const std::vector<uint16_t> weights(64, 0xc049); // -3.140625
  const std::vector<uint16_t> biases(4, 0x3555);   // 0.333251953125
  auto writer = SafetensorsWriter::create(path, tensors, {});
  EXPECT_TRUE(writer->append(std::as_bytes(std::span(weights))).ok());
  EXPECT_TRUE(writer->append(std::as_bytes(std::span(biases))).ok());
  EXPECT_TRUE(writer->commit().ok());
  EXPECT_EQ(describeConversion(state->module()->plan(), path).take(),
            "tensor 'linear1.weight' and 1 more are bf16 there, f32 in the module");
  const auto before = ready.save(*state);
  EXPECT_EQ(std::string(loadVariables(*state, path, LoadMode::Everything).status().message()),
            path + ": tensor 'linear1.weight' is bf16[4, 16], the model expects f32[4, 16]");
  EXPECT_EQ(ready.save(*state), before);
  EXPECT_TRUE(loadVariables(*state, path, LoadMode::Weights).ok());
  EXPECT_EQ(valuesOf(*state, "linear1.weight"), std::vector<float>(64, -3.140625f));
  EXPECT_EQ(valuesOf(*state, "linear1.bias"), std::vector<float>(4, 0.333251953125f));
}

// What a narrower type has no room for is an error that names the tensor.
TEST(Checkpoint, RefusesWeightsThatTheModelHasNoRoomFor) {
  TemporaryFolder folder;
  PlanBuilder plan = smallModel();
  plan.variables[1].type.dtype = DLC_F16;
  plan.variables[1].bytes = 8;
  writeFile(folder.path("half.so"), moduleWith(plan.blob()));
  auto module = Module::load(folder.path("half.so"));
  ASSERT_TRUE(module.ok()) << module.status().message();
  auto state = State::create(*module, openCpu({.threads = 1}).take(), 1).take();
  const std::string path = folder.path("w.safetensors");
  auto load = [&](float bias) {
    const std::vector<float> weights(64, 1), biases(4, bias);
    auto writer = SafetensorsWriter::create(
        path, {{"linear1.weight", DLC_F32, {4, 16}, 0, 0}, {"linear1.bias", DLC_F32, {4}, 0, 0}},
        {});
    EXPECT_TRUE(writer->append(std::as_bytes(std::span(weights))).ok());
    EXPECT_TRUE(writer->append(std::as_bytes(std::span(biases))).ok());
    EXPECT_TRUE(writer->commit().ok());
    return std::string(loadVariables(*state, path, LoadMode::Weights).status().message());
  };
  std::vector<uint16_t> bias(4);
  EXPECT_EQ(load(65519), ""); // the last one that is rounded down to 65504
  EXPECT_TRUE(state->read(1, std::as_writable_bytes(std::span(bias))).ok());
  EXPECT_EQ(bias, std::vector<uint16_t>(4, 0x7bff));
  EXPECT_EQ(load(65520), path + ": tensor 'linear1.bias' holds a number that f16 has no room for");
  EXPECT_EQ(load(std::numeric_limits<float>::infinity()), "");
}

// A slot that begins as a copy of its parameter, also of a loaded one without the slot.
TEST(Checkpoint, CopiesAParameterForASlotThatIsMissing) {
  TemporaryFolder folder;
  PlanBuilder plan = smallModel();
  plan.variables[2].initialiser = DLC_INIT_COPY;
  writeFile(folder.path("copy.so"), moduleWith(plan.blob()));
  auto module = Module::load(folder.path("copy.so")).take();
  auto state = State::create(module, openCpu({.threads = 1}).take(), 1).take();
  const std::string weight = "linear1.weight", slot = "linear1.weight.velocity";
  const std::vector<float> first = valuesOf(*state, weight);
  EXPECT_NE(first, std::vector<float>(64));
  EXPECT_EQ(valuesOf(*state, slot), first);
  EXPECT_EQ(valuesOf(*state, "linear1.bias.velocity"), std::vector<float>(4));

  const std::string path = folder.path("w.safetensors");
  const std::vector<float> weights(64, 2), slots(64, 3), biases(4, 1);
  auto save = [&](bool hasSlot) {
    std::vector<StoredTensor> tensors = {{weight, DLC_F32, {4, 16}, 0, 0},
                                         {"linear1.bias", DLC_F32, {4}, 0, 0}};
    if (hasSlot)
      tensors.push_back({slot, DLC_F32, {4, 16}, 0, 0});
    auto writer = SafetensorsWriter::create(path, tensors, {});
    EXPECT_TRUE(writer->append(std::as_bytes(std::span(weights))).ok());
    EXPECT_TRUE(writer->append(std::as_bytes(std::span(biases))).ok());
    if (hasSlot)
      EXPECT_TRUE(writer->append(std::as_bytes(std::span(slots))).ok());
    EXPECT_TRUE(writer->commit().ok());
  };
  for (LoadMode mode : {LoadMode::Weights, LoadMode::Parameters}) {
    save(/*hasSlot=*/true);
    EXPECT_TRUE(loadVariables(*state, path, mode).ok());
    EXPECT_EQ(valuesOf(*state, weight), weights);
    EXPECT_EQ(valuesOf(*state, slot), slots);
    save(/*hasSlot=*/false);
    EXPECT_TRUE(loadVariables(*state, path, mode).ok());
    EXPECT_EQ(valuesOf(*state, slot), weights);
  }
  // A reset takes the parameter as it is now; to go on as before, the slot must be there.
  EXPECT_TRUE(state->reset(DLC_ROLE_SLOT).ok());
  EXPECT_EQ(valuesOf(*state, slot), weights);
  EXPECT_EQ(std::string(loadVariables(*state, path, LoadMode::Everything).status().message()),
            path + ": no tensor 'linear1.weight.velocity', the slot f32[4, 16] of the model's "
                   "optimizer; `initFrom` takes the weights only");
}

/// A file of tensors filled with 0, 1, 2, ..., as dlc writes it if there is metadata.
void writeTensors(const std::string &path, const std::vector<StoredTensor> &tensors,
                  Metadata metadata = {}) {
  auto writer = SafetensorsWriter::create(path, tensors, std::move(metadata));
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  float next = 0;
  for (const StoredTensor &tensor : tensors) {
    const std::vector<float> values(TensorType{DLC_F32, tensor.shape, {}}.elementCount(), next++);
    ASSERT_TRUE(writer->append(std::as_bytes(std::span(values))).ok());
  }
  ASSERT_TRUE(writer->commit().ok());
}

/// The small model with a hash of its operations; `average`: the weight's slot is its average.
std::shared_ptr<State> stateWith(const TemporaryFolder &folder, double operations, bool average) {
  PlanBuilder plan = smallModel();
  plan.settings.push_back({plan.text("operations"), operations});
  if (average) {
    plan.variables[2].name = plan.text("linear1.weight.ema");
    plan.variables[2].initialiser = DLC_INIT_COPY;
  }
  writeFile(folder.path("m.so"), moduleWith(plan.blob()));
  return State::create(Module::load(folder.path("m.so")).take(), openCpu({.threads = 1}).take(), 1)
      .take();
}

const StoredTensor weight{"linear1.weight", DLC_F32, {4, 16}, 0, 0},
    bias{"linear1.bias", DLC_F32, {4}, 0, 0};

// What another optimizer, other entries and other sections have left in a checkpoint of dlc's has
// no part in evaluation and inference; a run that goes on needs its own.
TEST(Checkpoint, PassesOverWhatTrainingKeepsBesideWeights) {
  TemporaryFolder folder;
  auto state = stateWith(folder, 77, /*average=*/false);
  const std::string path = folder.path("c");
  const StoredTensor slot{"linear1.weight.gradient_average", DLC_F32, {4, 16}, 0, 0},
      otherSlot{"linear1.bias.velocity", DLC_F32, {7}, 0, 0},
      counter{"loss.weight_sum", DLC_F32, {}, 0, 0}, carried{"step.h", DLC_F32, {8, 2}, 0, 0};
  auto load = [&](const std::vector<StoredTensor> &tensors, const Metadata &metadata,
                  LoadMode mode) {
    writeTensors(path, tensors, metadata);
    auto loaded = loadVariables(*state, path, mode);
    const std::string message(loaded.status().message());
    return loaded.ok() ? "loaded" : message.substr(path.size() + 2);
  };
  const Metadata ours = {{"model", "Small"}, {"operations", "77"}}, before = {{"model", "Small"}},
                 changed = {{"model", "Small"}, {"operations", "78"}};
  const std::vector<StoredTensor> all = {weight, bias, slot, otherSlot, counter, carried};
  for (LoadMode mode : {LoadMode::Weights, LoadMode::Parameters}) {
    EXPECT_EQ(load(all, ours, mode), "loaded");
    EXPECT_EQ(valuesOf(*state, "linear1.bias"), std::vector<float>(4, 1));
    EXPECT_EQ(valuesOf(*state, "linear1.bias.velocity"), std::vector<float>(4));
    // Of files from before there were such hashes, slots are known by the names around theirs.
    EXPECT_EQ(load({weight, bias, slot}, before, mode), "loaded");
    EXPECT_EQ(load({weight, bias, counter}, before, mode),
              "tensor 'loss.weight_sum' is no variable of the model");
    // Other programs keep nothing beside weights.
    EXPECT_EQ(load({weight, bias, slot}, {}, mode),
              "tensor 'linear1.weight.gradient_average' is no variable of the model");
    EXPECT_EQ(load({weight, bias, otherSlot}, {}, mode),
              "tensor 'linear1.bias.velocity' is f32[7], the model expects f32[4]");
    // Weights must be all there, and of their shapes.
    EXPECT_EQ(load({weight, slot}, ours, mode), "no tensor 'linear1.bias', the parameter f32[4]");
    EXPECT_EQ(load({weight, {"linear1.bias", DLC_F32, {5}, 0, 0}}, ours, mode),
              "tensor 'linear1.bias' is f32[5], the model expects f32[4]");
  }
  EXPECT_EQ(
      load({weight, bias, slot}, changed, LoadMode::Weights),
      "is of another model 'Small': its tensors are the same, the operations on them are not");
  EXPECT_EQ(load({weight, bias, carried}, changed, LoadMode::Weights),
            "tensor 'step.h' is no variable of the model");
  EXPECT_EQ(load(all, ours, LoadMode::Everything),
            "tensor 'linear1.weight.gradient_average' is a slot of another optimizer than the "
            "model's; `initFrom` takes the weights only");
  EXPECT_EQ(load({weight, bias}, ours, LoadMode::Everything),
            "no tensor 'linear1.weight.velocity', the slot f32[4, 16] of the model's optimizer; "
            "`initFrom` takes the weights only");
  writeTensors(path, all, changed);
  auto report = loadMatching(*state, path);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->taken, 2u);
  EXPECT_TRUE(report->unused.empty());
}

// A model that keeps no averages takes those of a checkpoint in the parameters' place, to evaluate
// and infer as the model that trained them does; one that keeps them has both; to start from
// weights is to start from the weights.
TEST(Checkpoint, TakesAverages) {
  TemporaryFolder folder;
  const StoredTensor average{"linear1.weight.ema", DLC_F32, {4, 16}, 0, 0};
  const Metadata ours = {{"model", "Small"}};
  const std::string path = folder.path("c"), name = "linear1.weight", ema = "linear1.weight.ema";
  const std::vector<float> parameter(64, 0), averages(64, 2);
  auto without = stateWith(folder, 77, /*average=*/false);
  auto with = stateWith(folder, 77, /*average=*/true);
  EXPECT_FALSE(keepsAverages(without->module()->plan()));
  EXPECT_TRUE(keepsAverages(with->module()->plan()));
  auto load = [&](State &state, LoadMode mode) {
    auto loaded = loadVariables(state, path, mode);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(valuesOf(state, "linear1.bias"), std::vector<float>(4, 1));
    return valuesOf(state, name);
  };
  writeTensors(path, {weight, bias, average}, ours);
  EXPECT_TRUE(hasAverages(without->module()->plan(), path).take());
  EXPECT_EQ(load(*without, LoadMode::Weights), averages);
  EXPECT_EQ(load(*without, LoadMode::Parameters), parameter);
  EXPECT_EQ(load(*with, LoadMode::Weights), parameter);
  EXPECT_EQ(valuesOf(*with, ema), averages);
  ASSERT_TRUE(loadMatching(*without, path).ok() && loadMatching(*with, path).ok());
  EXPECT_EQ(valuesOf(*without, name), parameter);
  EXPECT_EQ(valuesOf(*with, ema), parameter);

  // From a file without averages they begin as the parameters are.
  writeTensors(path, {weight, bias}, ours);
  EXPECT_FALSE(hasAverages(with->module()->plan(), path).take());
  EXPECT_EQ(load(*with, LoadMode::Weights), parameter);
  EXPECT_EQ(valuesOf(*with, ema), parameter);
  // Of another program a tensor of this name is one that the model has not.
  writeTensors(path, {weight, bias, average});
  EXPECT_FALSE(hasAverages(without->module()->plan(), path).take());
  EXPECT_FALSE(loadVariables(*without, path, LoadMode::Weights).ok());
}

// What GNU's `sed -E s/.../.../g` makes of them.
TEST(RenameRules, DoAsSed) {
  const struct {
    const char *name, *rule, *expected;
  } cases[] = {
      {"abc", "b*=x", "xaxcx"},       {"abbc", "b*=x", "xaxcx"},
      {"abab", "ab=<&>", "<ab><ab>"}, {"model.0.weight", R"(([0-9]+)=\1\1)", "model.00.weight"},
      {"aaa", "a{2}=b", "ba"},        {"aXb", "x*$=!", "aXb!"},
      {"hello", "^h|o$=", "ell"},     {"a.b", R"(\.=\&)", "a&b"},
      {"abab", "^a=x", "xbab"}};
  for (const auto &[name, rule, expected] : cases) {
    const auto rules = renameRules({rule});
    ASSERT_TRUE(rules.ok()) << rule;
    EXPECT_EQ(renamed(name, *rules), expected) << rule;
  }
}

// Names of the file become the model's by rules, one after the other.
TEST(Checkpoint, RenamesTensors) {
  Ready ready;
  auto state = ready.state(1);
  const std::string path = ready.folder.path("w");
  writeTensors(path, {{"model.head.bias", DLC_F32, {4}, 0, 0},
                      {"model.head.gamma", DLC_F32, {4, 16}, 0, 0},
                      {"old.weight", DLC_F32, {1}, 0, 0}});
  auto report =
      loadMatching(*state, path, {R"(^model\.(.*)=\1)", "head=linear1", R"(\.gamma$=.weight)"});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->taken, 2u);
  EXPECT_EQ(report->unused, std::vector<std::string>{"old.weight"});
  auto said = [&](const std::string &rule) {
    return std::string(loadMatching(*state, path, {rule}).status().message());
  };
  EXPECT_EQ(said("head"), "`rename`: expected REGEX=REPLACEMENT, found 'head'");
  EXPECT_EQ(said("=head"), "`rename`: expected REGEX=REPLACEMENT, found '=head'");
  EXPECT_EQ(said("(=head"), "`rename`: '(' is no regular expression");
  EXPECT_EQ(said("model.*=x"),
            path + ": 'model.head.bias' and 'model.head.gamma' are both renamed to 'x'");
  EXPECT_TRUE(said("none=x").starts_with(path + ": none of its tensors is a parameter"));
}

// Weights alone, averages in the place of what they are of, whether the model keeps them or not;
// what cannot be written, or is no checkpoint of the model, is said.
TEST(Checkpoint, ExportsWeights) {
  TemporaryFolder folder;
  const std::string path = folder.path("c"), out = folder.path("out");
  const StoredTensor average{"linear1.weight.ema", DLC_F32, {4, 16}, 0, 0};
  const StoredTensor slot{"linear1.weight.velocity", DLC_F32, {4, 16}, 0, 0};
  writeTensors(path, {weight, bias, average, slot}, {{"model", "Small"}, {"step", "7"}});
  for (const bool keeps : {false, true}) {
    auto state = stateWith(folder, 77, keeps);
    const Module &module = *state->module();
    Status exported = exportWeights(module, path, out);
    ASSERT_TRUE(exported.ok()) << exported.message();
    auto file = SafetensorsFile::open(out);
    ASSERT_TRUE(file.ok()) << file.status().message();
    ASSERT_EQ(file->tensors().size(), 2u);
    EXPECT_FALSE(file->metadata().contains("step"));
    EXPECT_FALSE(file->find("linear1.bias")->checksum.empty());
    std::vector<float> values(64);
    const StoredTensor *stored = file->find("linear1.weight");
    ASSERT_TRUE(file->read(*stored, std::as_writable_bytes(std::span(values))).ok());
    EXPECT_EQ(values, std::vector<float>(64, 2));
    ASSERT_TRUE(loadVariables(*state, out, LoadMode::Weights).ok());
    EXPECT_EQ(valuesOf(*state, "linear1.weight"), std::vector<float>(64, 2));
    EXPECT_EQ(exportWeights(module, path, path).message(),
              path + ": is an input as well; name another file for the output");
    EXPECT_EQ(exportWeights(module, path, module.path()).message(),
              module.path() + ": is an input as well; name another file for the output");
    writeTensors(folder.path("part"), {weight, slot}, {{"model", "Small"}});
    EXPECT_EQ(exportWeights(module, folder.path("part"), out).message(),
              folder.path("part") + ": no tensor 'linear1.bias', the parameter f32[4]");
  }
}

// Means are of f64 and rounded once; of equal files they are what each has, and averages that the
// model keeps take the parameters' places in all files or in none.
TEST(Checkpoint, ExportsMeans) {
  TemporaryFolder folder;
  const std::string out = folder.path("out");
  const auto first = stateWith(folder, 77, false);
  const Module &module = *first->module();
  std::vector<std::string> paths;
  std::vector<std::vector<float>> weights;
  for (const char *name : {"a", "b", "c"}) {
    paths.push_back(folder.path(name));
    std::vector<float> &own = weights.emplace_back(64);
    for (size_t i = 0; i < own.size(); ++i)
      own[i] = std::sin(static_cast<float>(i + 100 * paths.size()));
    ASSERT_TRUE(first->write(0, std::as_bytes(std::span(own))).ok());
    ASSERT_TRUE(saveVariables(*first, paths.back(), {}).ok());
  }
  const Status exported = exportAverage(module, paths, out);
  ASSERT_TRUE(exported.ok()) << exported.message();
  ASSERT_TRUE(loadVariables(*first, out, LoadMode::Weights).ok());
  std::vector<float> mean(64);
  for (size_t i = 0; i < mean.size(); ++i)
    mean[i] = static_cast<float>((double(weights[0][i]) + weights[1][i] + weights[2][i]) / 3);
  EXPECT_EQ(valuesOf(*first, "linear1.weight"), mean);
  ASSERT_TRUE(exportWeights(module, paths[1], folder.path("one")).ok());
  ASSERT_TRUE(exportAverage(module, {paths[1], paths[1], paths[1]}, out).ok());
  EXPECT_EQ(readFile(out), readFile(folder.path("one")));

  const StoredTensor average{"linear1.weight.ema", DLC_F32, {4, 16}, 0, 0};
  writeTensors(folder.path("averaged"), {weight, bias, average}, {{"model", "Small"}});
  writeTensors(folder.path("plain"), {weight, bias}, {{"model", "Small"}});
  for (const auto &[one, other] : {std::pair("averaged", "plain"), std::pair("plain", "averaged")})
    EXPECT_EQ(exportAverage(module, {folder.path(one), folder.path(other)}, out).message(),
              folder.path("plain") + ": has no average (ema) of 'linear1.weight', as " +
                  folder.path("averaged") + " has");
  writeTensors(folder.path("part"), {weight}, {{"model", "Small"}});
  EXPECT_EQ(exportAverage(module, {paths[0], folder.path("part")}, out).message(),
            folder.path("part") + ": no tensor 'linear1.bias', the parameter f32[4]");
  EXPECT_EQ(exportAverage(module, {paths[0], paths[1]}, paths[1]).message(),
            paths[1] + ": is an input as well; name another file for the output");
  EXPECT_EQ(exportAverage(module, {}, out).message(), "there is no checkpoint to export");
}

// Where no name is the same, names of both sides are shown: of one tensor, if one is like the
// other.
TEST(Checkpoint, ShowsNamesOfBothSides) {
  Ready ready;
  auto state = ready.state(1);
  const std::string path = ready.folder.path("w");
  auto messages = [&](const std::string &before, const std::string &after) {
    writeTensors(path, {{before + "linear1.bias" + after, DLC_F32, {4}, 0, 0},
                        {before + "linear1.weight" + after, DLC_F32, {4, 16}, 0, 0}});
    const std::string matching(loadMatching(*state, path).status().message());
    EXPECT_EQ(loadVariables(*state, path, LoadMode::Weights).status().message(), matching);
    const std::string begin = path + ": none of its tensors is a parameter of the model: ";
    EXPECT_TRUE(matching.starts_with(begin)) << matching;
    return matching.substr(begin.size());
  };
  EXPECT_EQ(messages("module.", ""),
            "it has 'module.linear1.weight', the model 'linear1.weight'; all its names begin with "
            "'module.', as DistributedDataParallel's do: save net.module.state_dict()");
  EXPECT_EQ(messages("net.features.", ""), "it has 'net.features.linear1.weight', the model "
                                           "'linear1.weight'; all its names begin with "
                                           "'net.features.'");
  EXPECT_EQ(messages("", ".data"), "it has 'linear1.bias.data', the model 'linear1.weight'");
  writeTensors(path, {{"weight", DLC_F32, {4, 16}, 0, 0}});
  EXPECT_EQ(std::string(loadMatching(*state, path).status().message()).substr(path.size() + 2),
            "none of its tensors is a parameter of the model: it has 'weight', the model "
            "'linear1.weight'");
}

// A file of another kind is called by its name.
TEST(Safetensors, NamesFilesOfOtherKinds) {
  TemporaryFolder folder;
  const std::string text = "model Net { this is no checkpoint }";
  const auto bytes = std::as_bytes(std::span(text));
  EXPECT_EQ(messageFor(folder, {bytes.begin(), bytes.end()}),
            "is text, expected a safetensors file: dlc-run train and safetensors.torch.save_file "
            "write them");
  EXPECT_EQ(messageFor(folder, {bytes.begin(), bytes.begin() + 5}),
            "is text, expected a safetensors file: dlc-run train and safetensors.torch.save_file "
            "write them");
}

} // namespace
