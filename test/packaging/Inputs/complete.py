"""Prints what a shell makes of command lines when the key of completion is pressed, one a line: of one that has several completions,
all of them in its place.

usage: complete.py SHELL FOLDER LINE...
    SHELL is bash, zsh or fish, FOLDER has the tools' completions for it
"""
import os
import pty
import select
import subprocess
import sys
import tempfile
import time

# What makes of the keys ^T, ^G and ^U: all completions, a line in a file of what has become of it, an empty one.
SETUP = {"bash": r"""
PS1='ready> '
bind 'set bell-style none'
bind '"\C-t": insert-completions'
bind -x '"\C-g": printf "%%s|\n" "$READLINE_LINE" >>%(found)s'
for file in %(folder)s/*; do . "$file"; done
""", "zsh": r"""
PS1='ready> '
fpath=(%(folder)s $fpath)
autoload -U compinit
compinit -u -D
zle -C all-matches complete-word _generic
zstyle ':completion:all-matches::::' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert yes
show() { print -r -- "$BUFFER|" >>%(found)s }
zle -N show
bindkey '^T' all-matches '^G' show '^U' kill-whole-line
"""}


def wait(terminal, until):
    """Reads what the shell shows until it has come so far."""
    shown, end = b"", time.monotonic() + 20
    while not until(shown):
        if time.monotonic() > end:
            sys.exit(f"the shell shows {shown!r}")
        if select.select([terminal], [], [], 0.01)[0]:
            shown += os.read(terminal, 4096)


def press_keys(shell, folder, lines, work):
    """What bash and zsh make of lines that are typed."""
    found, setup = f"{work}/found", f"{work}/.zshrc"
    with open(setup, "w") as file:
        file.write(SETUP[shell] % {"found": found, "folder": folder})
    open(found, "w").close()
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(TERM="dumb", ZDOTDIR=work)
        os.execvp(shell, ["bash", "--noprofile", "--rcfile", setup, "-i"] if shell == "bash" else ["zsh", "-d", "-i"])
    wait(terminal, lambda shown: b"ready> " in shown)
    for line in lines:
        size = os.path.getsize(found)
        os.write(terminal, line.encode() + b"\x14\x07\x15")
        wait(terminal, lambda shown: os.path.getsize(found) > size)
    os.write(terminal, b"exit\n")
    os.waitpid(process, 0)
    with open(found) as file:
        return file.read()


def ask_fish(folder, lines, work):
    """Fish says what it has for a line's last word."""
    text = ""
    for line in lines:
        command = f"set fish_complete_path {folder} $fish_complete_path; complete -C $argv[1]"
        shown = subprocess.run(["fish", "--no-config", "-c", command, line], check=True, capture_output=True, text=True,
                               env={**os.environ, "HOME": work}).stdout
        before = line.rpartition(" ")[0]
        text += " ".join([before, *(found.partition("\t")[0] for found in shown.splitlines())]) + " |\n"
    return text


def main():
    shell, folder, lines = sys.argv[1], sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as work:
        print(ask_fish(folder, lines, work) if shell == "fish" else press_keys(shell, folder, lines, work), end="")


if __name__ == "__main__":
    main()
