// Finding and checking the note and the plan.
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"

#include <cstring>

namespace dlc::runtime {

/// Size of dlc_note in ABI version 1; it only grows.
static constexpr uint64_t firstNoteSize = 136;

Result<ModuleFile> locateModule(std::span<const std::byte> content) {
  ModuleFile file;
  DLC_TRY_ASSIGN(elf, ElfFile::parse(content));
  DLC_TRY_ASSIGN(
      note, elf.findNote(std::string_view(DLC_NOTE_NAME, sizeof(DLC_NOTE_NAME)), DLC_NOTE_TYPE));
  if (!note)
    return damaged("not a dlc module: the ELF file has no note of owner 'dlc'");
  if (note->size < firstNoteSize)
    return damaged("damaged module: the note has ", note->size, " bytes, expected ", firstNoteSize);
  file.noteAt = *note;
  std::memcpy(&file.note, content.data() + note->offset, sizeof(dlc_note));
  if (file.note.magic != DLC_NOTE_MAGIC)
    return damaged("damaged module: the note does not begin with its magic number");
  DLC_TRY_ASSIGN(plan, elf.findSection(".dlc.plan"));
  if (!plan)
    return damaged("damaged module: no section .dlc.plan");
  file.planAt = *plan;
  return file;
}

static std::string fixedText(const char *text, size_t size) {
  std::string_view view(text, strnlen(text, size));
  return isPrintableUtf8(view) ? std::string(view) : "?";
}

Status checkCpuFeatures(const dlc_note &note) {
  const uint64_t missing = note.cpu_features & ~hostCpuFeatures();
  if (missing == 0)
    return askForCpuFeatures(note.cpu_features);
  return unsupported("compiled for ", fixedText(note.cpu_name, sizeof(note.cpu_name)),
                     "; this processor lacks ", cpuFeatureNames(missing));
}

/// Native kernels of a CPU plan need this processor's features. The SIMT device asks for its own
/// when it is used: a CUDA plan is of use without it.
static Status checkProcessor(const dlc_note &note) {
  constexpr uint32_t known = 1u << DLC_TARGET_CPU | 1u << DLC_TARGET_CUDA | 1u << DLC_TARGET_SIMT;
  if (!(note.targets & known))
    return unsupported("compiled for no device that this runtime knows");
  if (!(note.targets >> DLC_TARGET_CPU & 1))
    return {};
  return checkCpuFeatures(note);
}

Status checkModule(std::span<const std::byte> content, const ModuleFile &file) {
  const dlc_note &note = file.note;
  if (note.abi_version > DLC_ABI_VERSION)
    return unsupported("ABI version ", note.abi_version, ", written by '",
                       fixedText(note.compiler, sizeof(note.compiler)),
                       "'; this runtime knows up to ", DLC_ABI_VERSION);
  uint8_t hash[16];
  hashWithHole(content, file.noteAt.offset + offsetof(dlc_note, file_hash), hash);
  if (std::memcmp(hash, note.file_hash, sizeof(hash)) != 0)
    return damaged("damaged module: the file's hash is not the one in its note");
  if (note.abi_version == 0 || note.size < firstNoteSize || note.size > file.noteAt.size)
    return damaged("damaged module: ABI version ", note.abi_version, ", a note of ", note.size,
                   " bytes");
  DLC_TRY(checkProcessor(note));
  if (note.plan_size != file.planAt.size)
    return damaged("damaged module: the note claims a plan of ", note.plan_size, " bytes, found ",
                   file.planAt.size);
  if (file.planAt.offset % DLC_ALIGNMENT != 0)
    return damaged("damaged module: the plan begins at byte ", file.planAt.offset,
                   ", expected a multiple of ", DLC_ALIGNMENT);
  hashBytes(content.subspan(file.planAt.offset, file.planAt.size), hash);
  if (std::memcmp(hash, note.graph_hash, sizeof(hash)) != 0)
    return damaged("damaged module: the plan's hash is not the one in the note");
  return {};
}

} // namespace dlc::runtime
