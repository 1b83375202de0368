"""Compares the words that docs/language.md lists with the lexer's. usage: check_words.py PAGE WORDS"""
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
kinds = {}
for line in open(sys.argv[2], encoding="utf-8"):
    kind, word = line.split()
    kinds.setdefault(kind, set()).add(word)
keywords = set(re.search(r"Keywords are `([^`]*)`", text).group(1).split())
dtypes = set(re.findall(r'"(\w+)"', re.search(r"DTYPE      = (.*) ;", text).group(1)))
statement = set(re.search(r"`([^`]*)` mean something only at the start", text).group(1).split())
assert keywords == kinds["keyword"], keywords ^ kinds["keyword"]
assert dtypes == kinds["dtype"], dtypes ^ kinds["dtype"]
assert statement == kinds["word"], statement ^ kinds["word"]
print(f"{len(keywords)} keywords and {len(dtypes)} dtypes")
