"""Replace hidden tokens by [MASK] or by random tokens, or leave them as they are.

Source: Devlin et al. 2019 (BERT), section 3.1: 80/10/10 per token; SpanBERT, section 3.1: once per span, so that all
tokens of a span are replaced alike.
Letters: T tokens in the pack, S sequences, V vocabulary.
"""

from typing import Literal

import numpy as np

from spanwise.config import part
from spanwise.config.ranges import Share
from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import ConfigError
from spanwise.pretraining.masking.alias import AliasTable, draw
from spanwise.pretraining.masking.merge import gaps, hidden_tokens
from spanwise.pretraining.packs import Pack, Spans
from spanwise.runtime.compiled import njit
from spanwise.runtime.seed import mix, uniform


@part("replacement")
class Replacement:
    """Replace hidden tokens by [MASK] with chance `mask`, by random tokens with `random`, leave them with `keep`.

    The chances are drawn once per merged span or once per token (`unit`); a random token is always drawn for each
    token anew, from the corpus' own frequencies or from all tokens alike (`random_law`), and is never a special.
    """

    mask: Share = 0.8
    random: Share = 0.1
    keep: Share = 0.1
    unit: Literal["span", "token"] = "span"
    random_law: Literal["unigram", "uniform"] = "unigram"

    def __post_init__(self) -> None:
        shares = (self.mask, self.random, self.keep)
        if abs(sum(shares) - 1.0) > 1e-9:
            raise ConfigError(
                f"replacement.mask, random and keep must add up to 1, got {shares}; "
                "BERT and SpanBERT take 0.8, 0.1, 0.1."
            )

    def random_ids(self, vocabulary: Vocabulary) -> AliasTable:
        """Return the law of random tokens over the V ids, specials left out. Build it once per run.

        Raises: ConfigError where the law needs counts and the vocabulary has none.
        """
        if self.random_law == "uniform":
            weights_V = np.ones(vocabulary.size)
        else:
            weights_V = np.array(vocabulary.unigram_counts, dtype=np.float64)
        weights_V[vocabulary.is_special] = 0.0
        if not weights_V.any():
            raise ConfigError(
                f"replacement.random_law='{self.random_law}' needs a token that is not special and was counted; this "
                "vocabulary has none. Take the counts from a prepared store, or set random_law='uniform'."
            )
        return AliasTable.from_weights(weights_V)

    def apply(
        self, pack: Pack, spans: Spans, keys: np.ndarray, vocabulary: Vocabulary, law: AliasTable | None = None
    ) -> np.ndarray:
        """Return input_ids [T] with the spans replaced, a new array. See `ReplacementScheme.apply`."""
        table = self.random_ids(vocabulary) if law is None else law
        hidden = hidden_tokens(pack, spans)
        # what touches is one gap: its replacement is drawn once, at its first token
        drawn_at_N = hidden.position if self.unit == "token" else gaps(spans)[0][hidden.span]
        shares = (vocabulary.mask_id, float(self.mask), float(self.mask + self.random))
        columns = (hidden.position, drawn_at_N, hidden.sequence)
        return _replace(pack.input_ids, pack.borders, *columns, keys, *shares, table.columns)


ALL_MASKED = Replacement(mask=1.0, random=0.0, keep=0.0)
"""For measuring: a hidden token that is left as it is would be scored for copying."""


@njit
def _replace(
    input_ids_T, borders, position_N, drawn_at_N, sequence_N, keys_S, mask_id, mask_below, random_below, law
):  # fmt: skip
    """Counters are places inside a sequence, two each (which of the three, which random token), so that batch-mates
    change nothing."""
    replaced_T = input_ids_T.copy()
    for i in range(len(position_N)):
        t, s = position_N[i], sequence_N[i]
        chance = uniform(keys_S[s], 2 * (drawn_at_N[i] - borders[s]))
        if chance < mask_below:
            replaced_T[t] = mask_id
        elif chance < random_below:
            replaced_T[t] = draw(law, mix(keys_S[s], 2 * (t - borders[s]) + 1))
    return replaced_T
