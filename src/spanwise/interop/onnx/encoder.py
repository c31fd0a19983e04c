"""The encoder over padded rows, in operators of PyTorch alone, so that the ONNX exporter can follow it.

The layers are those of `nn/layer.py`: they read the B x L tokens as B * L rows. What a layer asks of the others comes
from its context (nn/attention.py), and that is what differs here: keys of padding, of later tokens or out of reach get
a score so low that their probability is zero.

Letters: B sequences, L their padded length, N = B x L rows, D hidden size, H heads, K size of a head, V vocabulary.
"""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.rotary import turn, waves
from spanwise.nn.sequences import Sequences

HIDDEN_SCORE = -1e9
"""Added to the scores of keys that are not to be seen. It is finite: rows of padding see no key at all in a local
layer, and not-a-number there would spread to real rows, for which 0 x NaN is NaN."""


@dataclass(frozen=True)
class PaddedContext:
    """A layer's context (nn/attention.py) where rows are padded: [N, 3D] -> [N, D].

    bias: [B, 1, 1 or L, L], added to scores. angles: cosines and sines [N, K / 2] of rotary positions, or None.
    """

    batch: int
    length: int
    num_heads: int
    bias: Tensor
    angles: tuple[Tensor, Tensor] | None

    def __call__(self, qkv: Tensor) -> Tensor:
        if self.angles is not None:
            qkv = turn(qkv, *self.angles)
        size = qkv.shape[1] // (3 * self.num_heads)
        parts_3BHLK = qkv.view(self.batch, self.length, 3, self.num_heads, size).permute(2, 0, 3, 1, 4)
        q_BHLK, k_BHLK, v_BHLK = parts_3BHLK.unbind(0)
        scores_BHLL = (q_BHLK * size**-0.5) @ k_BHLK.transpose(-1, -2) + self.bias
        mixed_BHLK = torch.softmax(scores_BHLL, -1) @ v_BHLK
        return mixed_BHLK.transpose(1, 2).reshape(self.batch * self.length, self.num_heads * size)


class PaddedGraph(nn.Module):
    """An encoder of ours for the exporter: `encode` takes padded ids, as the classes of Hugging Face do.

    The encoder is a copy without the filler rows of the word table; a part that layers share exists once in it, and so
    in the file.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.config: EncoderConfig = encoder.config
        self.encoder = copy.deepcopy(encoder).eval()
        word = self.encoder.embeddings.word
        word.weight = nn.Parameter(word.weight.detach()[: self.config.vocab_size].clone())
        size = self.config.hidden_size // self.config.num_heads
        for name, base in self._bases().items():
            self.register_buffer(f"{name}_angles", waves(base, size, self.config.max_positions, torch.device("cpu")))

    @property
    def word_table(self) -> Tensor:
        """The word table [V, E] of the copy, which vocabulary heads read too."""
        return self.encoder.embeddings.word.weight

    def _bases(self) -> dict[str, float]:
        """Return the rotary bases of the kinds of layers that there are."""
        config = self.config
        if config.rotary_base is None:
            return {}
        local = {"local": config.local_rotary_base or config.rotary_base} if config.local_window is not None else {}
        return {"everywhere": config.rotary_base, **local}

    def encode(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """Return the hidden states [B x L, D] of ids [B, L] whose padding comes last; rows of padding mean nothing.

        token_type_ids: None where all have the first type.
        """
        batch, length = input_ids.shape
        place_L = torch.arange(length, device=input_ids.device)
        position_N = place_L.expand(batch, length).reshape(-1)
        ids_N = input_ids.reshape(-1)
        types_N = torch.zeros_like(ids_N) if token_type_ids is None else token_type_ids.reshape(-1)
        places = Sequences(lengths=(), cu_seqlens=position_N, positions=position_N)  # embeddings read positions alone
        hidden_ND = self.encoder.embeddings(ids_N, types_N, places)
        contexts = self._contexts(batch, length, position_N, attention_mask[:, None, None, :] > 0)
        for number, layer in enumerate(self.encoder.layers):
            hidden_ND = layer(hidden_ND, contexts["local" if self.config.is_local(number) else "everywhere"], None)
        return self.encoder.finished(hidden_ND)

    def _contexts(self, batch: int, length: int, position_N: Tensor, real: Tensor) -> dict[str, PaddedContext]:
        """Return the context of each kind of layer; real: [B, 1, 1, L], which keys are no padding."""
        window = self.config.local_window
        found = {}
        for kind in ("everywhere",) if window is None else ("everywhere", "local"):
            seen, reach = real, None if kind == "everywhere" else window
            if reach is not None or self.config.causal:
                place_L = position_N[:length]
                distance_LL = place_L[:, None] - place_L[None, :]
                if reach is not None:
                    seen = seen & (distance_LL <= reach) & (distance_LL >= -reach)
                if self.config.causal:
                    seen = seen & (distance_LL >= 0)
            table = getattr(self, f"{kind}_angles", None)
            angles = None if table is None else table[:, position_N].unbind(0)
            bias = torch.where(seen, 0.0, HIDDEN_SCORE)
            found[kind] = PaddedContext(batch, length, self.config.num_heads, bias, angles)
        return found
