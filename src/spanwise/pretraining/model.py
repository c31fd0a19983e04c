"""The pre-training model: a corruption, one encoder, one head per objective, one loss sum per head.

Letters: T tokens in the pack, D hidden size.
"""

from collections.abc import Mapping

from torch import nn

from spanwise.data.batch import Batch
from spanwise.nn.encoder import Encoder
from spanwise.pretraining.corruption.base import Unchanged
from spanwise.pretraining.corruption.generator import TokenGenerator
from spanwise.pretraining.objectives.base import rows_read


class PretrainingModel(nn.Module):
    """Corrupt a pack, run the encoder over it once and let every objective read the hidden states.

    The heads tie their decoder to the encoder's word embedding, so parameters are counted and saved once.
    corruption: called as `corruption(batch)`, returns `Corrupted`; None hands the batch on as it is.
    """

    def __init__(
        self,
        encoder: Encoder,
        heads: Mapping[str, nn.Module],
        loss_weights: Mapping[str, float],
        corruption: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.heads = nn.ModuleDict(dict(heads))
        self.corruption = corruption or Unchanged()
        self.loss_weights = dict(loss_weights)

    def regions(self, batch: Batch) -> dict[str, nn.Module]:
        """Return the parts that see the same shapes in every pack of this shape: embeddings, layers, and the heads
        whose targets have a fixed number; none where packs have no common shape.

        A head that reads every token (`capacity` "tokens") is none of them: compiled, a decoder would hold all logits.
        """
        if not batch.sequences.longest:
            return {}
        encoders = {name: part for name, part in self.named_modules() if isinstance(part, Encoder)}
        found: dict[str, nn.Module] = {}
        for name, encoder in encoders.items():
            found[f"{name}.embeddings"] = encoder.embeddings
            found |= {f"{name}.layers.{number}": layer for number, layer in enumerate(encoder.layers)}
        heads = dict(self.heads)
        if isinstance(self.corruption, TokenGenerator):
            heads |= dict(self.corruption.heads)
        for name, head in heads.items():
            if getattr(batch.targets[name], "capacity", None) in ("targets", "sequences", "pointers"):
                found[f"heads.{name}"] = head
        return found

    def forward(self, batch: Batch) -> dict[str, object]:
        """Return one loss sum per name; an objective without a target in this pack gives zero and still reaches its
        parameters."""
        corrupted = self.corruption(batch)
        targets = [] if self.encoder.ignores_rows else [batch.targets[name] for name in self.heads]
        rows = rows_read(targets, batch.input_ids)
        hidden_TD = self.encoder(corrupted.input_ids, batch.token_type_ids, batch.sequences, rows)
        losses = dict(corrupted.losses)
        for name, head in self.heads.items():
            seen = {"corrupted": corrupted} if getattr(head, "reads_corrupted", False) else {}
            losses[name] = head(hidden_TD, batch.targets[name], **seen)
        return losses
