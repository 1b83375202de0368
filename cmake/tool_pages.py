#!/usr/bin/env python3
"""Makes the manual page of a tool, and its completion for bash, zsh and fish, from what the tool says of itself: its help and that of
its commands, and, of a flag that takes one of a few words, what it says of a wrong one.

usage: tool_pages.py TOOL VERSION PURPOSE OUT
    PURPOSE is what the tool does, in a line without a full stop. Into OUT go share/man/man1/TOOL.1.gz,
    share/bash-completion/completions/TOOL, share/zsh/vendor-completions/_TOOL and share/fish/vendor_completions.d/TOOL.fish.
"""
import dataclasses
import gzip
import os
import re
import subprocess
import sys


@dataclasses.dataclass
class Flag:
    """A flag, or a place of the command line if its first name has no dash."""
    names: list
    value: str
    text: str
    words: list = dataclasses.field(default_factory=list)

    @property
    def files(self):
        """The ending of the files that stand there, "/" for folders, or None."""
        if self.value == "DIR":
            return "/"
        if self.value == "MODULE.so":
            return ".so"
        if "(.dl)" in self.text:
            return ".dl"
        return "" if self.value == "FILE" else None


@dataclasses.dataclass
class Command:
    name: str
    about: str = ""
    usage: str = ""
    places: list = dataclasses.field(default_factory=list)
    flags: list = dataclasses.field(default_factory=list)


def entries(lines):
    """(left, text) of each entry of a list; a text may go on in lines of its own."""
    found = []
    for line in lines:
        entry = re.match(r"  (\S.*?)(?:\s{2,}(.*))?$", line)
        if entry:
            found.append([entry[1], entry[2] or ""])
        elif line.strip():
            found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
    return found


def read_flag(left, text):
    names, _, value = left.partition(" ")
    return Flag(names.split(","), value, text)


def print_help(tool, name, flag):
    return subprocess.run([tool, *name.split(), flag], check=True, capture_output=True, text=True).stdout


def read_help(tool, name):
    """The command of this name, or the tool itself, and its commands: name -> what it is for."""
    text = print_help(tool, name, "--help")
    if "--help-all" in text:
        text = print_help(tool, name, "--help-all")
    command, section, lists = Command(name), "About", {}
    for line in text.splitlines():
        title = re.match(r"(Usage|Options|Subcommands): *(.*)", line)
        if title:
            section, line = title.groups()
        elif section != "About" and line and not line.startswith(" "):
            section = "Footer"
        lists.setdefault(section, []).append(line)
    command.about = " ".join(lists.get("About", [])).strip()
    command.usage = lists["Usage"][0]
    command.places = [read_flag(*entry) for entry in entries(lists["Usage"][1:])]
    command.flags = [read_flag(*entry) for entry in entries(lists["Options"][1:])]
    commands = dict(entries(lists.get("Subcommands", [""])[1:]))
    # A tool that does something without a command says beside its model that there are some.
    base = os.path.basename(tool)
    for place in command.places:
        commands.update({other: "" for other in re.findall(rf"\b{base} ([a-z]+)", place.text.partition("also:")[2])})
    return command, commands


def find_words(tool, command, flag, known):
    """What a flag takes: names of kinds of data with a colon, or the words that it expects."""
    if flag.value == "DATA":
        return [f"{kind}:" for kind in re.findall(r"(\w+):", flag.text.partition(";")[0])]
    if not flag.value or not flag.names[0].startswith("-") or re.fullmatch(r"DIR|FILE|N|S|MS|NAME=.*|.*[,.].*", flag.value):
        return []
    key = flag.names[-1], flag.value, flag.text
    if key not in known:
        equals = "=" if flag.names[-1].startswith("--") else ""
        answer = subprocess.run([tool, *command.name.split(), f"{flag.names[-1]}{equals}?", "?"], capture_output=True, text=True).stderr
        expected = re.search(r"found '\?', expected (?:one of )?([\w-]+(?:, [\w-]+)*)$", answer, re.M)
        known[key] = expected[1].split(", ") if expected else []
    return known[key]


def read_tool(tool):
    root, names = read_help(tool, "")
    commands, known = [root], {}
    for name, about in names.items():
        command, _ = read_help(tool, name)
        command.about = about or command.about
        commands.append(command)
    for command in commands:
        for flag in command.flags:
            flag.words = find_words(tool, command, flag, known)
    return commands


# The manual page.


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text)


def sentence(text):
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def manual_entries(flags):
    lines = []
    for flag in flags:
        names = ", ".join(f"\\fB{roff(name)}\\fR" for name in flag.names)
        if not flag.names[0].startswith("-"):
            names = f"\\fI{roff(flag.value or flag.names[0])}\\fR"
        elif flag.value:
            names += f" \\fI{roff(flag.value)}\\fR"
        lines += [".TP", names, roff(flag.text)]
        if flag.words and not all(word.rstrip(":") in flag.text for word in flag.words):
            lines.append(f"({roff(', '.join(flag.words))})")
    return lines


def manual_page(tool, version, purpose, commands):
    root = commands[0]
    lines = [f'.TH {roff(tool.upper())} 1 "" "dlc {version}" "User Commands"', ".SH NAME",
             f"{roff(tool)} \\- {roff(purpose)}", ".SH SYNOPSIS"]
    for command in commands:
        words = command.usage.split()
        start = len(f"{tool} {command.name}".split())
        lines += [f"\\fB{roff(' '.join(words[:start]))}\\fR {roff(' '.join(words[start:]))}", ".br"]
    lines.pop()
    if root.places:
        lines += [".SH ARGUMENTS", *manual_entries(root.places)]
    lines += [".SH OPTIONS", *manual_entries(root.flags)]
    if commands[1:]:
        lines.append(".SH COMMANDS")
    for command in commands[1:]:
        lines += [f".SS {roff(tool)} {roff(command.name)}", roff(sentence(command.about)),
                  *manual_entries(command.places + [flag for flag in command.flags if not flag.names[-1].startswith("--help")])]
    lines += [".SH SEE ALSO", ",\n".join(f".BR {roff(other)} (1)" for other in ("dlc", "dlc-run") if other != tool)]
    return "\n".join(lines) + "\n"


# Completion. A command's flags, its values and its files are tables; what reads them is the same for each tool.


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def all_names(flags):
    return " ".join(name for flag in flags for name in flag.names)


BASH = r"""# Completion of %(tool)s for bash, made from its help.
_%(function)s() {
  local commands="%(commands)s" command= flags= valued= words= files= word=$2 flag=$3 i
  # Behind -- stands a command of its own, and its words.
  local first=1
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} != -- ]] || first=$((i + 1))
  done
  if ((COMP_CWORD > first)) && [[ " $commands " == *" ${COMP_WORDS[first]} "* ]]; then command=${COMP_WORDS[first]}; fi
  # Bash takes --flag=value and kind:file apart.
  if [[ $word == [=:] ]]; then word= flag=${COMP_WORDS[COMP_CWORD - 1]}; fi
  if [[ $flag == = ]]; then flag=${COMP_WORDS[COMP_CWORD - 2]}; fi
  if [[ $flag == : || ${COMP_WORDS[COMP_CWORD]} == : ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    return
  fi
  case $command in
%(cases)s
  esac
  case $command:$flag in
%(values)s
    *)
      if [[ " $valued " == *" $flag "* ]]; then
        files=
      elif [[ $word == -* ]]; then
        words=$flags
      elif ((COMP_CWORD == first)); then
        words=$commands
      fi ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  [[ ${COMPREPLY[0]} != *: ]] || compopt -o nospace
  if [[ -n $files && $word != -* ]]; then
    compopt -o filenames
    local kind=-f
    [[ $files != / ]] || kind=-d
    while IFS= read -r i; do
      if [[ -d $i || $files == [/*] || $i == *"$files" ]]; then COMPREPLY+=("$i"); fi
    done < <(compgen $kind -- "$word")
  fi
}
complete -F _%(function)s %(tool)s
"""


def endings(flags):
    """What bash's $files is where files of any of these are expected: an ending, / for folders, * for all."""
    return next((flag.files or "*" for flag in flags if flag.files is not None), "")


def bash_completion(tool, commands):
    cases, values = [], {}
    for command in commands:
        name = command.name or "''"
        valued = [flag for flag in command.flags if flag.value]
        cases.append(f"    {name})\n      flags=\"{all_names(command.flags)}\"\n      valued=\"{all_names(valued)}\" "
                     f"files={quoted(endings(command.places))} ;;")
        for flag in valued:
            if flag.words or flag.files is not None:
                what = f"words=\"{' '.join(flag.words)}\" files={quoted(endings([flag]))}"
                values.setdefault(what, []).extend(f"{command.name}:{one}" for one in flag.names)
    rows = [f"    {' | '.join(patterns)})\n      {what} ;;" for what, patterns in values.items()]
    return BASH % {"tool": tool, "function": tool.replace("-", "_"), "commands": " ".join(c.name for c in commands[1:]),
                   "cases": "\n".join(cases), "values": "\n".join(rows)}


def zsh_files(flag):
    kind = {"/": "_files -/", "": "_files", None: " "}.get(flag.files)
    return kind if kind else f'_files -g "*{flag.files}(-.)"'


def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def zsh_arguments(tool, command):
    lines = []
    for flag in command.flags:
        action = f"({' '.join(flag.words)})" if flag.words else zsh_files(flag)
        if flag.value == "DATA":
            action = f" _{tool}_data {' '.join(word.rstrip(':') for word in flag.words)}"
        for name in flag.names:
            value = f":{zsh_text(flag.value)}:{action}" if flag.value else ""
            sign = "" if not flag.value else "=" if name.startswith("--") else "+"
            repeated = "*" if flag.value else ""
            lines.append(quoted(f"{repeated}{name}{sign}[{zsh_text(flag.text)}]{value}"))
    for place in command.places:
        last = place is command.places[-1]
        action = zsh_files(place).strip() or "( )"  # with no action there would be no flags either
        lines.append(quoted(f"{'*' if last else ''}:{zsh_text(place.names[0])}:{action}"))
    return " \\\n        ".join(["_arguments -s", *lines])


def zsh_completion(tool, commands):
    described = "\n    ".join(quoted(f"{c.name}:{c.about}") for c in commands[1:])
    cases = "\n".join(f"    {c.name})\n      shift words; ((CURRENT--))\n      {zsh_arguments(tool, c)} ;;" for c in commands[1:])
    return f"""#compdef {tool}
# Completion of {tool} for zsh, made from its help.
_{tool}_data() {{
  if compset -P "*:"; then _files; else compadd -S : -- "$@"; fi
}}
_{tool}() {{
  local -a commands=(
    {described}
  )
  # Behind -- stands a command of its own, and its words.
  local -i dashes=$words[(I)--]
  if ((dashes > 1 && dashes < CURRENT)); then
    words=($words[1] $words[dashes+1,-1])
    ((CURRENT -= dashes - 1))
  fi
  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then _describe command commands; fi
  case $words[2] in
{cases}
    *)
      {zsh_arguments(tool, commands[0])} ;;
  esac
}}
_{tool} "$@"
"""


FISH_DATA = r"""# A kind of data, and behind it a file.
function __%s_data
  set -l word (commandline -ct)
  if string match -q '*:*' -- $word
    set -l kind (string replace -r ':.*' ':' -- $word)
    for file in (__fish_complete_path (string replace -r '^[^:]*:' '' -- $word))
      echo $kind$file
    end
  else
    printf '%%s\n' $argv
  end
end
"""


def fish_files(flag):
    kinds = {None: "-x", "": "-r -F", "/": "-x -a '(__fish_complete_directories)'"}
    return kinds.get(flag.files) or f"-x -a '(__fish_complete_suffix {flag.files})'"


def fish_completion(tool, commands):
    names = " ".join(c.name for c in commands[1:])
    lines = [f"# Completion of {tool} for fish, made from its help.", f"complete -c {tool} -f"]
    if any(flag.value == "DATA" for command in commands for flag in command.flags):
        lines.insert(1, FISH_DATA % tool)
    for command in commands[1:]:
        lines.append(f"complete -c {tool} -n __fish_use_subcommand -a {command.name} -d {quoted(command.about)}")
    for command in commands:
        seen = f"__fish_seen_subcommand_from {command.name}" if command.name else f"not __fish_seen_subcommand_from {names}"
        start = f"complete -c {tool} -n {quoted(seen)}"
        for flag in command.flags:
            switches = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            words = f"(__{tool}_data {' '.join(flag.words)})" if flag.value == "DATA" else " ".join(flag.words)
            value = "" if not flag.value else f" -x -a {quoted(words)}" if words else " " + fish_files(flag)
            lines.append(f"{start} {switches}{value} -d {quoted(flag.text)}")
        ending = endings(command.places)
        if ending:
            lines.append(f"{start} -k -a '(__fish_complete_suffix {ending})'")
    return "\n".join(lines) + "\n"


def main():
    program, version, purpose, out = sys.argv[1:]
    tool, commands = os.path.basename(program), read_tool(program)
    pages = {f"man/man1/{tool}.1.gz": manual_page(tool, version, purpose, commands),
             f"bash-completion/completions/{tool}": bash_completion(tool, commands),
             f"zsh/vendor-completions/_{tool}": zsh_completion(tool, commands),
             f"fish/vendor_completions.d/{tool}.fish": fish_completion(tool, commands)}
    for name, text in pages.items():
        path = os.path.join(out, "share", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        content = text.encode()
        with open(path, "wb") as file:  # without a time, as Debian wants it
            file.write(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)


if __name__ == "__main__":
    main()
