// Where GPT-2 cuts a text before byte pairs are merged, which never reach over a cut:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// A byte that belongs to no character of UTF-8 is neither space, letter nor number.
#ifndef DLC_RUNTIME_DATA_PRETOKENS_H
#define DLC_RUNTIME_DATA_PRETOKENS_H

#include <cstddef>
#include <string_view>

namespace dlc::runtime {

/// Bytes of the first piece of a text that is not empty and ends with `text`.
size_t firstPreToken(std::string_view text);

} // namespace dlc::runtime

#endif
