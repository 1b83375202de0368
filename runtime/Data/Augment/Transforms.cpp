// Reading lists of transforms.
#include "runtime/Data/Augment/Transforms.h"
#include "runtime/Core/File.h"
#include "runtime/Core/NearestName.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace dlc::runtime {

bool Transform::draws() const {
  using enum TransformKind;
  return kind != Resize && kind != CenterCrop && kind != Normalise;
}

bool Transform::setsSize() const {
  using enum TransformKind;
  return kind == RandomResizedCrop || kind == CenterCrop || (kind == Resize && width != 0);
}

bool Transform::mixes() const {
  return kind == TransformKind::Mixup || kind == TransformKind::CutMix;
}

bool TransformList::setsSize() const {
  return std::ranges::any_of(all, [](const Transform &each) { return each.setsSize(); });
}

namespace {

/// Larger images are no training data, and their squares are bytes of memory.
constexpr uint32_t largestSide = 1 << 14;

/// What may stand behind a colon.
struct Option {
  std::string_view name, usage;
  /// False for a text that it does not take.
  bool (*read)(std::string_view text, Transform &into);
};

bool readWhole(std::string_view text, uint32_t &into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size() && into >= 1 &&
         into <= largestSide;
}

bool readReal(std::string_view text, Range allowed, double &into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(into) &&
         into >= allowed.least && into <= allowed.most;
}

/// "0.08-1"
bool readRange(std::string_view text, Range allowed, Range &into) {
  const size_t dash = text.find('-');
  return dash != text.npos && readReal(text.substr(0, dash), allowed, into.least) &&
         readReal(text.substr(dash + 1), {into.least, allowed.most}, into.most);
}

/// "0.485/0.456/0.406"
bool readReals(std::string_view text, Range allowed, std::vector<float> &into) {
  for (into.clear();;) {
    const size_t slash = std::min(text.find('/'), text.size());
    double number = 0;
    if (!readReal(text.substr(0, slash), allowed, number))
      return false;
    into.push_back(static_cast<float>(number));
    if (slash == text.size())
      return true;
    text.remove_prefix(slash + 1);
  }
}

/// "224" or "256x320"
bool readSides(std::string_view text, Transform &into) {
  const size_t cross = text.find('x');
  return cross == text.npos ? readWhole(text, into.height)
                            : readWhole(text.substr(0, cross), into.height) &&
                                  readWhole(text.substr(cross + 1), into.width);
}

bool readSquare(std::string_view text, Transform &into) {
  if (!readSides(text, into))
    return false;
  if (into.width == 0)
    into.width = into.height;
  return true;
}

bool readHeight(std::string_view text, Transform &into) { return readWhole(text, into.height); }

template <double Transform::*member, double least, double most>
bool readAmount(std::string_view text, Transform &into) {
  return readReal(text, {least, most}, into.*member);
}

constexpr double smallest = 1e-6, largest = 1e6;

constexpr Option filters[] = {{"bilinear", "bilinear",
                               [](std::string_view, Transform &into) {
                                 into.filter = Filter::Bilinear;
                                 return true;
                               }},
                              {"bicubic", "bicubic", [](std::string_view, Transform &into) {
                                 into.filter = Filter::Bicubic;
                                 return true;
                               }}};

constexpr Option parts[] = {filters[0],
                            filters[1],
                            {"area", "area=LEAST-MOST in parts of the whole, as area=0.08-1",
                             [](std::string_view text, Transform &into) {
                               return readRange(text, {smallest, 1}, into.area);
                             }},
                            {"aspect",
                             "aspect=LEAST-MOST of width to height, as aspect=0.75-1.3333",
                             [](std::string_view text, Transform &into) {
                               return readRange(text, {smallest, largest}, into.aspect);
                             }}};

constexpr Option colours[] = {
    {"brightness", "brightness=B from 0 to 1", readAmount<&Transform::brightness, 0.0, 1.0>},
    {"contrast", "contrast=C from 0 to 1", readAmount<&Transform::contrast, 0.0, 1.0>},
    {"saturation", "saturation=S from 0 to 1", readAmount<&Transform::saturation, 0.0, 1.0>},
    {"hue", "hue=H from 0 to 0.5", readAmount<&Transform::hue, 0.0, 0.5>}};

constexpr Option moments[] = {
    {"mean", "mean=M or a number for each channel, as mean=0.485/0.456/0.406",
     [](std::string_view text, Transform &into) {
       return readReals(text, {-largest, largest}, into.mean);
     }},
    {"std", "std=S or a number for each channel, as std=0.229/0.224/0.225",
     [](std::string_view text, Transform &into) {
       return readReals(text, {smallest, largest}, into.deviation);
     }}};

/// How a transform is written.
struct Form {
  TransformKind kind;
  std::string_view name, usage;
  /// What stands right behind the name; null: nothing.
  bool (*read)(std::string_view text, Transform &into) = nullptr;
  std::span<const Option> options = {};
  /// How many of the options must be there.
  size_t needed = 0;
};

constexpr Form forms[] = {
    {TransformKind::Resize, "resize", "resize:S by the shorter side, or resize:HxW", readSides,
     filters},
    {TransformKind::RandomResizedCrop, "random-resized-crop",
     "random-resized-crop:S, with :area=0.08-1, :aspect=0.75-1.3333 or :bicubic behind it",
     readSquare, parts},
    {TransformKind::CenterCrop, "center-crop", "center-crop:S or center-crop:HxW", readSquare},
    {TransformKind::Crop, "crop", "crop:N, N pixels of zeros around", readHeight},
    {TransformKind::Flip, "flip", "flip alone"},
    {TransformKind::Rotate, "rotate", "rotate:DEGREES from 0 to 180",
     readAmount<&Transform::amount, 0.0, 180.0>},
    {TransformKind::ColourJitter, "colour-jitter",
     "colour-jitter with some of :brightness=B, :contrast=C, :saturation=S and :hue=H", nullptr,
     colours, 1},
    {TransformKind::Pca, "pca", "pca:DEVIATION from 0 to 1, as pca:0.1",
     readAmount<&Transform::amount, 0.0, 1.0>},
    {TransformKind::Cutout, "cutout", "cutout:S, a square of S x S pixels", readHeight},
    {TransformKind::Normalise, "normalise", "normalise:mean=M:std=S, numbers by channel as 0.5/0.4",
     nullptr, moments, 2},
    {TransformKind::Mixup, "mixup", "mixup:ALPHA above 0, as mixup:0.2",
     readAmount<&Transform::amount, smallest, largest>},
    {TransformKind::CutMix, "cutmix", "cutmix:ALPHA above 0, as cutmix:1",
     readAmount<&Transform::amount, smallest, largest>}};

/// Takes what lies in front of the next `separator` off the front of a text, and it with it.
std::string_view takeUpTo(char separator, std::string_view &text) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const size_t begin = std::min(text.find_first_not_of(space), text.size());
  return text.substr(begin, text.find_last_not_of(space) + 1 - begin);
}

/// "; did you mean 'flip'?", or all that there are.
template <typename Named> std::string advice(std::string_view word, std::span<const Named> all) {
  std::vector<std::string_view> names;
  std::string list;
  for (const Named &each : all) {
    names.push_back(each.name);
    addItem(list, each.name);
  }
  const std::string_view nearest = nearestName(word, names);
  return nearest.empty() ? concat("; there are: ", list)
                         : concat("; did you mean '", nearest, "'?");
}

Result<const Option *> findOption(const Form &form, std::string_view name) {
  for (const Option &option : form.options)
    if (option.name == name)
      return &option;
  return invalid("'", form.name, "' has no option '", excerpt(name), "'",
                 advice(name, form.options));
}

/// "name:argument:option=value:option"
Result<Transform> parseTransform(std::string_view text) {
  std::string_view rest = text;
  const std::string_view name = takeUpTo(':', rest);
  const auto *form = std::ranges::find(forms, name, &Form::name);
  if (form == std::end(forms))
    return invalid("there is no transform '", excerpt(name), "'",
                   advice(name, std::span<const Form>(forms)));
  const auto refusal = [&] {
    return invalid("expected ", form->usage, ", found '", excerpt(text), "'");
  };
  Transform found = {.kind = form->kind, .text = std::string(text)};
  const bool ends = text.ends_with(':');
  if (form->read && !form->read(takeUpTo(':', rest), found))
    return refusal();
  size_t options = 0;
  for (; !rest.empty(); ++options) {
    if (form->options.empty())
      return refusal();
    std::string_view value = takeUpTo(':', rest);
    const bool hasValue = value.find('=') != value.npos;
    const std::string_view option = takeUpTo('=', value);
    DLC_TRY_ASSIGN(known, findOption(*form, option));
    const bool wantsValue = known->usage != known->name;
    if (hasValue != wantsValue || !known->read(value, found))
      return invalid("'", form->name, "' expects ", known->usage, ", found '", excerpt(text), "'");
  }
  if (ends || options < form->needed)
    return refusal();
  if (found.kind == TransformKind::Normalise && (found.mean.empty() || found.deviation.empty()))
    return refusal();
  return found;
}

/// The lines of a file as one list.
Result<std::string> readList(const std::string &path) {
  constexpr uint64_t longest = 1 << 16;
  DLC_TRY_ASSIGN(bytes, readWholeFile(path, longest));
  std::string list;
  for (std::string_view rest(reinterpret_cast<const char *>(bytes.data()), bytes.size());
       !rest.empty();) {
    std::string_view line = takeUpTo('\n', rest);
    line = trimmed(takeUpTo('#', line));
    if (line.empty())
      continue;
    if (!list.empty() && !list.ends_with(','))
      list += ',';
    list += line;
  }
  if (list.ends_with(','))
    list.pop_back();
  return list;
}

constexpr std::string_view testMark = "test:";

Result<Augmentation> parseList(std::string_view text) {
  Augmentation found;
  for (bool more = !text.empty(); more;) {
    more = text.find(',') != text.npos;
    std::string_view part = trimmed(takeUpTo(',', text));
    if (part.starts_with(testMark)) {
      if (std::exchange(found.hasTest, true))
        return invalid("'test:' is there twice");
      found.text += concat(found.text.empty() ? "" : ",", testMark);
      part = trimmed(part.substr(testMark.size()));
      if (part.empty())
        continue;
    } else if (!found.text.empty() && !found.text.ends_with(testMark)) {
      found.text += ',';
    }
    if (part.empty())
      return invalid("expected transforms with commas between them, found nothing behind '",
                     excerpt(found.text), "'");
    DLC_TRY_ASSIGN(transform, parseTransform(part));
    if (transform.mixes() && found.hasTest)
      return invalid("'", excerpt(part),
                     "' mixes the batches of training, and stands in front of "
                     "'test:'");
    TransformList &split = found.hasTest ? found.test : found.train;
    std::vector<Transform> &list = transform.mixes() ? split.mixes : split.all;
    for (const Transform &other : list)
      if (other.kind == transform.kind)
        return invalid("'", part.substr(0, part.find(':')), "' is there twice: '",
                       excerpt(other.text), "' and '", excerpt(part), "'");
    found.text += part;
    list.push_back(std::move(transform));
  }
  if (!found.hasTest)
    std::ranges::copy_if(found.train.all, std::back_inserter(found.test.all),
                         [](const Transform &each) { return !each.draws(); });
  return found;
}

} // namespace

Result<Augmentation> parseAugmentation(std::string_view text) {
  if (!text.starts_with('@'))
    return parseList(text);
  const std::string path(text.substr(1));
  DLC_TRY_ASSIGN(list, readList(path));
  Result<Augmentation> found = parseList(list);
  return found.ok() ? std::move(found) : Result<Augmentation>(found.takeStatus().in(path));
}

} // namespace dlc::runtime
