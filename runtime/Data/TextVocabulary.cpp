// Vocabularies of texts: those of characters and of words are counted anew, and so are the same
// that a training on the same text had.
#include "runtime/Data/BytePairDataset.h"
#include "runtime/Data/TextUnits.h"
#include "runtime/Data/Vocabulary.h"

namespace dlc::runtime {
namespace {

std::string textOf(uint32_t code) {
  std::string text;
  appendCharacter(text, code);
  return text;
}
std::string textOf(std::string_view word) { return std::string(word); }

/// Units of a file, each as its bytes.
template <typename Units> class UnitVocabulary : public Vocabulary {
public:
  static constexpr bool isWords = std::is_same_v<Units, Words>;

  static Result<std::unique_ptr<const Vocabulary>> open(const std::string &path) {
    DLC_TRY_ASSIGN(file, openText(path));
    Units units;
    DLC_TRY(forEachUnit<Units>(file, [&](const auto &unit) { units.count(unit); }));
    auto vocabulary = std::make_unique<UnitVocabulary>();
    for (const auto &unit : units.order()) {
      vocabulary->numbers.emplace(textOf(unit), static_cast<int32_t>(vocabulary->all.size()));
      vocabulary->all.push_back(textOf(unit));
    }
    vocabulary->path = path;
    return std::unique_ptr<const Vocabulary>(std::move(vocabulary));
  }

  uint64_t size() const override { return all.size(); }
  bool rareShareLast() const override { return Units::rareShareLast; }
  Result<std::vector<int32_t>> encode(std::string_view text) const override {
    std::vector<int32_t> found;
    std::string unknown;
    DLC_TRY(Units::take(text, 0, true, [&](const auto &unit) {
              const auto known = numbers.find(textOf(unit));
              if (known != numbers.end())
                found.push_back(known->second);
              else if (unknown.empty())
                unknown = textOf(unit);
            }).takeStatus());
    if (!unknown.empty())
      return invalid("'", printable(excerpt(unknown)), "' is not in ", path);
    return found;
  }
  std::string decode(int32_t number, std::optional<int32_t> before) const override {
    const std::string &text = all[static_cast<size_t>(number)];
    if (!isWords)
      return text;
    if (text == Words::lineEnd)
      return "\n";
    const bool isFirst = !before || all[static_cast<size_t>(*before)] == Words::lineEnd;
    return isFirst ? text : concat(" ", text);
  }
  std::optional<int32_t> beginning() const override {
    const auto found = numbers.find(std::string(isWords ? Words::lineEnd : "\n"));
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  }

private:
  std::string path;
  std::vector<std::string> all;
  std::unordered_map<std::string, int32_t> numbers;
};

} // namespace

Result<std::unique_ptr<const Vocabulary>> openVocabulary(const std::string &description) {
  const std::string_view kind = std::string_view(description).substr(0, description.find(':') + 1);
  const std::string path = description.substr(kind.size());
  if (kind == "text:" && !path.empty())
    return UnitVocabulary<Characters>::open(path);
  if (kind == "words:" && !path.empty())
    return UnitVocabulary<Words>::open(path);
  if (kind == "bpe:" && !path.empty()) {
    DLC_TRY_ASSIGN(pairs, openBytePairs(path));
    return std::unique_ptr<const Vocabulary>(std::move(pairs));
  }
  return invalid("data '", description, "': expected text:FILE, words:FILE or bpe:FILE");
}

} // namespace dlc::runtime
