"""The layouts: what stands around texts, and which encoders can be read so."""

import numpy as np
import pytest

from spanwise.errors import ConfigError
from spanwise.interop.huggingface import read_folder
from spanwise.nn.config import EncoderConfig
from spanwise.tasks.free_pieces import with_pieces
from spanwise.tasks.input_layout import EXTRACT_PIECES, check_layout, layout_frame, layout_pieces, layout_words
from spanwise.text.tokenizers import Tokenizer

SHAPE = {"vocab_size": 50, "hidden_size": 8, "num_layers": 1, "num_heads": 1, "intermediate_size": 8}


@pytest.fixture(scope="module")
def words(causal_folder):
    checkpoint = read_folder(causal_folder)
    return with_pieces(checkpoint, Tokenizer.load(causal_folder), layout_pieces("extract"), seed=0)[1]


def test_extract_puts_start_delimiter_and_extract_around_texts(words):
    start, delimiter, extract = (words.token_to_id(piece) for piece in EXTRACT_PIECES)
    assert [start, delimiter, extract] == list(range(words.vocab_size - 3, words.vocab_size))
    one, two = (layout_frame(words, "extract", is_pair=is_pair) for is_pair in (False, True))
    a, b = np.array([5, 6]), np.array([7])
    assert one.wrap(a)[0].tolist() == [start, 5, 6, extract] and one.num_specials == 2
    assert two.wrap(a, b)[0].tolist() == [start, 5, 6, delimiter, 7, extract]
    assert two.wrap(a, b)[1].tolist() == [0] * 6 and two.ids.tolist() == [start, delimiter, extract]
    assert layout_words(is_pair=True).startswith("_start_ text _delimiter_ text _classify_,")


def test_no_text_spells_the_added_tokens(words):
    assert not set(words.encode("_start_ the river _delimiter_ _classify_").ids) & words.special_ids - {words.unk_id}


def test_template_is_the_tokenizers_own_and_needs_no_piece(tokenizer, words):
    assert layout_pieces("template") == ()
    assert layout_frame(tokenizer, "template", is_pair=True).num_specials == 3
    with pytest.raises(ConfigError, match=r"--recipe gpt-1 \(task\.layout=extract\)"):
        layout_frame(words, "template", is_pair=True)


def test_a_tokenizer_without_the_tokens_and_encoders_that_see_both_sides_are_refused(tokenizer):
    with pytest.raises(ConfigError, match=r"no _start_; it is not the one"):
        layout_frame(tokenizer, "extract", is_pair=False)
    bidirectional, causal = (EncoderConfig(**SHAPE, causal=is_causal) for is_causal in (False, True))
    with pytest.raises(ConfigError, match=r"task\.layout=extract is read at the last token"):
        check_layout("extract", 0.5, bidirectional)
    with pytest.raises(ConfigError, match=r"task\.lm_weight=0\.5 teaches to guess the next token"):
        check_layout("template", 0.5, bidirectional)
    check_layout("extract", 0.5, causal)
    check_layout("template", 0.0, bidirectional)
