// Agreement among ranks, and values that are kept equal.
#include "runtime/Training/Ranks.h"
#include "runtime/Collectives/RecordSum.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"
#include "runtime/Device/Device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unistd.h>

namespace dlc::runtime {

/// "rank 2", "ranks 1, 3"
static std::string rankNames(const std::vector<unsigned> &ranks) {
  std::string names;
  for (unsigned rank : ranks)
    addItem(names, std::to_string(rank));
  return concat(ranks.size() == 1 ? "rank " : "ranks ", names);
}

/// The failures of all ranks, those that are alike together.
static Status failuresOf(const std::vector<std::string> &messages) {
  std::map<std::string, std::vector<unsigned>> byMessage;
  for (unsigned rank = 0; rank < messages.size(); ++rank)
    if (!messages[rank].empty())
      byMessage[messages[rank]].push_back(rank);
  if (byMessage.empty())
    return {};
  std::string text;
  for (const auto &[message, ranks] : byMessage)
    text += (text.empty() ? "" : "; ") +
            (ranks.size() == messages.size() ? message : rankNames(ranks) + ": " + message);
  return Status(StatusCode::Failed, text);
}

Status agree(Transport &ranks, const Status &own, const Facts &facts) {
  if (ranks.ranks() == 1)
    return own.ok() ? Status() : Status(own.code(), own.message());
  std::string together = own.ok() ? std::string() : concat("rank ", ranks.rank(), " has failed");
  for (const auto &[name, value] : facts)
    together += concat(value.size(), " ", value);
  DLC_TRY_ASSIGN(agreed, ranks.isSame(std::as_bytes(std::span(together))));
  if (agreed)
    return {};
  DLC_TRY_ASSIGN(messages, ranks.gather(own.message()));
  DLC_TRY(failuresOf(messages));
  std::string differences;
  for (const auto &[name, value] : facts) {
    DLC_TRY_ASSIGN(values, ranks.gather(value));
    std::map<std::string, std::vector<unsigned>> others;
    for (unsigned rank = 0; rank < values.size(); ++rank)
      if (values[rank] != values[0])
        others[values[rank]].push_back(rank);
    for (const auto &[other, who] : others)
      differences += concat(differences.empty() ? "" : "; ", rankNames(who),
                            who.size() == 1 ? " has " : " have ", name, " ", other, ", rank 0 has ",
                            values[0]);
  }
  return differences.empty() ? Status() : invalid("the ranks differ: ", differences);
}

/// Hashes a field of a sample; a picture as it is when it is decoded as small as can be.
static Status hashField(const Dataset &dataset, uint64_t sample, size_t field,
                        std::vector<std::byte> &room, uint8_t *hash) {
  if (dataset.fields()[field].pictures) {
    auto all = [](uint32_t height, uint32_t width) {
      return PictureRequest{{0, 0, double(height), double(width)}, 1, 1};
    };
    Picture picture;
    DLC_TRY(dataset.readPicture(sample, field, all, picture).takeStatus());
    hashBytes(std::as_bytes(std::span(picture.bytes)), hash);
    return {};
  }
  DLC_TRY_ASSIGN(content, sampleAt(dataset, sample, field, room));
  hashBytes(std::span(content, sampleBytes(dataset.fields()[field])), hash);
  return {};
}

/// A hash of a field of a sample: none of one that is damaged, which is said where it is due.
static Status hashSample(const Dataset &dataset, uint64_t sample, size_t field,
                         std::vector<std::byte> &room, uint8_t *hash) {
  Status hashed = hashField(dataset, sample, field, room, hash);
  return hashed.code() == StatusCode::Damaged ? Status() : std::move(hashed);
}

Result<std::string> describeSamples(const Dataset &dataset) {
  const uint64_t most = isInMemory(dataset) ? 4096 : 64;
  const uint64_t count = std::min(most, dataset.size());
  std::vector<uint8_t> hashes;
  std::vector<std::byte> room;
  for (uint64_t i = 0; i < count; ++i)
    for (size_t field = 0; field < dataset.fields().size(); ++field) {
      // i * size / count without an overflow of the product.
      const uint64_t sample = i * (dataset.size() / count) + i * (dataset.size() % count) / count;
      hashes.resize(hashes.size() + 16);
      DLC_TRY(hashSample(dataset, sample, field, room, hashes.data() + hashes.size() - 16));
    }
  uint8_t hash[16];
  hashBytes(std::as_bytes(std::span(hashes)), hash);
  return concat(dataset.size(), " samples, ", hexadecimal(hash));
}

/// What rank 0 gives to the others: all that is equal on all ranks by construction, and statistics.
static bool isShared(dlc_role role) {
  return role == DLC_ROLE_PARAMETER || role == DLC_ROLE_SLOT || role == DLC_ROLE_STATISTIC ||
         role == DLC_ROLE_COUNTER;
}

static Status broadcastMetadata(Transport &ranks, Metadata &metadata) {
  std::string text;
  for (const auto &[key, value] : metadata)
    text += concat(key.size(), " ", value.size(), " ") + key + value;
  DLC_TRY(ranks.broadcast(text));
  metadata.clear();
  for (std::string_view rest = text; !rest.empty();) {
    size_t keySize = 0, valueSize = 0;
    if (!takeNumber(rest, keySize) || !takeNumber(rest, valueSize))
      return damaged("metadata of rank 0");
    metadata[std::string(rest.substr(0, keySize))] = rest.substr(keySize, valueSize);
    rest.remove_prefix(keySize + valueSize);
  }
  return {};
}

Status broadcastRun(Transport &ranks, Metadata &metadata, State &state) {
  if (ranks.ranks() == 1)
    return {};
  DLC_TRY(broadcastMetadata(ranks, metadata));
  const std::vector<VariableInfo> &variables = state.module()->plan().variables;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!isShared(variables[i].role))
      continue;
    std::vector<std::byte> value(variables[i].type.logicalBytes());
    DLC_TRY(state.read(i, value));
    DLC_TRY(ranks.broadcast(value));
    DLC_TRY(state.write(i, value));
  }
  return {};
}

Result<CarriedStates> gatherStates(Transport &ranks, const State &state) {
  std::vector<std::byte> mine;
  if (ranks.ranks() == 1)
    return CarriedStates();
  for (const Carried &carried : carriedBy(state)) {
    const size_t begin = mine.size();
    mine.resize(begin + carried.type.logicalBytes());
    DLC_TRY(readCarried(state, carried, std::span(mine).subspan(begin)));
  }
  return mine.empty() ? Result<CarriedStates>(CarriedStates()) : ranks.collect(mine);
}

Status scatterStates(Transport &ranks, const CarriedStates &all, State &state) {
  const std::vector<Carried> each = carriedBy(state);
  if (ranks.ranks() == 1 || each.empty())
    return {};
  // A checkpoint that has not all residuals gives states alone.
  uint64_t bytes = ranks.rank() == 0 ? all[0].size() : 0;
  DLC_TRY(ranks.broadcast(std::as_writable_bytes(std::span(&bytes, 1))));
  std::vector<std::byte> mine(bytes);
  DLC_TRY(ranks.distribute(all, mine));
  std::span<const std::byte> rest = mine;
  for (const Carried &carried : each) {
    if (rest.empty())
      break;
    const auto part = rest.first(carried.type.logicalBytes());
    DLC_TRY(writeCarried(state, carried, part));
    rest = rest.subspan(part.size());
  }
  return {};
}

Status shareResiduals(Transport &ranks, const CarriedStates &all, State &state) {
  const bool known = hasResiduals(state, all);
  size_t begin = 0;
  for (const Carried &carried : carriedBy(state)) {
    if (carried.isResidual) {
      const std::span<float> residual = state.residual(carried.index);
      for (size_t i = 0; known && i < residual.size(); ++i) {
        double sum = 0;
        for (const std::string &of : all)
          sum +=
              loadElement(DLC_F32, std::as_bytes(std::span(of)).data() + begin + i * sizeof(float));
        residual[i] = static_cast<float>(sum / static_cast<double>(all.size()));
      }
      DLC_TRY(ranks.broadcast(std::as_writable_bytes(residual)));
    }
    begin += carried.type.logicalBytes();
  }
  return {};
}

Result<unsigned> countBatches(Transport &ranks, const Status &own, bool has) {
  double counts[] = {double(own.ok() && has), double(!own.ok())};
  if (ranks.ranks() > 1)
    DLC_TRY(ranks.sum(counts));
  if (!own.ok())
    return Status(own.code(), own.message());
  if (counts[1] != 0)
    return failure(StatusCode::Failed, "the batch of another rank was refused");
  return static_cast<unsigned>(counts[0]);
}

Status averageVariable(Transport &ranks, State &state, size_t index, double weight, double all) {
  const TensorType &type = state.module()->plan().variables[index].type;
  const uint64_t size = dtypeSize(type.dtype);
  std::vector<std::byte> value(type.logicalBytes());
  std::vector<double> numbers(type.elementCount());
  DLC_TRY(state.read(index, value));
  for (size_t k = 0; k < numbers.size(); ++k)
    numbers[k] = weight == 0 ? 0 : weight * loadElement(type.dtype, value.data() + k * size);
  DLC_TRY(ranks.sum(numbers));
  for (size_t k = 0; k < numbers.size(); ++k)
    storeElement(type.dtype, numbers[k] / all, value.data() + k * size);
  return state.write(index, value);
}

Status averageStatistics(Transport &ranks, State &state, double weight, double all) {
  if (ranks.ranks() == 1)
    return {};
  const std::vector<VariableInfo> &variables = state.module()->plan().variables;
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i].role == DLC_ROLE_STATISTIC && !isWhole(variables[i].type.dtype))
      DLC_TRY(averageVariable(ranks, state, i, weight, all));
  return {};
}

Status averageStatistics(Transport &ranks, State &state) {
  return averageStatistics(ranks, state, 1, ranks.ranks());
}

/// Whether a record of `entry` writes to a variable.
static bool writes(const Plan &plan, const EntryInfo &entry, const VariableInfo &variable) {
  for (uint32_t i = 0; i < entry.records.count; ++i) {
    const dlc_range arguments = plan.records[entry.records.first + i].arguments;
    for (uint32_t a = 0; a < arguments.count; ++a) {
      const dlc_argument &argument = plan.arguments[arguments.first + a];
      if (argument.space == DLC_SPACE_STATE && (argument.access & DLC_WRITE) != 0 &&
          argument.offset < variable.offset + variable.bytes &&
          variable.offset < argument.offset + argument.bytes)
        return true;
    }
  }
  return false;
}

Status averageGradientSums(Transport &ranks, State &state, const EntryInfo &accumulate) {
  if (ranks.ranks() == 1)
    return {};
  const Plan &plan = state.module()->plan();
  for (size_t i = 0; i < plan.variables.size(); ++i)
    if (plan.variables[i].role == DLC_ROLE_SLOT && writes(plan, accumulate, plan.variables[i]))
      DLC_TRY(averageVariable(ranks, state, i, 1, ranks.ranks()));
  return {};
}

Status compareParameters(Transport &ranks, const State &state) {
  if (ranks.ranks() == 1)
    return {};
  const std::vector<VariableInfo> &variables = state.module()->plan().variables;
  std::string hashes;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].role != DLC_ROLE_PARAMETER)
      continue;
    std::vector<std::byte> value(variables[i].type.logicalBytes());
    uint8_t hash[16];
    DLC_TRY(state.read(i, value));
    hashBytes(value, hash);
    hashes.append(reinterpret_cast<const char *>(hash), sizeof(hash));
  }
  DLC_TRY_ASSIGN(same, ranks.isSame(std::as_bytes(std::span(hashes))));
  if (same)
    return {};
  DLC_TRY_ASSIGN(all, ranks.gather(hashes));
  std::vector<unsigned> others;
  std::set<std::string> names;
  for (unsigned rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == all[0])
      continue;
    others.push_back(rank);
    size_t at = 0;
    for (const VariableInfo &variable : variables)
      if (variable.role == DLC_ROLE_PARAMETER) {
        if (all[rank].compare(at, 16, all[0], at, 16) != 0)
          names.insert(std::string(variable.name));
        at += 16;
      }
  }
  std::string list;
  for (const std::string &name : names)
    addItem(list, name);
  return failure(StatusCode::Failed, rankNames(others), others.size() == 1 ? " has" : " have",
                 " other parameters than rank 0: ", list);
}

Status checkDataParallel(const Transport &ranks, const Module &module) {
  if (ranks.ranks() == 1 || module.plan().dataParallel)
    return {};
  return unsupported(module.path(), ": was compiled without --data-parallel, and there are ",
                     ranks.ranks(), " ranks");
}

std::string compressionWarning(const Plan &plan, unsigned ranks) {
  uint64_t compressed = 0, exact = 0;
  for (const dlc_record &record : plan.records)
    if (record.kind == DLC_RECORD_COLLECTIVE && record.index != DLC_COLLECTIVE_SUM) {
      const uint64_t bytes = plan.arguments[record.arguments.first].bytes;
      compressed += bytesSent(static_cast<dlc_collective>(record.index), bytes);
      exact += bytes;
    }
  // What a rank receives: of each other one its part; and twice what is summed, but for its own.
  if (compressed == 0 || ranks * compressed <= 2 * exact)
    return {};
  const uint64_t tenths = 10 * ranks * compressed / (2 * exact);
  return concat("compressed sums move ", tenths / 10, ".", tenths % 10,
                " times the bytes of exact ones among ", ranks,
                " ranks; they save some among up to ", 2 * exact / compressed);
}

Status scaleByRanks(Context &context, unsigned count) {
  for (const auto &[name, value] : {std::pair(ranksScale, 1.0 / count), {ranksCount, count}})
    if (context.state()->module()->plan().findScalar(name))
      DLC_TRY(context.setScalar(name, value));
  return {};
}

Status scaleByRanks(Context &context) {
  return scaleByRanks(context, context.state()->device()->ranks().ranks());
}

/// Of the name of a machine.
static constexpr size_t hostBytes = 256;

/// What another rank must know of these: the machine, the group, then the cores.
static std::string factsOf(const Processors &own) {
  char host[hostBytes] = "";
  gethostname(host, sizeof(host) - 1);
  std::vector<uint64_t> facts = {own.quotaGroup};
  facts.insert(facts.end(), own.cores.begin(), own.cores.end());
  return std::string(host, sizeof(host)) +
         std::string(reinterpret_cast<const char *>(facts.data()), facts.size() * sizeof(uint64_t));
}

Result<unsigned> threadsOfRank(Transport &ranks, const Processors &own) {
  const std::string mine = factsOf(own);
  DLC_TRY_ASSIGN(all, ranks.gather(mine));
  unsigned onCores = 0, inGroup = 0;
  for (const std::string &other : all) {
    if (other.compare(0, hostBytes, mine, 0, hostBytes) != 0)
      continue;
    std::vector<uint64_t> facts((other.size() - hostBytes) / sizeof(uint64_t));
    std::memcpy(facts.data(), other.data() + hostBytes, facts.size() * sizeof(uint64_t));
    inGroup += facts[0] == own.quotaGroup;
    onCores += std::ranges::find_first_of(facts.begin() + 1, facts.end(), own.cores.begin(),
                                          own.cores.end()) != facts.end();
  }
  return own.threads(std::max(1u, onCores), inGroup);
}

} // namespace dlc::runtime
