"""Floating-point operations of training, for FLOP utilisation in the log.

Letters: D hidden size, E width of the embedding tables, I intermediate size, L tokens per sequence.

A matrix product costs 2 operations per weight and token forward and 4 backward, hence 6. Attention adds two L x L
products per layer: 2 x 2LD forward, three times that with the backward; where it is causal, half of that is of use, and
a local layer has its window in the place of L. Sharing layers saves memory and no operation. Lookups, norms, GELU,
softmax and dropout are left out, as is usual, which understates utilisation a little. On a CPU the last layer is
computed at the rows that objectives read alone, and counted whole, which overstates it: by some 15 % of the layers'
share at 4 layers.

Source: Kaplan et al. 2020, section 2.1; BERT-base at 512 tokens takes 587 MFLOP per token.
"""

from collections.abc import Iterable

from spanwise.nn.config import EncoderConfig


def layer_parameters(config: EncoderConfig) -> int:
    """Return the weights that a token meets on its way through all layers: 4 D² + 2 D I per visit (3 D I where gated),
    and the product E -> D."""
    D, I = config.hidden_size, config.intermediate_size
    projection = config.embedding_width * D if config.is_factorised else 0
    return config.num_layers * (4 * D * D + (3 if config.gated else 2) * D * I) + projection


def training_flops_per_token(
    config: EncoderConfig, mean_length: float, heads: Iterable[tuple[float, int]] = ()
) -> float:
    """Operations of one forward and backward, a real token.

    mean_length: how many tokens a token's sequence has on average (sum of squared lengths over sum of lengths).
    heads: (targets per token, weights that a target meets) of every head, such as `describe.head_costs` of
    pretraining counts them.
    """
    matrices = layer_parameters(config) + sum(share * parameters for share, parameters in heads)
    window = 2 * config.local_window + 1 if config.local_window is not None else mean_length
    lengths = (min(mean_length, window) if config.is_local(i) else mean_length for i in range(config.num_layers))
    attended = sum(length / 2 if config.causal else length for length in lengths)
    return 6.0 * matrices + 4 * attended * config.hidden_size * 3
