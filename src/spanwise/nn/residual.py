"""How a sub-layer joins the residual, in float32: normalised after the sum (post-norm) or before it (pre-norm).

Letters: T tokens in the pack, D hidden size.
Source: Vaswani et al. 2017, section 5.4, for post-norm, which BERT keeps; Xiong et al. 2020, figure 1, for pre-norm,
whose last sum is normalised once more at the end of the encoder. LayerNorm stays in float32 because its eps of 1e-12 is
zero in half precision, where a constant row would become not-a-number.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.nn.config import EncoderConfig
from spanwise.nn.dropout import drawn_keys, dropout
from spanwise.nn.fused.dropout_norm import DropoutAddNorm

Product = Callable[[Tensor], Tensor]


class LayerNorm(nn.LayerNorm):
    """LayerNorm computed and returned in float32, whatever the type of its input."""

    def forward(self, x: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.float()
        return F.layer_norm(x.float(), self.normalized_shape, self.weight.float(), bias, self.eps)


class Residual(nn.Module):
    """How a sub-layer begins and ends.

    `enter` gives what the sub-layer reads. Calling it adds: `product` is the last step of the sub-layer, row by row;
    x [T, D] is in any float type, hidden and what comes back are [T, D] float32; keys [T] int64 say what each row drops
    while training. Rows are independent, so that x, hidden and keys may hold some of a pack alone.
    """

    norm: LayerNorm | None

    def __init__(self, config: EncoderConfig, has_norm: bool = True) -> None:
        super().__init__()
        self.norm = LayerNorm(config.hidden_size, eps=config.norm_eps, bias=config.norm_bias) if has_norm else None
        self.dropout = config.hidden_dropout

    def enter(self, hidden: Tensor) -> Tensor:
        """hidden: [T, D]. Returns [T, D]."""
        return hidden


class ResidualNorm(Residual):
    """Post-norm: LayerNorm(hidden + dropout(product(x)))."""

    def forward(self, product: Product, x: Tensor, hidden: Tensor, keys: Tensor | None = None) -> Tensor:
        norm, added = self.norm, product(x)
        assert norm is not None
        if not self.training or self.dropout == 0.0:
            return norm(hidden + added)
        is_float = hidden.dtype == norm.weight.dtype == torch.float32
        is_plain = added.device.type == "cpu" and not torch.compiler.is_compiling()
        if is_plain and is_float and norm.bias is not None:
            keys = drawn_keys(len(added), added.device) if keys is None else keys
            out = DropoutAddNorm.apply(added, hidden, norm.weight, norm.bias, norm.eps, self.dropout, keys)
            assert isinstance(out, Tensor)
            return out
        return norm(hidden + dropout(added, self.dropout, True, keys))


class PreNorm(Residual):
    """Pre-norm: hidden + dropout(product(x)), where x was made of LayerNorm(hidden).

    There may be no LayerNorm: the first layer needs none where embeddings are normalised (ModernBERT).
    """

    def enter(self, hidden: Tensor) -> Tensor:
        return hidden if self.norm is None else self.norm(hidden)

    def forward(self, product: Product, x: Tensor, hidden: Tensor, keys: Tensor | None = None) -> Tensor:
        return hidden + dropout(product(x), self.dropout, self.training, keys)
