// Breaks modules, one field of abi.h at a time, and puts the hashes right: the loader refuses each
// with one line, or dlc-run inspects it and runs a step of it, or says in one line why not.
//
// The fields come from abi.h's text, so that a new one is never left out: those of the note, the
// library's descriptor, the plan's header, its directory, and the elements of all its tables. Each
// case takes the next field, an element of a valid plan, and a number that is near the old one or
// near a limit. A case depends on the seed and its number alone.
//
// What it leaves to others: the addresses in the library's descriptor, which the dynamic loader
// writes; what the module's native functions do, one called in the place of another included,
// which is code (those of the valid plans do nothing, so that other fields may be broken); and
// plans that soundly ask for more memory or tasks than a test should take.
//
//   BrokenFields [--cases N] [--seed S] [--only CASE] [--verbose]
//
// To look for errors, run it from the asan preset with 10,000 cases. Exits 1 at the first finding.
#include "dlc/module.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"
#include "test/lib/AbiFields/AbiFields.h"
#include "test/lib/SmallModel/SmallModel.h"
#include "test/lib/SmallModel/WideModel.h"
#include "tools/dlc-run/Command.h"

#include <bit>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <random>
#include <unistd.h>

using namespace dlc::runtime;
using namespace dlc::test;

// In a build with the address sanitizer: what it calls before it ends the program.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());
// Undefined behaviour is a finding, too.
extern "C" const char *__ubsan_default_options() { return "halt_on_error=1:print_stacktrace=1"; }

namespace {

/// What the case at hand is, for a report from a signal handler.
char caseText[512];

void tellCase() { (void)!write(STDERR_FILENO, caseText, strnlen(caseText, sizeof(caseText))); }

void endCase(int signal) {
  const char *what = signal == SIGALRM ? "no end of " : "a signal ended ";
  (void)!write(STDERR_FILENO, what, std::strlen(what));
  tellCase();
  _exit(1);
}

/// A run of elements of one struct in a module file; hashes that stand in it.
struct Region {
  std::string type; ///< a struct of abi.h, "uint64_t" or "bytes"
  uint64_t start, stride, count;
};

/// A valid module and where its fields are.
struct Subject {
  std::vector<std::byte> module;
  std::vector<Region> regions;
  uint64_t note = 0;
};

[[noreturn]] void giveUp(std::string_view what) {
  std::fprintf(stderr, "BrokenFields: %s\n", std::string(what).c_str());
  std::exit(2);
}

uint64_t sectionStart(const std::vector<std::byte> &module, std::string_view name) {
  auto elf = ElfFile::parse(module);
  auto section = elf.ok() ? elf->findSection(name) : Result<std::optional<FileRange>>(FileRange{});
  if (!section.ok() || !*section)
    giveUp(concat("the module has no section ", name));
  return (*section)->offset;
}

Subject makeSubject(const Abi &abi, dlc_target target) {
  Subject subject;
  const NoteFields note{.targets = target == DLC_TARGET_CPU ? 1u << DLC_TARGET_CPU : simtTargets};
  subject.module = moduleWith(wideModel(target).blob(), note);
  const ModuleFile file = locateModule(subject.module).take();
  subject.note = file.noteAt.offset;
  subject.regions = {{"dlc_note", subject.note, sizeof(dlc_note), 1},
                     {"dlc_module", sectionStart(subject.module, "dlc_descriptor"), 0, 1},
                     {"dlc_plan_header", file.planAt.offset, 0, 1}};
  dlc_plan_header header;
  const std::byte *plan = subject.module.data() + file.planAt.offset;
  std::memcpy(&header, plan, sizeof(header));
  subject.regions.push_back(
      {"dlc_table", file.planAt.offset + header.size, sizeof(dlc_table), header.table_count});
  for (uint32_t i = 0; i < header.table_count; ++i) {
    dlc_table table;
    std::memcpy(&table, plan + header.size + i * sizeof(table), sizeof(table));
    subject.regions.push_back(
        {abi.tables.at(table.kind), file.planAt.offset + table.offset, table.stride, table.count});
  }
  return subject;
}

/// A field, wherever its struct stands.
struct Target {
  std::string type;
  AbiField field;
  std::string name() const { return concat(type, ".", field.name); }
};

std::vector<Target> targetsOf(const Abi &abi) {
  std::vector<Target> targets = {{"bytes", {"byte", FieldType::Char, 0, 1, 1}},
                                 {"uint64_t", {"number", FieldType::Unsigned, 0, 8, 1}}};
  std::vector<std::string> types = {"dlc_note", "dlc_module", "dlc_plan_header", "dlc_table"};
  for (const auto &[kind, type] : abi.tables)
    if (abi.structs.contains(type))
      types.push_back(type);
  for (const std::string &type : types)
    for (const AbiField &field : abi.structs.at(type).fields)
      if (field.type != FieldType::Pointer)
        targets.push_back({type, field});
  return targets;
}

using Random = std::mt19937_64;

uint64_t unlikeInteger(uint64_t old, Random &random) {
  static constexpr uint64_t limits[] = {0,
                                        1,
                                        2,
                                        3,
                                        4,
                                        7,
                                        8,
                                        9,
                                        16,
                                        63,
                                        64,
                                        65,
                                        127,
                                        128,
                                        255,
                                        256,
                                        1024,
                                        1 << 16,
                                        1 << 20,
                                        INT32_MAX,
                                        1u << 31,
                                        1ull << 32,
                                        1ull << 40,
                                        1ull << 46,
                                        1ull << 47,
                                        1ull << 56,
                                        1ull << 62,
                                        1ull << 63,
                                        UINT64_MAX,
                                        UINT64_MAX - 1,
                                        UINT64_MAX - 63,
                                        UINT32_MAX,
                                        UINT32_MAX - 1};
  switch (random() % 8) {
  case 0:
    return old + 1;
  case 1:
    return old - 1;
  case 2:
    return random() % 2 ? old * 2 : old / 2;
  case 3:
    return old + (random() % 2 ? DLC_ALIGNMENT : -uint64_t(DLC_ALIGNMENT));
  case 4:
    return old ^ uint64_t(1) << random() % 64;
  case 5:
    return random() % 24;
  default:
    return limits[random() % std::size(limits)];
  }
}

uint64_t unlikeDouble(uint64_t old, Random &random) {
  static constexpr double limits[] = {0,     -0.0,   1,    -1,   0.5,    2,        NAN,      1e9,
                                      1e308, -1e308, 1e40, 1e-3, 5e-324, INFINITY, -INFINITY};
  return random() % 8 == 0 ? old ^ uint64_t(1) << random() % 64
                           : std::bit_cast<uint64_t>(limits[random() % std::size(limits)]);
}

uint64_t unlikeCharacter(Random &random) {
  static constexpr uint8_t some[] = {0,   '\n', 0x1b, 0x7f, 0x80, 0xff,
                                     '"', '[',  '{',  ',',  '\\', '/'};
  return random() % 4 == 0 ? random() & 0xff : some[random() % std::size(some)];
}

/// One broken module.
struct Case {
  std::vector<std::byte> module;
  std::string text;
};

uint64_t readNumber(const std::vector<std::byte> &bytes, uint64_t at, uint64_t size) {
  uint64_t number = 0;
  std::memcpy(&number, bytes.data() + at, size);
  return number;
}

/// Writes another number into an element of the field; nothing if the subject has none.
std::optional<Case> breakField(const Subject &subject, const Target &target, Random &random) {
  std::vector<const Region *> regions;
  for (const Region &region : subject.regions)
    if (region.type == target.type && region.count != 0)
      regions.push_back(&region);
  if (regions.empty())
    return {};
  const Region &region = *regions[random() % regions.size()];
  const uint64_t element = random() % region.count, place = random() % target.field.count,
                 size = target.field.bytes;
  const uint64_t at = region.start + element * region.stride + target.field.offset + place * size;
  Case broken{subject.module, {}};
  const uint64_t old = readNumber(broken.module, at, size);
  uint64_t number = old;
  while (number == old) {
    number = target.field.type == FieldType::Double ? unlikeDouble(old, random)
             : target.field.type == FieldType::Char ? unlikeCharacter(random)
                                                    : unlikeInteger(old, random);
    if (size < 8)
      number &= (uint64_t(1) << size * 8) - 1;
  }
  std::memcpy(broken.module.data() + at, &number, size);
  // The seal would write over a broken note: it gets only the hash of the file.
  if (region.type != "dlc_note")
    sealModule(broken.module);
  else if (target.field.name != "file_hash") {
    const uint64_t hole = subject.note + offsetof(dlc_note, file_hash);
    uint8_t hash[16];
    hashWithHole(broken.module, hole, hash);
    std::memcpy(broken.module.data() + hole, hash, sizeof(hash));
  }
  broken.text = concat(target.name(), " of element ", element, ", place ", place, ": ", old,
                       " becomes ", number);
  return broken;
}

/// Runs cases in a folder of its own, and counts what came of them.
class Session {
public:
  Session(uint64_t seed, bool verbose) : seed(seed), verbose(verbose), abi(readAbi()) {
    subjects = {makeSubject(abi, DLC_TARGET_CPU), makeSubject(abi, DLC_TARGET_CUDA)};
    targets = targetsOf(abi);
    writeSmallData(folder.root(), 40, 20);
    for (const Subject &subject : subjects)
      checkValid(subject);
  }

  size_t fields() const { return targets.size(); }
  bool run(uint64_t number) {
    Random random(seed * 1000003 + number);
    const Target &target = targets[number % targets.size()];
    const uint64_t first = number / targets.size();
    std::optional<Case> broken = breakField(subjects[first % 2], target, random);
    if (!broken) // Only the CUDA subject has images and calls.
      broken = breakField(subjects[(first + 1) % 2], target, random);
    if (!broken)
      giveUp(concat("no valid plan has a ", target.name()));
    std::snprintf(caseText, sizeof(caseText), "case %llu: %s\n",
                  static_cast<unsigned long long>(number), broken->text.c_str());
    if (verbose)
      tellCase();
    constexpr unsigned patience = 120;
    alarm(patience);
    writeFile(path, broken->module);
    return observe();
  }

  uint64_t refused = 0, ran = 0, failed = 0, inspected = 0, findings = 0;

private:
  /// The unbroken module does everything that is asked of broken ones.
  void checkValid(const Subject &subject) {
    writeFile(path, subject.module);
    auto module = Module::load(path);
    if (!module.ok())
      giveUp(module.status().message());
    for (const Status &status : runCommands())
      if (!status.ok())
        giveUp(status.message());
  }

  bool observe() {
    auto module = Module::load(path);
    if (!module.ok()) {
      ++refused;
      return isGoodMessage(module.status()) && module.status().message().starts_with(path + ": ");
    }
    if (isNotForTests((*module)->plan())) {
      ++inspected;
      return isGoodMessage(inspectQuietly());
    }
    bool allRan = true, good = true;
    for (const Status &status : runCommands()) {
      allRan = allRan && status.ok();
      good = good && isGoodMessage(status);
    }
    ++(allRan ? ran : failed);
    return good;
  }

  /// One line that says something, of bounded length.
  bool isGoodMessage(const Status &status) {
    if (verbose && !status.ok())
      std::fprintf(stderr, "  %s\n", std::string(status.message()).c_str());
    const std::string_view message = status.message();
    if (status.ok() || (message.size() > 10 && message.size() <= 1000 && isPrintableUtf8(message)))
      return true;
    std::fprintf(stderr, "a poor message, '%s', in ", std::string(message).c_str());
    tellCase();
    ++findings;
    return false;
  }

  /// Whether to run it would take too long, or run other code than was meant.
  static bool isNotForTests(const Plan &plan) {
    constexpr uint64_t bytes = 64 << 20, tasks = 1 << 16;
    if (plan.stateBytes > bytes)
      return true;
    for (const KernelInfo &kernel : plan.kernels)
      if (kernel.scratchBytes > bytes || kernel.function != wideModelFunction)
        return true;
    for (const dlc_record &record : plan.records)
      if (record.tasks > tasks)
        return true;
    for (const EntryInfo &entry : plan.entries)
      if (entry.arenaBytes > bytes)
        return true;
    return false;
  }

  /// What `command` says, its standard output thrown away.
  template <typename Command> static Status quietly(const Command &command) {
    std::fflush(stdout);
    const int output = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    Status status = command();
    std::fflush(stdout);
    dup2(output, STDOUT_FILENO);
    close(output);
    close(nowhere);
    return status;
  }

  Status inspectQuietly() const {
    return quietly([&] {
      tool::InspectFlags flags;
      flags.module = path;
      flags.all = true;
      Status status = tool::inspect(flags);
      flags.json = true;
      return status.ok() ? tool::inspect(flags) : std::move(status);
    });
  }

  template <typename Flags> Flags flagsFor() const {
    Flags flags;
    flags.module = path;
    flags.device.threads = 2;
    // A plan may claim the CUDA device; a machine that has one needs it not.
    auto module = Module::load(path);
    flags.device.name = module.ok() && (*module)->compiledFor(DLC_TARGET_CPU) ? "cpu" : "simt";
    return flags;
  }

  std::vector<Status> runCommands() const {
    std::vector<Status> statuses;
    statuses.push_back(inspectQuietly());
    statuses.push_back(quietly([&] {
      auto flags = flagsFor<tool::TrainFlags>();
      flags.data = "idx:" + folder.root();
      flags.steps = 2;
      return tool::train(flags);
    }));
    statuses.push_back(quietly([&] {
      auto flags = flagsFor<tool::EvalFlags>();
      flags.data = "idx:" + folder.root();
      flags.steps = 1;
      return tool::evaluate(flags);
    }));
    statuses.push_back(quietly([&] {
      auto flags = flagsFor<tool::InferFlags>();
      flags.data = "idx:" + folder.root();
      flags.steps = 1;
      return tool::infer(flags);
    }));
    return statuses;
  }

  uint64_t seed;
  bool verbose;
  Abi abi;
  std::vector<Subject> subjects;
  std::vector<Target> targets;
  TemporaryFolder folder;
  const std::string path = folder.path("broken.so");
};

} // namespace

int main(int argc, char **argv) {
  uint64_t cases = 10000, seed = 1;
  std::optional<uint64_t> only;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--verbose")
      verbose = true;
    else if (i + 1 < argc && flag == "--cases")
      cases = std::stoull(argv[++i]);
    else if (i + 1 < argc && flag == "--seed")
      seed = std::stoull(argv[++i]);
    else if (i + 1 < argc && flag == "--only")
      only = std::stoull(argv[++i]);
    else
      giveUp("usage: BrokenFields [--cases N] [--seed S] [--only CASE] [--verbose]");
  }
  std::signal(SIGALRM, endCase);
  if (__sanitizer_set_death_callback)
    __sanitizer_set_death_callback(tellCase);
  else
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
      std::signal(signal, endCase);
  Session session(seed, verbose);
  bool good = true;
  for (uint64_t i = only.value_or(0); good && i < (only ? *only + 1 : cases); ++i)
    good = session.run(i);
  std::printf(
      "%llu cases over %zu fields: %llu refused, %llu ran, %llu failed in one line, %llu inspected "
      "only\n",
      static_cast<unsigned long long>(only ? 1 : cases), session.fields(),
      static_cast<unsigned long long>(session.refused),
      static_cast<unsigned long long>(session.ran), static_cast<unsigned long long>(session.failed),
      static_cast<unsigned long long>(session.inspected));
  return good ? 0 : 1;
}
