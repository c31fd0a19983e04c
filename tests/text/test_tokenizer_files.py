"""Folders of other people load rightly, ours load elsewhere, and damage is named."""

import json
import random
import warnings

import pytest

from spanwise.errors import CheckpointError
from spanwise.runtime.files import atomic_folder
from spanwise.text.tokenizers import Tokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = ["The US team told us that Denver won!", "한국어 문장은, naïve 24", "中文 [unk] \x07 x\u0301", ""]


def vocabulary_folder(folder, pieces, **config):
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join([*SPECIALS, *pieces]) + "\n", encoding="utf-8")
    if config:
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def test_transformers_reads_our_folder_with_identical_ids(tokenizer, tmp_path):
    from transformers import AutoTokenizer

    tokenizer.save(tmp_path)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        assert theirs.encode(text, add_special_tokens=False) == tokenizer.encode(text).ids.tolist()
    assert theirs.encode("US") != theirs.encode("us")
    assert theirs.encode("US")[0] == tokenizer.cls_id and theirs.encode("US")[-1] == tokenizer.sep_id
    assert (theirs.pad_token_id, theirs.mask_token_id, theirs.model_max_length) == (0, 4, 512)
    theirs.save_pretrained(tmp_path / "theirs")
    assert Tokenizer.load(tmp_path / "theirs").sha256 == tokenizer.sha256


def test_old_tools_read_our_vocabulary_file(tokenizer, tmp_path):
    from transformers import BertTokenizer

    tokenizer.save(tmp_path)
    theirs = BertTokenizer(vocab=str(tmp_path / "vocab.txt"), do_lower_case=False)
    for text in TEXTS:
        assert theirs.encode(text, add_special_tokens=False) == tokenizer.encode(text).ids.tolist()


def test_a_cased_vocabulary_alone_stays_cased(tmp_path):
    loaded = Tokenizer.load(vocabulary_folder(tmp_path, ["US", "us", "Denver"]))
    assert loaded.is_cased and loaded.tokens(loaded.encode("US us Denver").ids) == ["US", "us", "Denver"]


def test_an_uncased_vocabulary_alone_is_lower_cased_and_drops_accents(tmp_path):
    loaded = Tokenizer.load(vocabulary_folder(tmp_path, ["us", "cafe"]))
    assert not loaded.is_cased and loaded.tokens(loaded.encode("US Café").ids) == ["us", "cafe"]


def test_hangul_is_never_taken_apart(tmp_path):
    loaded = Tokenizer.load(vocabulary_folder(tmp_path, ["한국", "##어", "us"]))
    assert loaded.tokens(loaded.encode("한국어 US").ids) == ["한국", "##어", "us"]


def test_an_order_to_lower_case_a_cased_vocabulary_is_refused_aloud(tmp_path):
    folder = vocabulary_folder(tmp_path / "a", ["US", "us"], do_lower_case=True)
    with pytest.warns(UserWarning, match=r"tokenizer_config\.json asks to lower-case.*Case is kept"):
        loaded = Tokenizer.load(folder)
    assert loaded.is_cased
    loaded.save(tmp_path / "b")
    assert json.loads((tmp_path / "b" / "tokenizer_config.json").read_text())["do_lower_case"] is False


def test_a_tokenizer_json_that_lower_cases_a_cased_vocabulary_is_repaired(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    record = json.loads((tmp_path / "tokenizer.json").read_text())
    record["normalizer"]["lowercase"] = True
    record["normalizer"]["strip_accents"] = None
    (tmp_path / "tokenizer.json").write_text(json.dumps(record))
    with pytest.warns(UserWarning, match=r"tokenizer\.json asks to lower-case"):
        loaded = Tokenizer.load(tmp_path)
    assert loaded.sha256 == tokenizer.sha256


def test_an_uncased_choice_of_the_folder_is_kept(tmp_path):
    loaded = Tokenizer.load(vocabulary_folder(tmp_path, ["us", "é"], do_lower_case=False))
    assert loaded.is_cased and loaded.encode("US").ids.tolist() == [loaded.unk_id]


def test_windows_line_ends_and_blank_last_lines_are_no_pieces(tmp_path):
    (tmp_path / "vocab.txt").write_bytes("\r\n".join([*SPECIALS, "Us"]).encode() + b"\r\n\r\n")
    assert Tokenizer.load(tmp_path).vocab_size == 6


def test_folders_that_hold_no_tokenizer_are_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"has no tokenizer\.json, nor vocab\.txt"):
        Tokenizer.load(tmp_path)
    with pytest.raises(CheckpointError, match="is not a folder"):
        Tokenizer.load(tmp_path / "gone")
    with pytest.raises(CheckpointError, match="'us' stands on lines 6 and 7"):
        Tokenizer.load(vocabulary_folder(tmp_path / "twice", ["us", "us"]))
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json cannot be read"):
        Tokenizer.load(tmp_path)


def test_damage_never_goes_unnoticed_in_a_committed_folder(tokenizer, tmp_path):
    folder = tmp_path / "tokenizer"
    with atomic_folder(folder) as building:
        tokenizer.save(building)
    assert Tokenizer.load(folder).sha256 == tokenizer.sha256
    draw = random.Random(7)
    for name in ("tokenizer.json", "manifest.json", "tokenizer_config.json"):
        path = folder / name
        whole = path.read_bytes()
        for _ in range(30):
            damaged = bytearray(whole)
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
            path.write_bytes(draw.choice([damaged, whole[: draw.randrange(len(whole))]]))
            with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
                Tokenizer.load(folder)
        path.write_bytes(whole)
    assert Tokenizer.load(folder).sha256 == tokenizer.sha256


def test_a_tokenizer_edited_in_a_models_folder_is_said_and_still_read(tokenizer, tmp_path):
    folder = tmp_path / "model"
    with atomic_folder(folder) as building:
        tokenizer.save(building)
        (building / "config.json").write_text("{}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tokenizer.load(folder)
    path = folder / "tokenizer_config.json"
    path.write_text(path.read_text().replace('"model_max_length": 512', '"model_max_length": 128'))

    with pytest.warns(UserWarning, match=r"tokenizer_config\.json was changed .*`spanwise convert"):
        assert Tokenizer.load(folder).max_length == 128


def test_somebody_elses_manifest_beside_a_model_is_no_damage(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "manifest.json").write_text('{"name": "An app"}')
    assert Tokenizer.load(tmp_path).sha256 == tokenizer.sha256
