"""How texts become a sequence: with the special tokens of the tokenizer's own template, or as GPT-1 lays them out.

| layout | one text | two texts |
|---|---|---|
| template | [CLS] a [SEP], or what the tokenizer's files say | [CLS] a [SEP] b [SEP] |
| extract | _start_ a _classify_ | _start_ a _delimiter_ b _classify_ |

The three tokens of "extract" belong to no pre-training: they are added to the vocabulary when fine-tuning begins, with
fresh rows, as special tokens that no text can spell, and are saved with the model. A causal model is read at the last
token, which is `_classify_` (the extract token of the paper); its names are those of the released code.

Source: Radford et al. 2018 (GPT-1), section 3.3 and figure 1.
"""

from typing import Literal

import numpy as np

from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.tasks.frames import Frame, frames_of, pair_frame
from spanwise.text.tokenizers import Tokenizer

Layout = Literal["template", "extract"]
START, DELIMITER, EXTRACT = EXTRACT_PIECES = ("_start_", "_delimiter_", "_classify_")


def layout_pieces(layout: Layout) -> tuple[str, ...]:
    """The special pieces that a vocabulary must have for this layout beside its own."""
    return EXTRACT_PIECES if layout == "extract" else ()


def check_layout(layout: Layout, lm_weight: float, config: EncoderConfig) -> None:
    """Raises: ConfigError where the encoder sees both sides of a token: its last token is none that has read more than
    others, and the next token is no riddle to it."""
    if config.causal:
        return
    if layout == "extract":
        raise ConfigError(
            "task.layout=extract is read at the last token, as causal models (GPT-1) are; this encoder sees both "
            "sides. Use task.layout=template, and a recipe other than gpt-1."
        )
    if lm_weight:
        raise ConfigError(
            f"task.lm_weight={lm_weight:g} teaches to guess the next token, and this encoder sees it already; set it "
            "to 0 (causal models alone can learn it)."
        )


def layout_words(*, is_pair: bool) -> str:
    """The "extract" layout of a sequence for a person."""
    second = f"{DELIMITER} text {EXTRACT}" if is_pair else EXTRACT
    return f"{START} text {second}, and the last token speaks for the sequence"


def layout_frame(tokenizer: Tokenizer, layout: Layout, *, is_pair: bool) -> Frame:
    """The special tokens around one text or two.

    Raises: ConfigError where the tokenizer lacks the layout's tokens, or has none to part two texts.
    """
    if layout == "template":
        return pair_frame(tokenizer) if is_pair else frames_of(tokenizer)[0]
    found = [tokenizer.token_to_id(piece) for piece in EXTRACT_PIECES]
    if None in found:
        raise ConfigError(
            f"this tokenizer has no {EXTRACT_PIECES[found.index(None)]}; it is not the one that the model was "
            "fine-tuned with. Leave the tokenizer out, or name the model's own folder."
        )
    start, delimiter, extract = (np.array([number], dtype=np.int64) for number in found)
    nothing = start[:0]
    zero = np.zeros(1, dtype=np.int64)
    return Frame(
        before=start,
        between=delimiter if is_pair else nothing,
        after=extract,
        text_types=(0, 0),
        special_types=(zero, zero if is_pair else nothing, zero),
    )
