// ELF64 headers, notes and section names, with every access checked.
#include "runtime/Core/ElfFile.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Support.h"

#include <cstring>
#include <elf.h>

namespace dlc::runtime {

#if defined(__x86_64__)
static constexpr uint16_t hostMachine = EM_X86_64;
#elif defined(__aarch64__)
static constexpr uint16_t hostMachine = EM_AARCH64;
#endif

static std::string machineName(uint16_t machine) {
  return machine == EM_X86_64    ? "x86-64"
         : machine == EM_AARCH64 ? "64-bit ARM"
                                 : concat("ELF machine ", machine);
}

template <typename T> bool ElfFile::readStruct(uint64_t offset, T &out) const {
  if (!fits(offset, sizeof(T), content.size()))
    return false;
  std::memcpy(&out, content.data() + offset, sizeof(T));
  return true;
}

static_assert(ElfFile::headerBytes == sizeof(Elf64_Ehdr));

Status ElfFile::checkHeader(std::span<const std::byte> start, uint64_t size) {
  Elf64_Ehdr header;
  if (!ElfFile(start).readStruct(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    const std::string_view kind = fileKind(start);
    return damaged("not a module: ", kind.empty() ? "no ELF file" : concat("it is ", kind),
                   "; dlc compiles a model (.dl) to one");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return damaged("not a module: expected a 64-bit little-endian ELF file");
  if (header.e_type != ET_DYN)
    return damaged("not a module: expected a shared library, found ELF type ", header.e_type);
  if (header.e_machine != hostMachine)
    return unsupported("compiled for ", machineName(header.e_machine), ", this processor is ",
                       machineName(hostMachine));
  if (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr))
    return damaged("damaged ELF file: program headers of ", header.e_phentsize, " bytes");
  if (!fits(header.e_phoff, uint64_t(header.e_phnum) * sizeof(Elf64_Phdr), size))
    return damaged("damaged ELF file: program headers end beyond the file");
  if (header.e_shnum != 0 && header.e_shentsize != sizeof(Elf64_Shdr))
    return damaged("damaged ELF file: section headers of ", header.e_shentsize, " bytes");
  if (!fits(header.e_shoff, uint64_t(header.e_shnum) * sizeof(Elf64_Shdr), size))
    return damaged("damaged ELF file: section headers end beyond the file");
  return {};
}

Result<ElfFile> ElfFile::parse(std::span<const std::byte> content) {
  DLC_TRY(checkHeader(content, content.size()));
  return ElfFile(content);
}

Result<std::optional<FileRange>> ElfFile::findNote(std::string_view owner, uint32_t type) const {
  // A library has a handful; segments of a damaged file may overlap.
  constexpr unsigned mostNotes = 10000;
  unsigned notes = 0;
  Elf64_Ehdr header;
  readStruct(0, header);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    readStruct(header.e_phoff + i * sizeof(Elf64_Phdr), segment);
    if (segment.p_type != PT_NOTE)
      continue;
    if (!fits(segment.p_offset, segment.p_filesz, content.size()))
      return damaged("damaged ELF file: a note segment ends beyond the file");
    const uint64_t alignment = segment.p_align == 8 ? 8 : 4;
    const uint64_t end = segment.p_offset + segment.p_filesz;
    for (uint64_t at = segment.p_offset; fits(at, sizeof(Elf64_Nhdr), end);) {
      Elf64_Nhdr note;
      if (++notes > mostNotes)
        return damaged("damaged ELF file: more than ", mostNotes, " notes");
      readStruct(at, note);
      const uint64_t name = at + sizeof(note);
      const uint64_t descriptor = alignUp(name + note.n_namesz, alignment);
      if (!fits(name, note.n_namesz, end) || !fits(descriptor, note.n_descsz, end))
        return damaged("damaged ELF file: a note ends beyond its segment");
      std::string_view found(reinterpret_cast<const char *>(content.data()) + name, note.n_namesz);
      if (note.n_type == type && found == owner)
        return std::optional(FileRange{descriptor, note.n_descsz});
      at = alignUp(descriptor + note.n_descsz, alignment);
    }
  }
  return std::optional<FileRange>();
}

Result<std::optional<FileRange>> ElfFile::findSection(std::string_view name) const {
  Elf64_Ehdr header;
  readStruct(0, header);
  if (header.e_shnum == 0)
    return std::optional<FileRange>();
  Elf64_Shdr strings;
  if (header.e_shstrndx >= header.e_shnum)
    return damaged("damaged ELF file: section names in section ", header.e_shstrndx, " of ",
                   header.e_shnum);
  readStruct(header.e_shoff + header.e_shstrndx * sizeof(Elf64_Shdr), strings);
  if (!fits(strings.sh_offset, strings.sh_size, content.size()))
    return damaged("damaged ELF file: section names end beyond the file");
  std::string_view names(reinterpret_cast<const char *>(content.data()) + strings.sh_offset,
                         strings.sh_size);

  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    readStruct(header.e_shoff + i * sizeof(Elf64_Shdr), section);
    if (section.sh_name >= names.size())
      continue;
    const std::string_view rest = names.substr(section.sh_name);
    if (!rest.starts_with(name) || rest.size() == name.size() || rest[name.size()] != '\0')
      continue;
    if (section.sh_type != SHT_PROGBITS ||
        !fits(section.sh_offset, section.sh_size, content.size()))
      return damaged("damaged ELF file: section ", name, " ends beyond the file");
    return std::optional(FileRange{section.sh_offset, section.sh_size});
  }
  return std::optional<FileRange>();
}

} // namespace dlc::runtime
