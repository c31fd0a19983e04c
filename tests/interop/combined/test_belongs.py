"""Which folders go with a base; every refusal says why."""

from dataclasses import replace

import pytest
from tests.interop.conftest import make_heads
from tests.nn.toy import toy_encoder
from tests.tasks.tuned import tuned_folder

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.combined.belongs import check_belongs, recorded_task, task_of
from spanwise.interop.combined.combine import combine
from spanwise.interop.combined.reading import read_for_task
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.grow import with_rows_for
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.tasks.qa.task import QuestionAnswering
from spanwise.text.extend import with_roles
from spanwise.text.tokenizers import Tokenizer


def test_the_task_is_the_one_that_the_record_names(pretrained_folder, tuned):
    assert recorded_task(read_folder(pretrained_folder)) is None
    assert task_of(read_folder(tuned["tagging"])) == "tagging"


def test_a_folder_without_a_task_one_of_several_and_one_of_a_user_are_refused(pretrained_folder, tuned, tmp_path):
    with pytest.raises(CheckpointError, match=r"was not fine-tuned by spanwise: its spanwise.json names no task"):
        task_of(read_folder(pretrained_folder))
    combined = combine(pretrained_folder, [tuned["qa"]], tmp_path / "several").folder
    with pytest.raises(CheckpointError, match=r"is a combined folder \(qa\); `spanwise convert .* --task qa`"):
        task_of(read_folder(combined))
    checkpoint = read_folder(tuned["qa"])
    for name in ("my_task.py:my_task", "../../elsewhere"):
        record = {**checkpoint.record, "finetuned": {"task": name}}
        with pytest.raises(ConfigError, match="a task of your own"):
            task_of(replace(checkpoint, record=record))


def test_a_vocabulary_with_a_piece_more_is_refused_with_its_name(pretrained_folder, tuned, tokenizer, tmp_path):
    grown = with_roles(tokenizer, ["question"])
    checkpoint = with_rows_for(read_folder(pretrained_folder), grown.vocab_size, seed=0)
    write_folder(tmp_path / "m", FolderContent(build_encoder(checkpoint), checkpoint.heads, grown))
    asking = tuned_folder(tmp_path / "m", tmp_path / "q", "qa", task=QuestionAnswering(head="span_selection"))
    base = read_folder(pretrained_folder)
    with pytest.raises(CheckpointError, match=r"its vocabulary has \[QUESTION\], which the base lacks"):
        check_belongs(base, read_folder(asking), "qa")
    both = combine(tmp_path / "m", [asking], tmp_path / "both").folder  # the base has it too
    found, alone = read_for_task(both, "qa"), read_folder(asking)
    assert (found.model_type, found.role_ids) == (alone.model_type, alone.role_ids) == ("splinter", {"question": 215})
    assert read_folder(both).model_type == "bert" and set(found.heads) == {"mlm", "span_selection"}


def test_another_shape_or_tokenizer_is_refused(pretrained_folder, tuned, tokenizer, tmp_path):
    base, right = read_folder(pretrained_folder), read_folder(tuned["qa"])
    check_belongs(base, right, "qa")
    check_belongs(base, replace(right, config=replace(right.config, hidden_dropout=0.5)), "qa")
    with pytest.raises(CheckpointError, match="its encoder has num_layers = 3, the base 2"):
        check_belongs(base, replace(right, config=replace(right.config, num_layers=3)), "qa")
    lines = (tuned["qa"] / "vocab.txt").read_text(encoding="utf-8").splitlines()
    (tmp_path / "vocab.txt").write_text("\n".join([*lines[:-2], lines[-1], lines[-2]]) + "\n", encoding="utf-8")
    assert Tokenizer.load(tmp_path).vocab_size == tokenizer.vocab_size
    with pytest.raises(CheckpointError, match="its tokenizer is another one"):
        check_belongs(base, replace(right, tokenizer_folder=tmp_path), "qa")
    with pytest.raises(CheckpointError, match="its tokenizer is missing"):
        check_belongs(base, replace(right, tokenizer_folder=None), "qa")
    with pytest.raises(CheckpointError, match="its tokenizer is there, and the base has none"):
        check_belongs(replace(base, tokenizer_folder=None), right, "qa")


def test_without_tokenizers_the_shape_decides(tmp_path):
    encoder = toy_encoder()
    write_folder(tmp_path / "m", FolderContent(encoder, make_heads(encoder, "mlm")))
    check_belongs(read_folder(tmp_path / "m"), read_folder(tmp_path / "m"), "qa")
