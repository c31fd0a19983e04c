"""ELECTRA's generator: a small masked language model writes likely tokens into the hidden places.

It shares the tables and the LayerNorm of the embeddings with the encoder, and has a projection, layers and heads of its
own. Its samples are integers, so no gradient of the encoder's losses reaches it but through those embeddings.

Source: Clark et al. 2020 (ELECTRA), sections 2 and 3.1; the released code for what is shared.
Letters: T tokens in the pack, D hidden size, E width of the embedding tables, N hidden tokens.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Annotated, ClassVar

from pydantic import Field, SkipValidation
from torch import nn

from spanwise.config import part
from spanwise.config.ranges import Factor
from spanwise.data.batch import Batch
from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.sampling import Sampling
from spanwise.pretraining.corruption.base import DRAWS, Draws
from spanwise.pretraining.objectives.base import Corrupted, Objective, rows_read
from spanwise.pretraining.objectives.masked_lm import MaskedLM, MaskedLMTargets

HEAD_SIZE = 64  # columns of an attention head


class TokenGenerator(nn.Module):
    """Guesses the hidden tokens, and draws from its guesses what the encoder reads in their places."""

    def __init__(
        self, encoder: Encoder, heads: Mapping[str, nn.Module], temperature: float, disallow_correct: bool
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.heads = nn.ModuleDict(dict(heads))
        self.temperature = temperature
        self.disallow_correct = disallow_correct

    def forward(self, batch: Batch) -> Corrupted:
        """Return the pack with a drawn token at each of the N hidden places, and the losses of the generator."""
        targets = [] if self.encoder.ignores_rows else [batch.targets[name] for name in self.heads]
        rows = rows_read(targets, batch.input_ids)
        hidden_TD = self.encoder(batch.input_ids, batch.token_type_ids, batch.sequences, rows)
        sampling = Sampling(
            uniform=batch.target(DRAWS, Draws).uniform,
            temperature=self.temperature,
            without_target=self.disallow_correct,
        )
        hidden = batch.target(MaskedLM.name, MaskedLMTargets)
        guessed = self.heads[MaskedLM.name](hidden_TD, hidden, sampling=sampling)
        losses = {MaskedLM.name: guessed}
        for name in sorted(self.heads.keys() - losses.keys()):
            losses[name] = self.heads[name](hidden_TD, batch.targets[name])
        return Corrupted(
            input_ids=hidden.written(guessed.samples, batch.input_ids),
            original_ids=hidden.written(hidden.ids, batch.input_ids),
            losses=losses,
        )


@part("generator")
class Generator:
    """A masked language model of `size` times the encoder's hidden size and `layers` times its number of layers.

    It has a head of 64 columns for each 64 of its hidden size, and a feed-forward network four times as wide. The ids
    it draws follow its own chances at `temperature`; with `disallow_correct` it never draws the right one. `objectives`
    are what it learns: "mlm", from which it draws, and any other that the hidden tokens allow ("sbo").
    """

    gives: ClassVar[frozenset[str]] = frozenset({"replacements"})
    samples: ClassVar[bool] = True

    size: Annotated[float, Field(gt=0, le=2)] = 0.25
    layers: Annotated[float, Field(gt=0, le=2)] = 1.0
    temperature: Factor = 1.0
    disallow_correct: bool = False
    objectives: Mapping[str, SkipValidation[Objective]] = field(default_factory=lambda: {MaskedLM.name: MaskedLM()})

    def __post_init__(self) -> None:
        if MaskedLM.name not in self.objectives:
            raise ConfigError(
                f"corruption.objectives has {', '.join(self.objectives) or 'none'}; a generator draws its tokens from "
                "the masked language model 'mlm'. Add MaskedLM()."
            )

    def config(self, encoder: EncoderConfig) -> EncoderConfig:
        """Return the values of the generator beside this encoder. Raises: ConfigError for a size its heads don't
        divide."""
        hidden_size = round(self.size * encoder.hidden_size)
        num_heads = max(1, hidden_size // HEAD_SIZE)
        if hidden_size < 1 or hidden_size % num_heads:
            raise ConfigError(
                f"corruption.size {self.size} of encoder.hidden_size {encoder.hidden_size} gives a generator of "
                f"{hidden_size}, which does not divide into {num_heads} heads; choose another corruption.size."
            )
        return replace(
            encoder,
            hidden_size=hidden_size,
            num_layers=max(1, round(self.layers * encoder.num_layers)),
            num_heads=num_heads,
            intermediate_size=4 * hidden_size,
            embedding_size=encoder.embedding_width,
            pooler=False,
        )

    def check(self, encoder: EncoderConfig) -> None:
        """Refuse an encoder that no generator can be made for. Raises: ConfigError."""
        self.config(encoder)

    def build(self, encoder: Encoder) -> TokenGenerator:
        """Return the generator of an encoder, its tables being the encoder's. Raises: ConfigError."""
        own = Encoder(self.config(encoder.config), encoder.embeddings)
        heads = {name: objective.build(own) for name, objective in self.objectives.items()}
        return TokenGenerator(own, heads, self.temperature, self.disallow_correct)
