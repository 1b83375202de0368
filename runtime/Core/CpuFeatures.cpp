// What this processor and its operating system offer, in the bits of the note.
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"

#include <cerrno>
#include <cstring>
#include <iterator>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace dlc::runtime {

#if defined(__x86_64__)

static uint64_t enabledStates() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

constexpr int tileData = 18; ///< XFEATURE_XTILEDATA

/// Whether Linux lets a process use tiles that asks for them.
static bool mayUseTiles() {
  constexpr int supported = 0x1021; // ARCH_GET_XCOMP_SUPP
  uint64_t states = 0;
  return syscall(SYS_arch_prctl, supported, &states) == 0 && (states >> tileData & 1);
}

Status askForCpuFeatures(uint64_t features) {
  constexpr int request = 0x1023; // ARCH_REQ_XCOMP_PERM
  if (!(features & DLC_CPU_AMX_BF16) || syscall(SYS_arch_prctl, request, tileData) == 0)
    return {};
  return unsupported("Linux does not let this process use ", cpuFeatureNames(DLC_CPU_AMX_BF16),
                     ": ", std::strerror(errno));
}

uint64_t hostCpuFeatures() {
  unsigned a, b, c, d, b7, c7, d7, a71 = 0, d71 = 0, unused, c81;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !__get_cpuid_count(7, 0, &a, &b7, &c7, &d7))
    return 0;
  auto all = [](unsigned word, std::initializer_list<unsigned> bits) {
    for (unsigned bit : bits)
      if (!(word >> bit & 1))
        return false;
    return true;
  };
  constexpr unsigned osxsave = 27;
  if (!all(c, {osxsave}))
    return 0;
  const uint64_t states = enabledStates();
  const bool ymm = (states & 0x6) == 0x6, zmm = (states & 0xe6) == 0xe6;
  const bool tiles = (states & 0x60000) == 0x60000;
  __get_cpuid_count(7, 1, &a71, &unused, &unused, &d71);
  const bool lzcnt = __get_cpuid(0x80000001, &unused, &unused, &c81, &unused) && all(c81, {5});

  uint64_t features = 0;
  // FMA, MOVBE, AVX, F16C; BMI1, AVX2, BMI2.
  if (ymm && lzcnt && all(c, {12, 22, 28, 29}) && all(b7, {3, 5, 8}))
    features |= DLC_CPU_AVX2_FMA;
  // F, DQ, CD, BW, VL.
  if (features && zmm && all(b7, {16, 17, 28, 30, 31}))
    features |= DLC_CPU_AVX512;
  if ((features & DLC_CPU_AVX512) && all(c7, {11}))
    features |= DLC_CPU_AVX512_VNNI;
  if ((features & DLC_CPU_AVX512) && all(a71, {5}))
    features |= DLC_CPU_AVX512_BF16;
  if (features && all(d71, {5}))
    features |= DLC_CPU_AVX_NE_CONVERT;
  // AMX-BF16, AMX-TILE.
  if (tiles && all(d7, {22, 24}) && mayUseTiles())
    features |= DLC_CPU_AMX_BF16;
  return features;
}

#elif defined(__aarch64__)

uint64_t hostCpuFeatures() { return getauxval(AT_HWCAP) & HWCAP_ASIMD ? DLC_CPU_NEON : 0; }
Status askForCpuFeatures(uint64_t) { return {}; }

#else

uint64_t hostCpuFeatures() { return 0; }
Status askForCpuFeatures(uint64_t) { return {}; }

#endif

std::string cpuFeatureNames(uint64_t features) {
  static constexpr std::string_view names[] = {"AVX2 and FMA",  "AVX-512",  "AVX-512 VNNI",
                                               "AVX-512 BF16",  "AMX BF16", "NEON",
                                               "AVX-NE-CONVERT"};
  std::string text;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if (!(features >> bit & 1))
      continue;
    addItem(text,
            bit < std::size(names) ? std::string(names[bit]) : "feature " + std::to_string(bit));
  }
  return text;
}

} // namespace dlc::runtime
