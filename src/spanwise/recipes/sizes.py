"""Encoder shapes under the names the field uses (BERT base and large; the miniatures of Turc et al. 2019)."""

from __future__ import annotations

from spanwise.nn.config import EncoderConfig

LARGE = EncoderConfig(num_layers=24, hidden_size=1024, num_heads=16, intermediate_size=4096)
BASE = EncoderConfig(num_layers=12, hidden_size=768, num_heads=12, intermediate_size=3072)
SMALL = EncoderConfig(num_layers=4, hidden_size=512, num_heads=8, intermediate_size=2048)
MINI = EncoderConfig(num_layers=4, hidden_size=256, num_heads=4, intermediate_size=1024)
TINY = EncoderConfig(num_layers=2, hidden_size=128, num_heads=2, intermediate_size=512)
ALBERT_XLARGE = EncoderConfig(num_layers=24, hidden_size=2048, num_heads=16, intermediate_size=8192)
ALBERT_XXLARGE = EncoderConfig(num_layers=12, hidden_size=4096, num_heads=64, intermediate_size=16_384)
