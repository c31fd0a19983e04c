"""Documents of one language stay, and a restart with another model is refused."""

import pytest

from spanwise.errors import ConfigError
from spanwise.integrations.languages import installed_model
from spanwise.text.corpus import CorpusOptions
from spanwise.text.learn import learn_tokenizer

ENGLISH = "In winter the old river ran past a stone bridge and into the quiet town."
KOREAN = "강은 겨울에 오래된 돌다리를 지나 조용한 마을로 흘렀다."


def kept(language, texts, **given):
    from datatrove.data import Document

    from spanwise.integrations.datatrove import KeepLanguage

    step = KeepLanguage(language, installed_model(), **given)
    return list(step(Document(text, str(number)) for number, text in enumerate(texts)))


@pytest.mark.slow
def test_documents_of_the_language_stay_as_they_were():
    (korean,) = kept("ko", [ENGLISH, KOREAN, "12 34 56"])
    assert korean.text == KOREAN and korean.metadata["language"] == "ko" and korean.metadata["language_score"] > 0.9
    assert [document.text for document in kept("en", [ENGLISH, KOREAN])] == [ENGLISH]


@pytest.mark.slow
def test_the_limit_decides_what_is_too_unsure():
    mixed = [f"{ENGLISH} {KOREAN}"]
    assert len(kept("en", mixed, threshold=0.0)) == 1
    assert len(kept("en", mixed, threshold=0.999)) == 0
    with pytest.raises(ConfigError, match=r"threshold=1\.5"):
        kept("en", mixed, threshold=1.5)


@pytest.mark.slow
def test_a_restart_with_another_model_is_refused(tmp_path):
    from spanwise.integrations.datatrove import KeepLanguage, prepare_stages

    (tmp_path / "a.txt").write_text(ENGLISH * 3, encoding="utf-8")
    learn_tokenizer(tmp_path / "a.txt", vocab_size=80).save(tmp_path / "tokenizer")

    def claim(model):
        where = (tmp_path / "tokenizer", tmp_path / "store", tmp_path / "work")
        return prepare_stages(
            [tmp_path / "a.txt"], *where, options=CorpusOptions(), filters=[KeepLanguage("en", model)]
        )

    claim(installed_model())
    moved = tmp_path / "lid.ftz"
    moved.write_bytes(installed_model().read_bytes())
    claim(moved)
    moved.write_bytes(installed_model().read_bytes() + b"\0")
    with pytest.raises(ConfigError, match="begun with other filters"):
        claim(moved)
