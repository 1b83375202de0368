// A hand-made model, softmax regression on images of 4x4 with 4 classes, as a plan and as a module
// file; and data that it can learn.
#ifndef DLC_TEST_LIB_SMALLMODEL_SMALLMODEL_H
#define DLC_TEST_LIB_SMALLMODEL_SMALLMODEL_H

#include "test/lib/SmallModel/PlanBuilder.h"

namespace dlc::test {

/// Entries train_step (batch 8), evaluate (batch 8, with `valid`) and infer_n1.
PlanBuilder smallModel();
/// The same for CUDA, its kernels native: the biases are updated on a second stream. For the SIMT
/// device, which takes a kernel's task for a block.
PlanBuilder smallSimtModel();

/// The same, built for several ranks: the gradients are one bucket that is summed on a second
/// stream, or on the first; or two on two channels, each on a stream of its own.
enum class Sums { Beside, Between, OfTwoChannels };
PlanBuilder smallParallelModel(dlc_target target = DLC_TARGET_CPU, Sums sums = Sums::Beside);

/// Targets of a note for smallSimtModel().
inline constexpr uint32_t simtTargets = 1u << DLC_TARGET_CUDA | 1u << DLC_TARGET_SIMT;

/// What the writer of a module puts into its note; hashes and sizes are added by sealing.
struct NoteFields {
  uint32_t abiVersion = DLC_ABI_VERSION;
  uint32_t targets = 1u << DLC_TARGET_CPU;
  uint64_t cpuFeatures = 0;
};

/// The bytes of a module with this plan and the small model's kernels.
std::vector<std::byte> moduleWith(const std::vector<std::byte> &plan, const NoteFields &note = {});
/// Puts right sizes and hashes into the note after the plan of a module was changed in place.
void sealModule(std::vector<std::byte> &module);

/// A folder that is removed with all its content at the end of the scope.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path(std::string_view name) const { return folder + "/" + std::string(name); }
  const std::string &root() const { return folder; }

private:
  std::string folder;
};

void writeFile(const std::string &path, const std::vector<std::byte> &content);
std::vector<std::byte> readFile(const std::string &path);

/// The small model as a module in `folder`; returns its path.
std::string writeSmallModule(const TemporaryFolder &folder);

/// IDX files of 4x4 images whose bright quarter is their label, with noise.
void writeSmallData(const std::string &folder, uint32_t train, uint32_t test);

} // namespace dlc::test

#endif
