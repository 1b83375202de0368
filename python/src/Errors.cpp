// Codes become exceptions, fields become arguments.
#include "Errors.h"

#include <algorithm>
#include <cctype>

namespace dlc::python {

/// Fields that Python gives in another way.
static constexpr std::pair<std::string_view, std::string_view> others[] = {
    {"`data`, `train` or `batches.fill` gives them", "`data` gives them"},
    {"`batches.fill`", "`data`"},
    {"`batches.perEpoch`", "`batches_per_epoch`"},
};

/// checkpointEvery: checkpoint_every.
static std::string snakeCase(std::string_view name) {
  std::string snake;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)))
      snake += '_';
    snake += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return snake;
}

static bool isField(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalpha(c); }) &&
         std::islower(static_cast<unsigned char>(text[0]));
}

nb::object lineOf(std::string_view line) {
  std::string text(line);
  for (const auto &[field, argument] : others)
    for (size_t at = 0; (at = text.find(field, at)) != std::string::npos; at += argument.size())
      text.replace(at, field.size(), argument);
  for (size_t at = 0; (at = text.find('`', at)) != std::string::npos; ++at) {
    const size_t end = std::min(text.find('`', at + 1), text.size());
    const std::string_view name = std::string_view(text).substr(at + 1, end - at - 1);
    if (isField(name) && end < text.size())
      text.replace(at + 1, name.size(), snakeCase(name));
  }
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

void raise(StatusCode code, std::string_view message) {
  static constexpr const char *types[] = {
      "Error",        "InvalidArgumentError", "IoError",
      "DamagedError", "UnsupportedError",     "OutOfMemoryError",
      "FailedError"};
  const nb::object type =
      nb::module_::import_("dlc._errors").attr(types[static_cast<size_t>(code)]);
  PyErr_SetObject(type.ptr(), lineOf(message).ptr());
  throw nb::python_error();
}

} // namespace dlc::python
