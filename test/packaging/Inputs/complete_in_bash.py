"""Prints what an interactive bash makes of command lines when the key of completion is pressed, one a line: of one that has several
completions, all of them in its place.

usage: complete_in_bash.py FOLDER LINE...
    FOLDER has the tools' completions
"""
import os
import pty
import select
import sys
import tempfile
import time

SETUP = r"""
PS1='ready> '
bind 'set bell-style none'
bind '"\C-t": insert-completions'
bind -x '"\C-g": printf "%%s|\n" "$READLINE_LINE" >>%(found)s'
for file in %(folder)s/*; do . "$file"; done
"""


def wait(terminal, until):
    """Reads what bash shows until it has come so far."""
    shown, end = b"", time.monotonic() + 20
    while not until(shown):
        if time.monotonic() > end:
            sys.exit(f"bash shows {shown!r}")
        if select.select([terminal], [], [], 0.01)[0]:
            shown += os.read(terminal, 4096)


def main():
    folder, lines = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as work:
        with open(f"{work}/setup", "w") as file:
            file.write(SETUP % {"found": f"{work}/found", "folder": folder})
        open(f"{work}/found", "w").close()
        process, terminal = pty.fork()
        if process == 0:
            os.environ["TERM"] = "dumb"
            os.execvp("bash", ["bash", "--noprofile", "--rcfile", f"{work}/setup", "-i"])
        wait(terminal, lambda shown: b"ready> " in shown)
        for line in lines:
            size = os.path.getsize(f"{work}/found")
            # All completions; what has become of the line; an empty one.
            os.write(terminal, line.encode() + b"\x14\x07\x15")
            wait(terminal, lambda shown: os.path.getsize(f"{work}/found") > size)
        os.write(terminal, b"exit\n")
        os.waitpid(process, 0)
        with open(f"{work}/found") as file:
            print(file.read(), end="")


if __name__ == "__main__":
    main()
