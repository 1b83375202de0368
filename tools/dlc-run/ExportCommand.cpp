// dlc-run export: the weights of a checkpoint alone, for other programs.
#include "dlc/checkpoint.h"
#include "dlc/module.h"
#include "runtime/Core/Support.h"
#include "tools/dlc-run/Command.h"

namespace dlc::runtime::tool {

Status exportWeights(const ExportFlags &flags) {
  DLC_TRY_ASSIGN(module, Module::load(flags.module));
  return runtime::exportWeights(*module, flags.checkpoint, flags.save);
}

} // namespace dlc::runtime::tool
