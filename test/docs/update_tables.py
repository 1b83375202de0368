"""Puts the tables of built-ins between the marks of docs/language.md. usage: update_tables.py [--check] PAGE TABLES"""
import sys

BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->\n"


def main():
    page, tables = sys.argv[-2:]
    text = open(page, encoding="utf-8").read()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    wanted = before + BEGIN + open(tables, encoding="utf-8").read() + "\n" + END + after
    if "--check" not in sys.argv:
        open(page, "w", encoding="utf-8").write(wanted)
    elif wanted != text:
        sys.exit(f"{page}: the tables are not those of the compiler; dlc-frontend --table > t; update_tables.py {page} t")


if __name__ == "__main__":
    main()
