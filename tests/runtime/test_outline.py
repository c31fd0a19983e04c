"""Shapes without weights."""

import subprocess
import sys

from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.runtime.outline import outline

SHAPE = {"hidden_size": 8, "num_layers": 1, "num_heads": 2, "intermediate_size": 16, "max_positions": 16}


def test_an_outline_has_the_shapes_of_the_module_and_no_memory():
    config = EncoderConfig(vocab_size=32, **SHAPE)
    with outline():
        outlined = Encoder(config)
    real = Encoder(config)
    assert {name: p.shape for name, p in outlined.named_parameters()} == {
        n: p.shape for n, p in real.named_parameters()
    }
    assert all(parameter.is_meta for parameter in outlined.parameters())
    assert not any(parameter.is_meta for parameter in real.parameters())


def test_an_outline_does_not_import_the_compiler_of_torch():
    # it would take seconds at the start of every pipeline
    code = (
        "import sys\n"
        "from spanwise.nn.config import EncoderConfig\nfrom spanwise.nn.encoder import Encoder\n"
        "from spanwise.runtime.outline import outline\n"
        f"with outline(): Encoder(EncoderConfig(vocab_size=32, **{SHAPE}))\n"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
