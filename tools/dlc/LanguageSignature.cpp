//===- LanguageSignature.cpp - which parameter one is about to write --------------------------===//
#include "tools/dlc/LanguageIndex.h"

namespace dlc::tool {

/// By name, else by position: a `|>` gives the first parameter, unless a `_` says where.
static size_t activeParam(const OpenBracket &call, const LanguageCallable &callable) {
  if (call.argument.empty())
    return call.positional + (call.isPiped && !call.hasHole ? 1 : 0);
  size_t at = 0;
  while (at < callable.params.size() && callable.params[at].name != call.argument)
    ++at;
  return at;
}

std::optional<LanguageIndex::Signature> LanguageIndex::signature(uint32_t offset) const {
  const LanguageScan before(tokens, offset);
  for (const OpenBracket &open : llvm::reverse(before.open())) {
    if (open.kind >= OpenBracket::Body)
      break;
    if (open.kind != OpenBracket::Call)
      continue;
    std::optional<LanguageCallable> callable = findCallable(open.callee);
    if (!callable)
      return std::nullopt;
    const size_t active = activeParam(open, *callable);
    return Signature{std::move(*callable), active};
  }
  return std::nullopt;
}

} // namespace dlc::tool
