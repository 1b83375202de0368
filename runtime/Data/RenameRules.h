// Rules that make the names of a model of those in a file of another program.
#ifndef DLC_RUNTIME_DATA_RENAMERULES_H
#define DLC_RUNTIME_DATA_RENAMERULES_H

#include "dlc/status.h"

#include <memory>
#include <regex.h>
#include <string>
#include <vector>

namespace dlc::runtime {

struct RenameRule {
  /// POSIX's extended regular expression.
  std::shared_ptr<const regex_t> pattern;
  std::string replacement;
};

/// Of "REGEX=REPLACEMENT" each; the last = is the one between them. Fails for a text without one,
/// and for what is no regular expression.
Result<std::vector<RenameRule>> renameRules(const std::vector<std::string> &texts);

/// All of them, one after the other, as `sed -E` does s/REGEX/REPLACEMENT/g.
std::string renamed(std::string name, const std::vector<RenameRule> &rules);

} // namespace dlc::runtime

#endif
