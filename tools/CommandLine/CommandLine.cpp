// CLI11's errors say what the parser met. Here they become what the user did.
#include "tools/CommandLine/CommandLine.h"
#include "runtime/Core/NearestName.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <sstream>

namespace dlc::tool {

static std::string join(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    runtime::addItem(text, word);
  return text;
}

/// "; did you mean 'train'?", or empty.
static std::string meant(const std::string &word, const std::vector<std::string> &candidates) {
  const std::string nearest(runtime::nearestName(word, {candidates.begin(), candidates.end()}));
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

/// The same for flags: dashes are no letters of a name.
static std::string meantFlag(const std::string &flag, const std::vector<std::string> &flags) {
  const auto bare = [](const std::string &text) {
    return text.substr(std::min(text.find_first_not_of('-'), text.size()));
  };
  std::vector<std::string> names;
  std::transform(flags.begin(), flags.end(), std::back_inserter(names), bare);
  const std::string nearest(runtime::nearestName(bare(flag), {names.begin(), names.end()}));
  const auto it = std::find(names.begin(), names.end(), nearest);
  return nearest.empty() ? "" : "; did you mean '" + flags[size_t(it - names.begin())] + "'?";
}

/// "dlc-run train": as one types it.
static std::string nameOf(const CLI::App &app) {
  return app.get_parent() ? nameOf(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

/// The command that was asked for, or the tool itself.
static const CLI::App &activeCommand(const CLI::App &root) {
  const auto chosen = root.get_subcommands();
  return chosen.empty() ? root : *chosen.front();
}

static std::vector<std::string> flagsOf(const CLI::App &app) {
  std::vector<std::string> flags;
  for (const CLI::Option *option : app.get_options()) {
    for (const std::string &name : option->get_lnames())
      flags.push_back("--" + name);
    for (const std::string &name : option->get_snames())
      flags.push_back("-" + name);
  }
  return flags;
}

static std::vector<std::string> commandsOf(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    names.push_back(command->get_name());
  return names;
}

/// "; dlc-run train has it", for a flag of another command; or empty.
static std::string whoHas(const CLI::App &root, const std::string &flag) {
  for (const CLI::App *command : root.get_subcommands([](const CLI::App *) { return true; }))
    for (const std::string &other : flagsOf(*command))
      if (other == flag)
        return "; " + nameOf(*command) + " has it";
  return "";
}

static std::string describeFlag(const CLI::App &root, const std::string &argument,
                                const Advice &advice) {
  const CLI::App &command = activeCommand(root);
  const std::string flag = argument.substr(0, argument.find('='));
  std::string hint = advice(flag);
  if (!hint.empty())
    hint = "; " + hint;
  if (hint.empty())
    hint = meantFlag(flag, flagsOf(command));
  if (hint.empty())
    hint = whoHas(root, flag);
  if (hint.empty())
    hint = "; " + nameOf(command) + " --help lists the flags";
  return "unknown flag '" + flag + "'" + hint;
}

static std::string describeCommand(const std::string &word,
                                   const std::vector<std::string> &commands, const Advice &advice) {
  std::string hint = advice(word);
  if (!hint.empty())
    hint = "; " + hint;
  if (hint.empty())
    hint = meant(word, commands);
  if (hint.empty())
    hint = "; there are " + join(commands);
  return "unknown command '" + word + "'" + hint;
}

/// An argument that no flag and no place of the command takes.
static std::string describeLeftOver(const CLI::App &root, const std::string &argument,
                                    const Advice &advice) {
  if (argument.size() > 1 && argument[0] == '-')
    return describeFlag(root, argument, advice);
  const std::vector<std::string> commands = commandsOf(root);
  if (!commands.empty() && &activeCommand(root) == &root)
    return describeCommand(argument, commands, advice);
  return "unexpected argument '" + argument + "'; " + nameOf(activeCommand(root)) +
         " --help shows what it takes";
}

/// CLI11 puts the option's name in front of what it says.
static const CLI::Option *optionOf(const CLI::App &command, std::string_view message) {
  const CLI::Option *found = nullptr;
  for (const CLI::Option *option : command.get_options()) {
    const std::string name = option->get_name();
    const std::string_view rest = message.substr(std::min(name.size(), message.size()));
    if (message.starts_with(name) && (rest.starts_with(' ') || rest.starts_with(':')))
      found = option;
  }
  return found;
}

/// What a help text says, which may have several lines.
static std::string inOneLine(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

static std::string describe(const CLI::App &root, const CLI::ParseError &error,
                            const Advice &advice) {
  const CLI::App &command = activeCommand(root);
  // What stands behind -- is left to the root, and stands last.
  for (const CLI::App *app : {&command, &root})
    for (const std::string &argument : app->remaining())
      if (argument != "--")
        return describeLeftOver(root, argument, advice);
  const std::string message = error.what();
  const CLI::Option *option = optionOf(command, message);
  if (error.get_name() == "RequiredError" && &command == &root && !commandsOf(root).empty())
    return "expected a command: " + join(commandsOf(root));
  if (error.get_name() == "RequiredError" && option)
    return option->get_name() + " is required: " + inOneLine(option->get_description());
  if (error.get_name() == "ArgumentMismatch" && option && option->results().empty())
    return option->get_name() + " needs a value: " + inOneLine(option->get_description());
  return message;
}

/// The group of flags that --help leaves out.
static constexpr const char *seldom = "Seldom";

void showSeldom(CLI::App &command, std::initializer_list<const char *> flags) {
  command.set_help_all_flag("--help-all", "print this, and flags that few need");
  for (const char *flag : flags)
    command.get_option(flag)->group(seldom);
}

static void showAll(CLI::App &root) {
  std::vector<CLI::App *> commands = root.get_subcommands();
  commands.push_back(&root);
  for (CLI::App *command : commands)
    for (CLI::Option *option : command->get_options())
      option->group("Options");
}

namespace {
/// What a flag takes, in a word: CLI11 would add what it requires, excludes and checks.
class HelpFormatter : public CLI::Formatter {
public:
  HelpFormatter() { column_width(28); }
  std::string make_option_opts(const CLI::Option *option) const override {
    if (!option->get_option_text().empty())
      return " " + option->get_option_text();
    return option->get_type_size() == 0 ? "" : " " + option->get_type_name();
  }
  std::string make_group(std::string group, bool isPositional,
                         std::vector<const CLI::Option *> options) const override {
    return group == seldom
               ? std::string()
               : CLI::Formatter::make_group(std::move(group), isPositional, std::move(options));
  }
  /// Without a heading: the line above names them.
  std::string make_positionals(const CLI::App *app) const override {
    const std::string text = CLI::Formatter::make_positionals(app);
    return text.empty() ? text : text.substr(text.find('\n', 1));
  }
};
} // namespace

/// Without CLI11's empty lines at both ends help fits on a screen.
static void printTrimmed(std::string text) {
  text.erase(0, text.find_first_not_of("\r\n"));
  text.erase(text.find_last_not_of("\r\n ") + 1);
  std::cout << text << "\n";
}

static int report(const std::string &message) {
  std::cerr << "error: " << message << "\n";
  return WrongUsage;
}

std::optional<int> readCommandLine(CLI::App &app, int argc, const char *const *argv,
                                   const Advice &advice) {
  const auto formatter = std::make_shared<HelpFormatter>();
  app.formatter(formatter);
  for (CLI::App *command : app.get_subcommands([](CLI::App *) { return true; }))
    command->formatter(formatter)->footer("");
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success &success) {
    if (success.get_name() == "CallForAllHelp")
      showAll(app);
    std::ostringstream text;
    app.exit(success, text);
    printTrimmed(text.str());
    return Done;
  } catch (const CLI::ParseError &error) {
    return report(describe(app, error, advice));
  }
}

int reportUnknownCommand(const std::string &word, const std::vector<std::string> &commands,
                         const Advice &advice) {
  return report(describeCommand(word, commands, advice));
}

/// Whether all of the text is a number within these bounds.
template <typename Number>
static bool isNumber(const std::string &text, Number least, Number most) {
  Number number = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && number >= least && number <= most;
}

CLI::Validator wholeNumber(uint64_t least, uint64_t most) {
  return CLI::Validator(
      [least, most](std::string &text) {
        if (isNumber(text, least, most))
          return std::string();
        return "expected a whole number from " + std::to_string(least) +
               (most == UINT64_MAX ? "" : " to " + std::to_string(most)) + ", found '" + text + "'";
      },
      "");
}

CLI::Validator realNumber(double least, double most) {
  return CLI::Validator(
      [least, most](std::string &text) {
        if (isNumber(text, least, most))
          return std::string();
        std::ostringstream expected;
        expected << "expected a number from " << least << " to " << most << ", found '" << text
                 << "'";
        return expected.str();
      },
      "");
}

CLI::Validator fileName() {
  return CLI::Validator(
      [](std::string &text) {
        return text.empty() ? std::string("expected a file, found an empty name") : std::string();
      },
      "");
}

/// Numbers from `least` to 1 with commas between.
template <size_t count>
static std::optional<std::array<double, count>> parseTimes(std::string_view text,
                                                           std::array<double, count> least) {
  std::array<double, count> times;
  const char *begin = text.data(), *const end = begin + text.size();
  for (size_t i = 0; i < count; ++i) {
    const auto [behind, error] = std::from_chars(begin, end, times[i]);
    const bool isLast = i + 1 == count;
    if (error != std::errc() || !(times[i] >= least[i] && times[i] <= 1) ||
        isLast != (behind == end) || (!isLast && *behind != ','))
      return std::nullopt;
    begin = behind + 1;
  }
  return times;
}

std::optional<std::array<double, 2>> parseLink(std::string_view text) {
  return parseTimes<2>(text, {leastLinkTime, leastLinkTime});
}

std::optional<std::array<double, 3>> parseBeside(std::string_view text) {
  return parseTimes<3>(text, {leastLinkTime, leastLinkTime, 0});
}

/// `parse` reads the text; `expected` says what it reads.
static CLI::Validator readBy(auto parse, std::string expected) {
  return CLI::Validator(
      [=](std::string &text) {
        return parse(text) ? std::string() : "expected " + expected + ", found '" + text + "'";
      },
      "");
}

CLI::Validator linkTimes() {
  return readBy(parseLink, "two times in seconds, from 1e-15 to 1, as 'dlc-run link' prints them");
}

CLI::Validator besideTimes() {
  return readBy(parseBeside,
                "three times in seconds, up to 1, as 'dlc-run link MODULE.so' prints them");
}

CLI::Validator oneOf(std::vector<std::string> expected) {
  return CLI::Validator(
      [expected](std::string &value) {
        for (const std::string &word : expected)
          if (word == value)
            return std::string();
        // A few words are seen at a glance.
        const std::string hint = expected.size() > 4 ? meant(value, expected) : "";
        return "found '" + value + "', expected " + (expected.size() > 1 ? "one of " : "") +
               join(expected) + hint;
      },
      "");
}

} // namespace dlc::tool
