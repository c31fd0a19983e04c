"""Say whether two model folders have the same weights, bit for bit: same_weights.py FOLDER FOLDER."""

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

one, two = (load_file(Path(folder) / "model.safetensors") for folder in sys.argv[1:3])
if one.keys() != two.keys() or any(not torch.equal(one[name], two[name]) for name in one):
    sys.exit("the weights differ")
print("same bits")
