// How deep JSON may be nested that comes from a file or from another program. Parsers, and what
// walks their trees, recurse: a text of brackets alone would end them.
#ifndef DLC_RUNTIME_CORE_JSON_H
#define DLC_RUNTIME_CORE_JSON_H

#include "dlc/status.h"

namespace dlc::runtime {

/// Fails with Damaged for a text whose arrays and objects are nested more than 64 deep. Knows
/// strings, and nothing else of JSON: whether the text is valid is the parser's question.
Status checkJsonDepth(std::string_view text);

} // namespace dlc::runtime

#endif
