//===- CpuTarget.cpp - processors by their names ----------------------------------------------===//
//
// A processor is LLVM's name of it, by which costs and LLVM's tuning go, and what the code may use
// of what it has: no more than a module's note can ask for, so that a module never needs what the
// loader does not check. So AVX-512 FP16 stays unused, with which LLVM would compute f16 ops in f16
// and join them, and AMX, which no generator emits.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/Kernel/KernelGenerator.h"
#include "codegen/Machine/System.h"
#include "runtime/Core/NearestName.h"
#include "runtime/Core/Processors.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <cstdlib>

using namespace dlc;
using namespace dlc::codegen;
using llvm::SmallVector;
using llvm::StringRef;

static bool isKnown(StringRef cpu) {
  return llvm::X86::parseArchX86(cpu, /*Only64Bit=*/true) != llvm::X86::CK_None;
}

/// What a processor has, by LLVM's names; nothing if it is not known. LLVM leaves out what one
/// feature implies of others, and for some what each of 64 bits has.
static llvm::StringMap<bool> featuresOf(StringRef cpu) {
  if (!isKnown(cpu))
    return {};
  SmallVector<StringRef> names;
  llvm::X86::getFeaturesForCPU(cpu, names);
  llvm::X86::getFeaturesForCPU("x86-64", names);
  llvm::StringMap<bool> features;
  for (StringRef name : names) {
    features[name] = true;
    llvm::X86::updateImpliedFeatures(name, true, features);
  }
  features.erase("x87"); // which no host lists
  return features;
}

namespace {
/// What one bit of a module's note requires of a processor.
struct RequiredFeatures {
  uint64_t bit;
  llvm::StringMap<bool> names; ///< LLVM's
};
} // namespace

static SmallVector<RequiredFeatures> requiredFeatures() {
  return {{DLC_CPU_AVX2_FMA, featuresOf("x86-64-v3")},
          {DLC_CPU_AVX512, featuresOf("x86-64-v4")},
          {DLC_CPU_AVX512_VNNI, {{"avx512vnni", true}}},
          {DLC_CPU_AVX512_BF16, {{"avx512bf16", true}}}};
}

static SmallVector<StringRef> sortedNames(const llvm::StringMap<bool> &features) {
  SmallVector<StringRef> names = llvm::to_vector(features.keys());
  llvm::sort(names);
  return names;
}

/// The code for `cpu` where only what `has` lists may be used of it.
static llvm::Expected<CpuTarget> targetFor(StringRef cpu, const llvm::StringMap<bool> &has) {
  CpuTarget target;
  target.cpu = cpu.str();
  // The name stands for all that the processor has: what is not used is switched off.
  llvm::StringMap<bool> all = featuresOf(cpu);
  for (auto &entry : all)
    entry.second = entry.first() == "64bit";
  for (const RequiredFeatures &required : requiredFeatures()) {
    if (!llvm::all_of(required.names.keys(), [&](StringRef name) { return has.lookup(name); }))
      continue;
    target.required |= required.bit;
    for (StringRef name : required.names.keys())
      all[name] = true;
  }
  if (!(target.required & DLC_CPU_AVX2_FMA))
    return llvm::createStringError("the processor '" + target.cpu +
                                   "' lacks AVX2 and FMA, which the CPU target needs");
  if (target.required & DLC_CPU_AVX512) {
    target.vectorBytes = 64;
    target.vectorRegisters = 32;
  }
  target.machine = CpuMachine::get(cpu, target.vectorBytes);
  llvm::SubtargetFeatures features;
  for (StringRef name : sortedNames(all))
    features.AddFeature(name, all.lookup(name));
  target.features = features.getString();
  return target;
}

/// Those that have what the CPU target needs, sorted.
static SmallVector<StringRef> knownProcessors() {
  SmallVector<StringRef> names;
  llvm::X86::fillValidCPUArchList(names, /*Only64Bit=*/true);
  llvm::erase_if(names, [](StringRef name) {
    return llvm::errorToBool(targetFor(name, featuresOf(name)).takeError());
  });
  llvm::sort(names);
  return names;
}

/// LLVM's name for one of ours.
static StringRef theirName(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Case("avx2", "x86-64-v3")
      .Case("avx512", "x86-64-v4")
      .Default(name);
}

static llvm::Error unknownProcessor(StringRef name) {
  std::string list = "native, avx2, avx512";
  std::vector<std::string_view> candidates = {"native", "avx2", "avx512"};
  const SmallVector<StringRef> known = knownProcessors();
  for (StringRef one : known) {
    list += ", " + one.str();
    candidates.push_back(one);
  }
  const std::string_view nearest = runtime::nearestName(name, candidates);
  return llvm::createStringError("unknown CPU '" + name.str() +
                                 (nearest.empty()
                                      ? "', expected one of " + list
                                      : "', did you mean '" + std::string(nearest) + "'?"));
}

/// This machine's processor. In tests DLC_NATIVE_CPU names another that stands for it, as far as
/// this machine has what that one has (CONTRIBUTING.md).
static llvm::Expected<CpuTarget> nativeTarget() {
  llvm::StringMap<bool> has = llvm::sys::getHostCPUFeatures();
  const char *other = std::getenv("DLC_NATIVE_CPU");
  if (!other) {
    llvm::Expected<CpuTarget> target = targetFor(llvm::sys::getHostCPUName(), has);
    const runtime::Processors &own = runtime::processors();
    if (target && !own.allowed.empty())
      readSystem(target->machine, "", own.allowed.front(), int64_t(own.cores.size()));
    return target;
  }
  if (!isKnown(other))
    return unknownProcessor(other);
  llvm::StringMap<bool> others = featuresOf(other);
  for (auto &entry : has)
    entry.second &= others.lookup(entry.first());
  return targetFor(other, has);
}

llvm::Expected<CpuTarget> CpuTarget::get(StringRef name) {
  if (name == "native")
    return nativeTarget();
  StringRef cpu = theirName(name);
  if (!isKnown(cpu))
    return unknownProcessor(name);
  return targetFor(cpu, featuresOf(cpu));
}
