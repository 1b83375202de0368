// What a file is that is none of dlc's, by its first bytes: for messages.
#ifndef DLC_RUNTIME_CORE_FILEKIND_H
#define DLC_RUNTIME_CORE_FILEKIND_H

#include "runtime/Core/File.h"

#include <string_view>

namespace dlc::runtime {

/// What fileKind() says of a safetensors file.
inline constexpr std::string_view safetensorsKind = "a safetensors file";

/// Whether it is what fileKind() says of text.
bool isTextKind(std::string_view kind);

/// How many bytes are enough to tell.
inline constexpr size_t fileKindBytes = 512;

/// What begins with these bytes: "a zip archive of PyTorch's torch.save", "text", "a safetensors
/// file"; empty for what is of no kind known here. Never fails: fewer bytes tell less.
std::string_view fileKind(std::span<const std::byte> begin);
/// Of a file; empty also where it cannot be read.
std::string_view fileKind(const File &file);
std::string_view fileKind(const std::string &path);

} // namespace dlc::runtime

#endif
