"""Encoder shapes under the names the field uses (BERT base and large; the miniatures of Turc et al. 2019;
ModernBERT base)."""

from dataclasses import replace

from spanwise.nn.config import EncoderConfig

LARGE = EncoderConfig(num_layers=24, hidden_size=1024, num_heads=16, intermediate_size=4096)
BASE = EncoderConfig(num_layers=12, hidden_size=768, num_heads=12, intermediate_size=3072)
SMALL = EncoderConfig(num_layers=4, hidden_size=512, num_heads=8, intermediate_size=2048)
MINI = EncoderConfig(num_layers=4, hidden_size=256, num_heads=4, intermediate_size=1024)
TINY = EncoderConfig(num_layers=2, hidden_size=128, num_heads=2, intermediate_size=512)
MODERN_BASE = EncoderConfig(num_layers=22, hidden_size=768, num_heads=12, intermediate_size=1152)
ALBERT_XLARGE = EncoderConfig(num_layers=24, hidden_size=2048, num_heads=16, intermediate_size=8192)
ALBERT_XXLARGE = EncoderConfig(num_layers=12, hidden_size=4096, num_heads=64, intermediate_size=16_384)


def modern(shape: EncoderConfig) -> EncoderConfig:
    """Return ModernBERT's encoder in the size of `shape`, whose intermediate_size is the width behind the gate."""
    return replace(
        shape,
        num_token_types=0,
        norm_eps=1e-5,
        hidden_dropout=0.0,
        norm_place="pre",
        rotary_base=160_000.0,
        local_rotary_base=10_000.0,
        local_window=64,
        global_every=3,
        gated=True,
        attention_bias=False,
        feed_forward_bias=False,
        norm_bias=False,
        head_bias=False,
    )
