// The small model's plan, its module file and its data.
#include "test/lib/SmallModel/SmallModel.h"
#include "runtime/Core/ModuleFile.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <unistd.h>

namespace dlc::test {

static constexpr uint64_t features = 16, classes = 4, batch = 8;

namespace {

/// Numbers of what the entries share.
struct Shared {
  uint32_t weight, bias, weightVelocity, biasVelocity, applied;
  uint32_t rate, step, ranksScale;
  uint32_t logits, crossEntropy, sumSamples, weightGradient, update, count, scale;
};

Shared addShared(PlanBuilder &plan) {
  Shared s = {};
  plan.header.model = plan.text("Small");
  plan.header.documentation = plan.text("Softmax regression on 4x4 images.");
  plan.header.report = plan.text(
      R"({"entries": [{"name": "train_step", "live_bytes": 640}],)"
      R"( "layers": [{"name": "linear1", "shape": "f32[8, 4]", "parameters": 68, "flops": 1024}]})");
  const dlc_type weight = PlanBuilder::type(DLC_F32, {classes, features}),
                 bias = PlanBuilder::type(DLC_F32, {classes});
  s.weight =
      plan.variable("linear1.weight", weight, DLC_ROLE_PARAMETER, DLC_INIT_UNIFORM, -0.25, 0.25);
  s.bias = plan.variable("linear1.bias", bias, DLC_ROLE_PARAMETER, DLC_INIT_CONSTANT, 0, 0);
  s.weightVelocity = plan.variable("linear1.weight.velocity", weight, DLC_ROLE_SLOT,
                                   DLC_INIT_CONSTANT, 0, 0, s.weight);
  s.biasVelocity =
      plan.variable("linear1.bias.velocity", bias, DLC_ROLE_SLOT, DLC_INIT_CONSTANT, 0, 0, s.bias);
  s.applied = plan.variable("applied", PlanBuilder::type(DLC_I32, {}), DLC_ROLE_COUNTER,
                            DLC_INIT_CONSTANT, 0, 0);
  s.rate = plan.scalar("optimizer.learning_rate", 0.1);
  s.step = plan.scalar("step", 0);
  s.logits = plan.kernel("logits", 0, 4, 2, features * sizeof(float));
  s.crossEntropy = plan.kernel("cross_entropy", 1, 5, 2);
  s.sumSamples = plan.kernel("sum_samples", 2, 6, 2);
  s.weightGradient = plan.kernel("weight_gradient", 3, 4, 3);
  s.update = plan.kernel("update", 4, 5, 2);
  s.count = plan.kernel("count", 5, 1, 0);
  plan.settings.push_back({plan.text("epochs"), 3});
  return s;
}

/// Forward pass and loss of a batch; returns the gradient by the logits.
dlc_argument addLoss(PlanBuilder &plan, const Shared &s, bool counts) {
  const uint64_t sample = sizeof(float);
  const uint32_t image = plan.input("image", PlanBuilder::type(DLC_F32, {batch, 1, 4, 4}));
  const uint32_t label = plan.input("label", PlanBuilder::type(DLC_I32, {batch}));
  plan.values.back().classes = classes;
  const uint32_t valid =
      counts ? plan.input("valid", PlanBuilder::type(DLC_I32, {}), DLC_NONE) : label;
  if (counts)
    plan.entries.back().valid_input = valid;
  const dlc_argument logits = plan.arena(batch * classes * sample),
                     gradient = plan.arena(batch * classes * sample);
  const dlc_argument loss = plan.arena(batch * sample), right = plan.arena(batch * sample);
  const dlc_argument losses = plan.arena(sample), rights = plan.arena(sample),
                     count = plan.arena(sample);
  plan.launch(
      "linear1/forward", s.logits, batch,
      {plan.ofInput(image), plan.ofVariable(s.weight), plan.ofVariable(s.bias), writing(logits)},
      {features, classes});
  plan.launch("loss/forward", s.crossEntropy, batch,
              {logits, plan.ofInput(label), writing(loss), writing(right), writing(gradient)},
              {batch, classes});
  plan.launch("loss/sum", s.sumSamples, 1,
              {loss, right, plan.ofInput(valid), writing(losses), writing(rights), writing(count)},
              {batch, counts});
  plan.output("output", PlanBuilder::type(DLC_F32, {batch, classes}), DLC_VALUE_RESULT, logits);
  const dlc_type scalar = PlanBuilder::type(DLC_F32, {});
  const uint32_t lossSum = plan.output("loss.sum", scalar, DLC_VALUE_ACCUMULATOR, losses);
  const uint32_t rightSum = plan.output("accuracy.sum", scalar, DLC_VALUE_ACCUMULATOR, rights);
  const uint32_t counted = plan.output("count", scalar, DLC_VALUE_ACCUMULATOR, count);
  plan.metric("loss", DLC_METRIC_LOSS, lossSum, counted);
  plan.metric("accuracy", DLC_METRIC_METRIC, rightSum, counted);
  return gradient;
}

/// Sums the gradients over the ranks and makes means of them.
void addReduction(PlanBuilder &plan, const Shared &s, const dlc_argument &weight,
                  const dlc_argument &bias, Sums sums) {
  dlc_argument bucket = weight;
  bucket.bytes = bias.offset + bias.bytes - weight.offset;
  auto sumBeside = [&](std::string_view name, const dlc_argument &buffer, uint32_t channel) {
    plan.stream = 1 + channel;
    plan.event(DLC_RECORD_WAIT_EVENT, 0);
    plan.sumOverRanks(name, buffer, channel);
    plan.event(DLC_RECORD_RECORD_EVENT, 1 + channel);
  };
  if (sums != Sums::Between)
    plan.event(DLC_RECORD_RECORD_EVENT, 0);
  if (sums == Sums::OfTwoChannels) {
    sumBeside("bucket0/all_reduce", weight, DLC_CHANNEL_BUCKETS);
    sumBeside("small/all_reduce", bias, DLC_CHANNEL_SMALL);
  } else if (sums == Sums::Beside) {
    sumBeside("bucket0/all_reduce", bucket, DLC_CHANNEL_BUCKETS);
  } else {
    plan.sumOverRanks("bucket0/all_reduce", bucket, DLC_CHANNEL_BUCKETS);
  }
  plan.stream = 0;
  if (sums != Sums::Between)
    plan.event(DLC_RECORD_WAIT_EVENT, 1);
  if (sums == Sums::OfTwoChannels)
    plan.event(DLC_RECORD_WAIT_EVENT, 2);
  plan.launch("bucket0/scale", s.scale, 1, {updating(bucket), plan.ofScalar(s.ranksScale)},
              {bucket.bytes / sizeof(float)});
}

void addTrainStep(PlanBuilder &plan, const Shared &s, bool twoStreams, std::optional<Sums> sums) {
  plan.beginEntry("train_step", DLC_ENTRY_TRAIN, batch);
  const dlc_argument gradient = addLoss(plan, s, false);
  const dlc_type weightType = plan.variables[s.weight].type, biasType = plan.variables[s.bias].type;
  const dlc_argument weight = plan.arena(bytesOf(weightType)), bias = plan.arena(bytesOf(biasType));
  plan.launch("linear1/backward_weight", s.weightGradient, classes,
              {gradient, plan.ofInput(0), writing(weight), writing(bias)},
              {batch, features, classes});
  if (sums)
    addReduction(plan, s, weight, bias, *sums);
  if (twoStreams)
    plan.event(DLC_RECORD_RECORD_EVENT, 0);
  constexpr uint64_t block = 16;
  plan.launch("linear1.weight/update", s.update, classes * features / block,
              {updating(plan.ofVariable(s.weight)), updating(plan.ofVariable(s.weightVelocity)),
               weight, plan.ofScalar(s.rate), plan.ofScalar(s.step)},
              {classes * features, block});
  if (twoStreams) {
    plan.stream = 1;
    plan.event(DLC_RECORD_WAIT_EVENT, 0);
  }
  plan.launch("linear1.bias/update", s.update, 1,
              {updating(plan.ofVariable(s.bias)), updating(plan.ofVariable(s.biasVelocity)), bias,
               plan.ofScalar(s.rate), plan.ofScalar(s.step)},
              {classes, block});
  plan.stream = 0;
  plan.launch("applied/update", s.count, 1, {updating(plan.ofVariable(s.applied))}, {});
  plan.output("gradient.linear1.weight", weightType, DLC_VALUE_GRADIENT, weight, s.weight);
  plan.output("gradient.linear1.bias", biasType, DLC_VALUE_GRADIENT, bias, s.bias);
  plan.endEntry();
  plan.steps.push_back({static_cast<uint32_t>(plan.entries.size() - 1), 1, {}});
}

void addInfer(PlanBuilder &plan, const Shared &s) {
  plan.beginEntry("infer_n1", DLC_ENTRY_INFER, 1);
  const uint32_t image = plan.input("image", PlanBuilder::type(DLC_F32, {1, 1, 4, 4}));
  const dlc_argument logits = plan.arena(classes * sizeof(float));
  plan.launch(
      "linear1/forward", s.logits, 1,
      {plan.ofInput(image), plan.ofVariable(s.weight), plan.ofVariable(s.bias), writing(logits)},
      {features, classes});
  plan.output("output", PlanBuilder::type(DLC_F32, {1, classes}), DLC_VALUE_RESULT, logits);
  plan.endEntry();
}

} // namespace

static PlanBuilder modelFor(dlc_target target, std::optional<Sums> sums = std::nullopt) {
  PlanBuilder plan;
  plan.target = target;
  Shared shared = addShared(plan);
  if (sums) {
    shared.ranksScale = plan.scalar("ranks.scale", 1);
    constexpr uint32_t scaleFunction = 12;
    shared.scale = plan.kernel("scale", scaleFunction, 2, 1);
  }
  addTrainStep(plan, shared, target == DLC_TARGET_CUDA && !sums, sums);
  plan.beginEntry("evaluate", DLC_ENTRY_EVALUATE, batch);
  addLoss(plan, shared, true);
  plan.endEntry();
  addInfer(plan, shared);
  return plan;
}

PlanBuilder smallModel() { return modelFor(DLC_TARGET_CPU); }
PlanBuilder smallSimtModel() { return modelFor(DLC_TARGET_CUDA); }
PlanBuilder smallParallelModel(dlc_target target, Sums sums) { return modelFor(target, sums); }

/// Header of the section .dlc.plan, found by the place that the loader's own reader gives.
static Elf64_Shdr *planSection(std::vector<std::byte> &module, const runtime::FileRange &plan) {
  auto *header = reinterpret_cast<Elf64_Ehdr *>(module.data());
  auto *sections = reinterpret_cast<Elf64_Shdr *>(module.data() + header->e_shoff);
  for (unsigned i = 0; i < header->e_shnum; ++i)
    if (sections[i].sh_type == SHT_PROGBITS && sections[i].sh_offset == plan.offset &&
        sections[i].sh_size == plan.size)
      return &sections[i];
  return nullptr;
}

void sealModule(std::vector<std::byte> &module) {
  auto located = runtime::locateModule(module);
  if (!located.ok())
    std::abort();
  dlc_note note = located->note;
  const auto content = std::span<const std::byte>(module);
  note.plan_size = located->planAt.size;
  runtime::hashBytes(content.subspan(located->planAt.offset, located->planAt.size),
                     note.graph_hash);
  std::memcpy(module.data() + located->noteAt.offset, &note, sizeof(note));
  runtime::hashWithHole(module, located->noteAt.offset + offsetof(dlc_note, file_hash),
                        note.file_hash);
  std::memcpy(module.data() + located->noteAt.offset, &note, sizeof(note));
}

std::vector<std::byte> moduleWith(const std::vector<std::byte> &plan, const NoteFields &fields) {
  std::vector<std::byte> module = readFile(DLC_TEST_SMALL_MODULE);
  auto located = runtime::locateModule(module);
  Elf64_Shdr *section = located.ok() ? planSection(module, located->planAt) : nullptr;
  if (!section || plan.size() > section->sh_size)
    std::abort();
  std::memcpy(module.data() + section->sh_offset, plan.data(), plan.size());
  section->sh_size = plan.size();
  dlc_note note = located->note;
  note.abi_version = fields.abiVersion;
  note.targets = fields.targets;
  note.cpu_features = fields.cpuFeatures;
  std::strcpy(note.compiler, "hand 1.0");
  std::strcpy(note.cpu_name, "generic");
  std::memcpy(module.data() + located->noteAt.offset, &note, sizeof(note));
  sealModule(module);
  return module;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "dlc-test-XXXXXX").string();
  if (!mkdtemp(name.data()))
    std::abort();
  folder = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

void writeFile(const std::string &path, const std::vector<std::byte> &content) {
  // A new inode each time: dlopen knows files by theirs.
  std::remove(path.c_str());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(content.data()),
             static_cast<std::streamsize>(content.size()));
  if (!file.flush())
    std::abort();
}

std::vector<std::byte> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    std::abort();
  std::vector<std::byte> content(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char *>(content.data()), static_cast<std::streamsize>(content.size()));
  return content;
}

std::string writeSmallModule(const TemporaryFolder &folder) {
  std::string path = folder.path("small.so");
  writeFile(path, moduleWith(smallModel().blob()));
  return path;
}

static void appendBigEndian(std::vector<std::byte> &out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<std::byte>(value >> shift));
}

static void writeSplit(const std::string &prefix, uint32_t count, std::mt19937 &random) {
  std::vector<std::byte> images, labels;
  for (uint32_t word : {0x00000803u, count, 4u, 4u})
    appendBigEndian(images, word);
  for (uint32_t word : {0x00000801u, count})
    appendBigEndian(labels, word);
  for (uint32_t n = 0; n < count; ++n) {
    const uint32_t label = random() % classes;
    labels.push_back(static_cast<std::byte>(label));
    for (uint32_t i = 0; i < features; ++i)
      images.push_back(static_cast<std::byte>(random() % 128 + (i / 4 == label ? 100 : 0)));
  }
  writeFile(prefix + "-images-idx3-ubyte", images);
  writeFile(prefix + "-labels-idx1-ubyte", labels);
}

void writeSmallData(const std::string &folder, uint32_t train, uint32_t test) {
  std::mt19937 random(1);
  writeSplit(folder + "/train", train, random);
  writeSplit(folder + "/t10k", test, random);
}

} // namespace dlc::test
