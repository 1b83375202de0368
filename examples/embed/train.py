"""Trains a model, evaluates it and keeps it: train.py lenet.so idx:digits lenet.safetensors"""
import sys

import dlc

try:
    run = dlc.Run(sys.argv[1], sys.argv[2], checkpoint=sys.argv[3])
    run.train()
    print(f"accuracy {run.evaluate()['accuracy']:.4f}")
except dlc.Error as error:
    sys.exit(str(error))
