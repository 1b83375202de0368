//===- Link.cpp - objects become a sealed module ----------------------------------------------===//
//
// lld takes files, so the objects go through one archive in a folder of its own: a file each, a
// thousand of them, would take longer to make than to link. None of its names reaches the output.
// lld keeps global state and resets every llvm::cl option: one link at a time, and no option of
// this process lives there.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/Plan/Link.h"
#include "codegen/Compile/KernelCache.h"
#include "codegen/Kernel/Status.h"
#include "dlc/abi.h"
#include "lld/Common/Driver.h"
#include "runtime/Core/FileWriter.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace dlc::codegen {

ArrayRef<StringRef> allowedImports() {
  static constexpr StringRef names[] = {"memcpy", "memmove", "memset"};
  return names;
}

//===------------------------------------------------------------------------------------------===//
// Linking
//===------------------------------------------------------------------------------------------===//

/// All objects in their order, without a table of symbols: each is linked, whoever needs it.
static Expected<std::unique_ptr<MemoryBuffer>> archive(ArrayRef<StringRef> objects) {
  std::vector<std::string> names;
  for (size_t i = 0; i < objects.size(); ++i)
    names.push_back(std::to_string(i) + ".o");
  std::vector<NewArchiveMember> members;
  for (auto [name, object] : llvm::zip_equal(names, objects))
    members.emplace_back(MemoryBufferRef(object, name));
  return writeArchiveToBuffer(members, SymtabWritingMode::NoSymtab, object::Archive::K_GNU,
                              /*Deterministic=*/true, /*Thin=*/false);
}

/// Runs lld on an archive.
static Error runLinker(StringRef objects, StringRef script, StringRef output) {
  std::vector<std::string> arguments = {"ld.lld",
                                        "-shared",
                                        "--build-id=none",
                                        "--hash-style=gnu",
                                        "-z",
                                        "noexecstack",
                                        "-z",
                                        "now",
                                        "-z",
                                        "relro",
                                        "--threads=1",
                                        "--no-dynamic-linker",
                                        ("--version-script=" + script).str(),
                                        "-o",
                                        output.str(),
                                        "--whole-archive",
                                        objects.str()};
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  std::string messages;
  raw_string_ostream stream(messages);
  static std::mutex onlyOne;
  std::lock_guard<std::mutex> lock(onlyOne);
  lld::Result result = lld::lldMain(pointers, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return createStringError("linking the module failed: " + StringRef(messages).split('\n').first);
  return Error::success();
}

static Expected<std::string> linkIn(const runtime::ScratchFolder &folder,
                                    ArrayRef<StringRef> objects) {
  Expected<std::unique_ptr<MemoryBuffer>> all = archive(objects);
  if (!all)
    return all.takeError();
  Expected<std::string> file = toExpected(folder.write("objects.a", (*all)->getBuffer()));
  if (!file)
    return file.takeError();
  Expected<std::string> script =
      toExpected(folder.write("exports", "{ global: dlc_module_query; local: *; };\n"));
  if (!script)
    return script.takeError();
  std::string output = folder.pathOf("module.so");
  if (Error error = runLinker(*file, *script, output))
    return std::move(error);
  ErrorOr<std::unique_ptr<MemoryBuffer>> linked =
      MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!linked)
    return createStringError("cannot read '" + output +
                             "': " + StringRef(linked.getError().message()).lower());
  return (*linked)->getBuffer().str();
}

//===------------------------------------------------------------------------------------------===//
// Checks and the seal
//===------------------------------------------------------------------------------------------===//

using ElfFile = object::ELFFile<object::ELF64LE>;

/// A module may need nothing but what every process has.
static Error checkImports(const object::ELFObjectFile<object::ELF64LE> &file) {
  for (object::ELFSymbolRef symbol : file.getDynamicSymbolIterators()) {
    Expected<uint32_t> flags = symbol.getFlags();
    Expected<StringRef> name = symbol.getName();
    if (!flags || !name)
      return joinErrors(flags.takeError(), name.takeError());
    if ((*flags & object::SymbolRef::SF_Undefined) && !name->empty() &&
        !llvm::is_contained(allowedImports(), *name))
      return createStringError("a kernel calls '" + *name + "', which a module cannot take along");
  }
  return Error::success();
}

/// Place of the note's descriptor in the file.
static Expected<uint64_t> findNote(const ElfFile &file) {
  Expected<ElfFile::Elf_Phdr_Range> segments = file.program_headers();
  if (!segments)
    return segments.takeError();
  for (const auto &segment : *segments) {
    if (segment.p_type != ELF::PT_NOTE)
      continue;
    std::optional<uint64_t> place;
    Error error = Error::success();
    for (const auto &note : file.notes(segment, error))
      if (note.getName() == DLC_NOTE_NAME && note.getType() == DLC_NOTE_TYPE)
        place = note.getDesc(segment.p_align).data() - file.base();
    if (error)
      return std::move(error);
    if (place)
      return *place;
  }
  return createStringError("the linked module has no note");
}

/// Writes the hash of the file, with the hash itself as zeros, into the note.
static Error seal(std::string &bytes) {
  Expected<std::unique_ptr<object::ObjectFile>> object =
      object::ObjectFile::createELFObjectFile(MemoryBufferRef(bytes, "module.so"));
  if (!object)
    return object.takeError();
  auto *file = cast<object::ELFObjectFile<object::ELF64LE>>(object->get());
  if (Error error = checkImports(*file))
    return error;
  Expected<uint64_t> note = findNote(file->getELFFile());
  if (!note)
    return note.takeError();
  KernelKey hash = hashText(bytes);
  llvm::copy(hash, bytes.begin() + *note + offsetof(dlc_note, file_hash));
  return Error::success();
}

Expected<std::string> linkModule(ArrayRef<StringRef> objects) {
  Expected<runtime::ScratchFolder> folder = toExpected(runtime::ScratchFolder::create());
  if (!folder)
    return folder.takeError();
  Expected<std::string> module = linkIn(*folder, objects);
  if (!module)
    return module.takeError();
  if (Error error = seal(*module))
    return std::move(error);
  return module;
}

} // namespace dlc::codegen
