//===- WinogradGenerator.cpp - the Winograd family on the CPU ---------------------------------===//
//
// Refuses what winogradRefusal names.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Generators.h"
#include "codegen/CPU/Winograd/TransformGenerator.h"

using namespace dlc;
using namespace dlc::codegen;

namespace {
class WinogradGenerator : public TransformGenerator {
public:
  llvm::StringRef name() const override { return "cpu-winograd"; }

private:
  llvm::SmallVector<WinogradSchedule> schedules(const ConvolutionProblem &p,
                                                const CpuTarget &target) const override {
    if (!winogradRefusal(p).empty())
      return {};
    return chooseWinogradSchedules(p, target, target.isStrict());
  }
};
} // namespace

std::unique_ptr<CpuGenerator> codegen::createWinogradGenerator() {
  return std::make_unique<WinogradGenerator>();
}
