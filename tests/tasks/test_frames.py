"""Frames are those of the tokenizer's own template."""

import numpy as np
import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, processors

from spanwise.errors import ConfigError
from spanwise.tasks.frames import frames_of, pair_frame
from spanwise.text.tokenizers import Tokenizer

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "x", "y", "z"]


def make(post_processor=None, pieces=PIECES):
    backend = tokenizers.Tokenizer(models.WordLevel({piece: n for n, piece in enumerate(pieces)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.add_special_tokens([piece for piece in pieces if piece.startswith("<")])
    if post_processor is not None:
        backend.post_processor = post_processor
    roles = {"cls": "<s>", "sep": "</s>", "pad": "<pad>", "unk": "<unk>", "mask": "<mask>"}
    return Tokenizer(backend, specials=roles)


ROBERTA = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
BERT = processors.TemplateProcessing(
    single="<s>:0 $A:0 </s>:0", pair="<s>:0 $A:0 </s>:0 $B:1 </s>:1", special_tokens=[("<s>", 0), ("</s>", 2)]
)


@pytest.mark.parametrize("post_processor", [ROBERTA, BERT], ids=["roberta", "bert"])
def test_a_frame_gives_the_ids_and_types_that_the_library_gives(post_processor):
    tokenizer = make(post_processor)
    single, pair = frames_of(tokenizer)
    backend = tokenizer.copy_backend()
    one, two = backend.encode("x y"), backend.encode("x y", "z")
    ids, types = single.wrap(np.array([5, 6]))
    assert (ids.tolist(), types.tolist()) == (one.ids, one.type_ids)
    ids, types = pair.wrap(np.array([5, 6]), np.array([7]))
    assert (ids.tolist(), types.tolist()) == (two.ids, two.type_ids)
    assert (single.num_specials, pair.num_specials) == (2, len(two.ids) - 3)
    assert pair.wrap(np.array([], dtype=int), np.array([7]))[0].tolist()[-2:] == [7, 2]


def test_without_a_template_the_frame_is_berts():
    single, pair = frames_of(make())
    assert single.wrap(np.array([5]))[0].tolist() == [0, 5, 2]
    ids, types = pair.wrap(np.array([5]), np.array([6, 7]))
    assert ids.tolist() == [0, 5, 2, 6, 7, 2] and types.tolist() == [0, 0, 0, 1, 1, 1]


def test_a_tokenizer_that_parts_no_pair_refuses_one():
    only_first = processors.TemplateProcessing(single="<s> $A", pair="<s> $A $B:1", special_tokens=[("<s>", 0)])
    tokenizer = make(only_first)
    assert frames_of(tokenizer)[0].wrap(np.array([5]))[0].tolist() == [0, 5]
    with pytest.raises(ConfigError, match="no special token between two texts"):
        pair_frame(tokenizer)
