// The file behind a module, checked without running any of it: ELF structure, note, hash, target,
// processor, plan.
//
// The same offsets serve the compiler's last step, sealing: noteAt and planAt say where the hashes
// are written.
#ifndef DLC_RUNTIME_CORE_MODULEFILE_H
#define DLC_RUNTIME_CORE_MODULEFILE_H

#include "dlc/abi.h"
#include "runtime/Core/ElfFile.h"

namespace dlc::runtime {

/// Where the note's descriptor and the plan stand in the file.
struct ModuleFile {
  FileRange noteAt, planAt;
  dlc_note note = {};
};

/// Finds note and plan. Fails if `content` is no ELF file or has no such parts; checks no hash.
Result<ModuleFile> locateModule(std::span<const std::byte> content);

/// Everything that must hold before the file may be opened as a library on this machine: ABI
/// version, hashes, a known target, processor features of a CPU plan.
Status checkModule(std::span<const std::byte> content, const ModuleFile &file);

/// Whether this processor has the features that the module's native kernels need.
Status checkCpuFeatures(const dlc_note &note);

/// XXH3-128 of `content` in canonical byte order, the 16 bytes at `hole` taken as zero.
void hashWithHole(std::span<const std::byte> content, uint64_t hole, uint8_t out[16]);
/// The same without a hole.
void hashBytes(std::span<const std::byte> content, uint8_t out[16]);

/// 32 lower-case hexadecimal digits.
std::string hexadecimal(std::span<const uint8_t, 16> hash);

/// Low 32 bits of XXH3-64 of a name, as random initialisers use it.
uint32_t hashName(std::string_view name);

/// Bit set of dlc_cpu_feature of this machine.
uint64_t hostCpuFeatures();
/// Asks the system for those that a process may use only then, for all of its threads: AMX. Fails
/// where it refuses, as for a signal stack that is too small for its registers.
Status askForCpuFeatures(uint64_t features);
/// "AVX2 and FMA, AVX-512"
std::string cpuFeatureNames(uint64_t features);

} // namespace dlc::runtime

#endif
