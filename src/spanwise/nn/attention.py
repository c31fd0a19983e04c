"""Self-attention inside the sequences of a pack. `attend()` is the one place that chooses a kernel.

Letters: T tokens in the pack, S sequences, L tokens of one sequence, H heads, K size of a head, D = H x K.

- CPU: one autograd node for the whole pack (`packed_attention.py`).
- CUDA in half precision: `torch.nn.attention.varlen`, one call for the pack.
- Everything else (float32 on CUDA, dropout of probabilities, unusual head sizes): SDPA a sequence.

Source: Vaswani et al. 2017, section 3.2; Beltagy et al. 2020 (Longformer), section 3.1, for windows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.nn.config import EncoderConfig
from spanwise.nn.packed_attention import ALL, EVERYTHING, PackedAttention, Reach, mask, packed_attention
from spanwise.nn.rotary import rotate, waves
from spanwise.nn.sequences import Sequences
from spanwise.runtime.seed import seed_device

Context = Callable[[Tensor], Tensor]
"""What the tokens of a layer see: queries, keys and values [T, 3D] -> what each token takes from the others [T, D]."""


@dataclass(frozen=True)
class PackedContext:
    """A layer's context where all tokens of a pack are computed at once.

    waves: those of rotary positions, or None.
    """

    sequences: Sequences
    num_heads: int
    dropout: float
    reach: Reach
    waves: Tensor | None
    place: int = 0  # of the layer, where probabilities are dropped

    def rotate(self, qkv: Tensor) -> Tensor:
        """Turn queries and keys by their positions, where positions are rotary: [T, 3D] -> [T, 3D]."""
        return qkv if self.waves is None else rotate(qkv, self.sequences.positions, self.waves)

    def attend(self, qkv: Tensor) -> Tensor:
        """[T, 3D], rotated -> [T, D]."""
        return attend(qkv, self.sequences, self.num_heads, self.dropout, self.reach, self.place)

    def __call__(self, qkv: Tensor) -> Tensor:
        return self.attend(self.rotate(qkv))


def packed_contexts(config: EncoderConfig, sequences: Sequences, training: bool) -> list[PackedContext]:
    """Return the context of every layer. Layers of one kind have the same, unless they drop probabilities."""
    after = 0 if config.causal else None
    device, size = sequences.positions.device, config.hidden_size // config.num_heads

    def context(reach: Reach, base: float | None) -> PackedContext:
        table = None if base is None else waves(base, size, config.max_positions, device)
        dropout = config.attention_dropout if training else 0.0
        return PackedContext(sequences, config.num_heads, dropout, reach, table)

    window = config.local_window
    everywhere = context(Reach(None, after), config.rotary_base)
    near = context(Reach(window, window if after is None else after), config.local_rotary_base or config.rotary_base)
    contexts = [near if config.is_local(layer) else everywhere for layer in range(config.num_layers)]
    if not everywhere.dropout:
        return contexts
    return [replace(one, place=layer) for layer, one in enumerate(contexts)]


def attend(
    qkv: Tensor, sequences: Sequences, num_heads: int, dropout: float = 0.0, reach: Reach = EVERYTHING, place: int = 0
) -> Tensor:
    """Let every token attend to the tokens of its own sequence that are within its reach.

    qkv: [T, 3D], queries, keys and values side by side. dropout: chance to drop a probability (0 outside training);
    what is dropped depends on the keys of the sequence and on `place`, the layer's number.
    Returns [T, D] in the type of `qkv`. No host-device synchronisation: lengths are known on the host.
    """
    if dropout == 0.0 and qkv.device.type == "cpu":
        if torch.compiler.is_compiling():
            return packed_attention(qkv, sequences.cu_seqlens, num_heads, *_window(reach))
        return PackedAttention.apply(qkv.contiguous(), sequences.lengths, num_heads, reach)
    head_size = qkv.shape[1] // (3 * num_heads)
    has_kernel = qkv.dtype in (torch.float16, torch.bfloat16) and head_size % 8 == 0 and head_size <= 256
    if dropout == 0.0 and qkv.device.type == "cuda" and has_kernel:
        return _attend_varlen(qkv, sequences, num_heads, reach)
    return _attend_each(qkv, sequences, num_heads, dropout, reach, place)


def _attend_varlen(qkv: Tensor, sequences: Sequences, num_heads: int, reach: Reach) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn  # CUDA builds only

    T, D = qkv.shape[0], qkv.shape[1] // 3
    q_THK, k_THK, v_THK = qkv.view(T, 3, num_heads, D // num_heads).unbind(1)
    borders, longest = sequences.cu_seqlens, sequences.max_length
    out_THK = varlen_attn(q_THK, k_THK, v_THK, borders, borders, longest, longest, window_size=_window(reach))
    assert isinstance(out_THK, Tensor)  # a tuple only where log-sum-exps are asked for
    return out_THK.reshape(T, D)


def _window(reach: Reach) -> tuple[int, int]:
    before, after = (ALL if side is None else side for side in reach)
    return before, after


def _attend_each(qkv: Tensor, sequences: Sequences, num_heads: int, dropout: float, reach: Reach, place: int) -> Tensor:
    D = qkv.shape[1] // 3
    outs, causal = [], reach == Reach(None, 0)
    for number, part in enumerate(qkv.split(sequences.lengths)):
        L = len(part)
        if dropout and sequences.seeds:  # torch drops as its generator says, which a sequence begins anew
            seed_device(sequences.seeds[number], "attention", place)
        qkv_3HLK = part.view(L, 3, num_heads, D // num_heads).permute(1, 2, 0, 3)
        q_HLK, k_HLK, v_HLK = qkv_3HLK.unsqueeze(1).unbind(0)
        near_LL = None if causal or reach.covers(L) else mask(reach, 0, L, L, qkv)
        out_HLK = F.scaled_dot_product_attention(q_HLK, k_HLK, v_HLK, near_LL, dropout_p=dropout, is_causal=causal)[0]
        outs.append(out_HLK.transpose(0, 1).reshape(L, D))
    return torch.cat(outs)
