"""The stages of a cluster's preparation depend on the input alone, and a restart must mean the same."""

import pytest

from spanwise.errors import ConfigError
from spanwise.text.corpus import CorpusOptions
from spanwise.text.learn import learn_tokenizer


@pytest.fixture
def texts(tmp_path):
    for name in "abcd":
        (tmp_path / f"{name}.txt").write_text(f"Denver is the capital {name}. " * 20, encoding="utf-8")
    learn_tokenizer(tmp_path / "a.txt", vocab_size=80).save(tmp_path / "tokenizer")
    return tmp_path


def stages(texts, **given):
    from spanwise.integrations.datatrove import prepare_stages

    files = [texts / f"{name}.txt" for name in "abcd"]
    return prepare_stages(files, texts / "tokenizer", texts / "store", texts / "work", **given)


@pytest.mark.slow
def test_files_are_put_together_up_to_a_size_and_a_part_is_a_task(texts):
    found = stages(texts, part_bytes=700)
    assert [(stage.name, stage.tasks) for stage in found] == [("parts", 2), ("store", 1)]
    assert [[file.name for file in part] for part in found[0].steps[0].parts] == [
        ["a.txt", "b.txt"],
        ["c.txt", "d.txt"],
    ]


@pytest.mark.slow
def test_near_duplicates_are_found_before_anything_is_written(texts):
    from spanwise.integrations.datatrove.stages import usual_minhash

    found = stages(texts, part_bytes=1, minhash=usual_minhash())
    assert [(stage.name, stage.tasks) for stage in found] == [
        ("signatures", 4), ("pairs", 14), ("clusters", 1), ("parts", 4), ("store", 1)
    ]  # fmt: skip


@pytest.mark.slow
def test_the_same_plan_goes_on_and_another_is_refused_by_name(texts):
    from datatrove.pipeline.filters import GopherRepetitionFilter

    stages(texts, filters=[GopherRepetitionFilter()])
    stages(texts, filters=[GopherRepetitionFilter()])
    with pytest.raises(ConfigError, match="begun with other filters"):
        stages(texts, filters=[GopherRepetitionFilter(dup_line_frac=0.1)])
    with pytest.raises(ConfigError, match="begun with other options, filters, part_bytes"):
        stages(texts, options=CorpusOptions(lines="sentences"), part_bytes=7)
    (texts / "b.txt").write_text("Denver.")
    with pytest.raises(ConfigError, match="begun with other files"):
        stages(texts, filters=[GopherRepetitionFilter()])
    with pytest.raises(ConfigError, match="part_bytes=0"):
        stages(texts, part_bytes=0)
