"""Counts the weights of models without running statistics: the elements of all that dlc --emit=names lists.

usage: count_weights.py EXAMPLES
"""
import math
import re
import subprocess
import sys

MODELS = ["vgg16/vgg16.dl", "alexnet/alexnet.dl", "alexnet/alexnet.dl towers=2", "cifar/alexnet_r.dl", "inception/googlenet.dl",
          "squeezenet/squeezenet.dl", "fcn/fcn_s.dl"]
for model in MODELS:
    file, *settings = model.split()
    names = subprocess.run(["dlc", f"{sys.argv[1]}/{file}", *(word for s in settings for word in ("-D", s)), "--emit=names"],
                           check=True, capture_output=True, text=True).stdout
    print(f"{model}:", sum(math.prod(map(int, re.findall(r"\d+", shape))) for shape in re.findall(r"f32\[(.*?)\]", names)))
