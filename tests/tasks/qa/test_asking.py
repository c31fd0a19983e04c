"""Windows that ask: where [QUESTION], the full stop and the separators stand, and what nobody sees."""

import dataclasses

import numpy as np
import pytest
from tests.tasks.qa.test_features import one_question
from tokenizers import processors

from spanwise.errors import ConfigError
from spanwise.tasks.frames import pair_frame
from spanwise.tasks.qa.asking import asking_frame, with_asking_template
from spanwise.tasks.qa.features import TARGET, make_windows
from spanwise.text.extend import with_roles
from spanwise.text.tokenizers import Tokenizer

SIZES = {"max_length": 64, "doc_stride": 16, "max_question_tokens": 64}


@pytest.fixture(scope="module")
def asking(tokenizer):
    return with_roles(tokenizer, ["question"])


def test_a_window_is_cls_question_question_token_full_stop_sep_passage_sep_of_one_type(asking, squad11):
    windows = make_windows(squad11, asking, **{**SIZES, "max_length": 512}, frame=asking_frame(asking, "seen"))
    batch = windows.assemble(np.array([3, 0]))
    ids, start = batch.input_ids.tolist(), 0
    for place, row in enumerate((3, 0)):
        question = asking.encode(squad11.questions[row].text).ids.tolist()
        passage = asking.encode(squad11.context_of(squad11.questions[row])).ids.tolist()
        stop = asking.token_to_id(".")
        expected = [asking.cls_id, *question, asking.question_id, stop, asking.sep_id, *passage, asking.sep_id]
        assert ids[start : start + len(expected)] == expected
        assert int(batch.targets[TARGET].question_S[place]) == start + 1 + len(question)
        assert windows.passage_start(row) == len(question) + 4
        start += len(expected)
    assert not batch.token_type_ids.any() and batch.sequences.num_positions == 0


def test_unseen_separators_keep_their_positions_and_nothing_else(asking, squad11):
    seen, unseen = (
        make_windows(squad11, asking, **SIZES, frame=asking_frame(asking, way)) for way in ("seen", "unseen")
    )
    assert np.array_equal(seen.first_W, unseen.first_W) and np.array_equal(seen.last_W, unseen.last_W)
    rows = np.arange(len(seen))
    whole, cut = seen.assemble(rows), unseen.assemble(rows)
    is_kept = whole.input_ids != asking.sep_id
    assert cut.input_ids.tolist() == whole.input_ids[is_kept].tolist()
    assert cut.sequences.positions.tolist() == whole.sequences.positions[is_kept].tolist()
    assert cut.sequences.num_positions == int(whole.sequences.positions[is_kept].max()) + 1 <= 64
    assert cut.sequences.lengths == tuple(length - 2 for length in whole.sequences.lengths)
    for name in ("first_G", "last_G", "question_S"):  # the same tokens, wherever they lie
        assert all(
            cut.input_ids[a] == whole.input_ids[b]
            for a, b in zip(getattr(cut.targets[TARGET], name), getattr(whole.targets[TARGET], name), strict=True)
        )


@pytest.mark.parametrize("way", ["seen", "unseen"])
@pytest.mark.parametrize("max_length", [8, 16, 64])
def test_a_question_that_fills_the_window_keeps_its_question_token(asking, way, max_length):
    data = one_question("The Han River is 494 km long.", question="Where is the bridge " * 60)
    windows = make_windows(data, asking, **{**SIZES, "max_length": max_length}, frame=asking_frame(asking, way))
    batch = windows.assemble(np.arange(len(windows)))
    assert batch.input_ids[batch.targets[TARGET].question_S].tolist() == [asking.question_id] * len(windows)
    assert windows.num_cut_questions == 1 and max(batch.sequences.lengths) <= max_length
    longest = max(int(batch.sequences.positions.max()) + 1, batch.sequences.num_positions)
    assert longest <= max_length and windows.last_W.max() == len(windows.passage(0).ids)


def test_the_template_that_is_saved_gives_the_same_windows_everywhere(asking, tmp_path):
    import transformers

    saved = with_asking_template(asking)
    assert saved.sha256 == asking.sha256
    saved.save(tmp_path)
    again = Tokenizer.load(tmp_path)
    for way in ("seen", "unseen"):
        ours, theirs = asking_frame(asking, way), asking_frame(again, way)
        assert all(np.array_equal(*pair) for pair in zip(_plain(ours), _plain(theirs), strict=True))
    stock = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert type(stock).__name__ == "SplinterTokenizer" and stock.question_token_id == asking.question_id
    encoded = stock("Where is the Han?", "In Seoul.")
    frame = asking_frame(again, "seen")
    texts = [again.encode(text).ids for text in ("Where is the Han?", "In Seoul.")]
    assert encoded["input_ids"] == frame.wrap(*texts)[0].tolist() and "token_type_ids" not in encoded
    assert stock("In Seoul.")["input_ids"] == [asking.cls_id, *texts[1], asking.sep_id]


def _plain(frame):
    return [np.asarray(value) for value in (frame.before, frame.between, frame.after, frame.gap, frame.tail)]


def test_a_vocabulary_without_a_full_stop_asks_without_one(tmp_path):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[QUESTION]", "Han"]
    (tmp_path / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    words = Tokenizer.load(tmp_path)
    assert asking_frame(words, "seen").between.tolist() == [5, 3]
    saved = with_asking_template(words)
    saved.save(tmp_path / "saved")
    assert "PreTrainedTokenizerFast" in (tmp_path / "saved" / "tokenizer_config.json").read_text()
    assert pair_frame(Tokenizer.load(tmp_path / "saved")).between.tolist() == [5, 3]


def test_a_question_behind_the_passage_and_no_question_at_all_are_refused(tokenizer, asking):
    with pytest.raises(ConfigError, match=r"this tokenizer has no \[QUESTION\]"):
        asking_frame(tokenizer, "seen")
    backend = asking.copy_backend()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [QUESTION] . [SEP]",
        special_tokens=[(piece, asking.token_to_id(piece)) for piece in ("[CLS]", "[SEP]", "[QUESTION]", ".")],
    )
    with pytest.raises(ConfigError, match='padding_side="left"'):
        asking_frame(Tokenizer(backend, specials=asking.specials), "seen")


def test_the_frame_of_a_pair_stays_what_the_template_says(asking):
    plain = pair_frame(asking)
    assert plain.between.tolist() == [asking.sep_id] and dataclasses.asdict(plain)["text_types"] == (0, 1)
