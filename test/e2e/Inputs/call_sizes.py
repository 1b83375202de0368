"""Of what `dlc-run inspect --json` says: a line for each convolution that a library computes, of images of three channels first."""
import json
import sys

for call in json.load(sys.stdin)["library_calls"]:
    if call["op"] != "product":
        print(call["op"], call["dtype"], call["layout"], call["sizes"][3], "to", call["sizes"][4])
