//===- Processors.cpp - processors by their names ---------------------------------------------===//
//
// A processor is LLVM's name of it, by which costs and LLVM's tuning go, and what the code may use
// of what it has: no more than a module's note can ask for, so that a module never needs what the
// loader does not check.
//
//===------------------------------------------------------------------------------------------===//
#include "runtime/Core/Processors.h"
#include "codegen/CPU/Architecture.h"
#include "codegen/Machine/System.h"
#include "runtime/Core/NearestName.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include <cstdlib>

using namespace dlc;
using namespace dlc::codegen;
using llvm::SmallVector;
using llvm::StringRef;

llvm::ArrayRef<const Architecture *> codegen::architectures() {
  static const Architecture *const all[] = {&x86(), &arm()};
  return all;
}

const Architecture &codegen::architectureOf(const llvm::Triple &triple) {
  for (const Architecture *one : architectures())
    if (llvm::Triple(one->triple()).getArch() == triple.getArch())
      return *one;
  llvm_unreachable("dlc runs on processors that it knows, and makes code for no others");
}

/// Whose processor `cpu` is, null if nobody's.
static const Architecture *ownerOf(StringRef cpu) {
  for (const Architecture *one : architectures())
    if (one->knows(cpu))
      return one;
  return nullptr;
}

static SmallVector<StringRef> sortedNames(const CpuFeatures &features) {
  SmallVector<StringRef> names = llvm::to_vector(features.keys());
  llvm::sort(names);
  return names;
}

/// The code for `cpu` where only what `has` lists may be used of it.
static llvm::Expected<CpuTarget> targetFor(const Architecture &architecture, StringRef cpu,
                                           const CpuFeatures &has) {
  CpuTarget target;
  target.architecture = &architecture;
  target.cpu = cpu.str();
  // The name stands for all that the processor has: what is not used is switched off.
  CpuFeatures all = architecture.featuresOf(cpu);
  for (auto &entry : all)
    entry.second = false;
  const SmallVector<Architecture::Requirement> requirements = architecture.requirements();
  for (const Architecture::Requirement &required : requirements) {
    if (!llvm::all_of(required.names.keys(), [&](StringRef name) { return has.lookup(name); }))
      continue;
    target.required |= required.bit;
    for (StringRef name : required.names.keys())
      all[name] = true;
  }
  if (!(target.required & requirements.front().bit))
    return llvm::createStringError("the processor '" + target.cpu + "' lacks " +
                                   architecture.need() + ", which the CPU target needs");
  architecture.setVectors(target);
  target.machine = CpuMachine::get(cpu, target.vectorBytes);
  llvm::SubtargetFeatures features;
  for (StringRef name : sortedNames(all))
    features.AddFeature(name, all.lookup(name));
  target.features = features.getString();
  return target;
}

/// Those that have what the CPU target needs, sorted.
static SmallVector<StringRef> knownProcessors(const Architecture &architecture) {
  SmallVector<StringRef> names = architecture.processors();
  llvm::erase_if(names, [&](StringRef name) {
    return llvm::errorToBool(
        targetFor(architecture, name, architecture.featuresOf(name)).takeError());
  });
  llvm::sort(names);
  return names;
}

/// LLVM's name for one of ours.
static StringRef theirName(StringRef name) {
  for (const Architecture *one : architectures())
    for (const Architecture::Alias &alias : one->aliases())
      if (alias.ours == name)
        return alias.theirs;
  return name;
}

static llvm::Error unknownProcessor(StringRef name) {
  SmallVector<StringRef> known = {"native"};
  for (const Architecture *one : architectures()) {
    for (const Architecture::Alias &alias : one->aliases())
      known.push_back(alias.ours);
    known.append(knownProcessors(*one));
  }
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const std::string_view nearest = runtime::nearestName(name, candidates);
  return llvm::createStringError("unknown CPU '" + name.str() +
                                 (nearest.empty()
                                      ? "', expected one of " + llvm::join(known, ", ")
                                      : "', did you mean '" + std::string(nearest) + "'?"));
}

/// This machine's processor. In tests DLC_NATIVE_CPU names another that stands for it, as far as
/// this machine has what that one has (CONTRIBUTING.md).
static llvm::Expected<CpuTarget> nativeTarget() {
  const Architecture &host = architectureOf(llvm::Triple(llvm::sys::getProcessTriple()));
  CpuFeatures has = llvm::sys::getHostCPUFeatures();
  const char *other = std::getenv("DLC_NATIVE_CPU");
  if (!other) {
    llvm::Expected<CpuTarget> target = targetFor(host, llvm::sys::getHostCPUName(), has);
    const runtime::Processors &own = runtime::processors();
    if (target && !own.allowed.empty())
      readSystem(target->machine, "", own.allowed.front(), int64_t(own.cores.size()));
    return target;
  }
  if (!host.knows(other))
    return unknownProcessor(other);
  CpuFeatures others = host.featuresOf(other);
  for (auto &entry : has)
    entry.second &= others.lookup(entry.first());
  return targetFor(host, other, has);
}

llvm::Expected<CpuTarget> CpuTarget::get(StringRef name) {
  if (name == "native")
    return nativeTarget();
  StringRef cpu = theirName(name);
  const Architecture *architecture = ownerOf(cpu);
  if (!architecture)
    return unknownProcessor(name);
  return targetFor(*architecture, cpu, architecture->featuresOf(cpu));
}
