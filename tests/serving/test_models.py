"""Which tasks a folder knows, and under which name."""

import logging

import pytest
import torch

from spanwise.errors import CheckpointError, ConfigError
from spanwise.serving.models import open_models
from spanwise.tasks.checkpoint import known_tasks


def test_the_shipped_models_know_their_tasks():
    assert known_tasks("spanwise-mini") == ["qa", "tagging", "coref"]
    assert known_tasks("spanwise-nano-ko") == ["qa"]


def test_a_model_serves_all_it_knows_with_one_encoder_for_what_needs_its_own(mini):
    model = mini["spanwise-mini"]
    assert set(model.pipelines) == {
        "question-answering", "token-classification", "coreference", "fill-mask", "span-embedding",
    }  # fmt: skip
    assert model.heads["mlm"].model.encoder is model.heads["sbo"].model.encoder
    assert model.pipelines["span-embedding"].reader.encoder is model.heads["mlm"].model.encoder
    with pytest.raises(ConfigError, match="no head 'x' that fills blanks; it has mlm, sbo"):
        model.pipeline("fill-mask", "x")


def test_the_same_model_twice_gets_two_names_and_korean_is_noticed():
    models = open_models(["spanwise-nano-ko", "spanwise-nano-ko"], "fp32")
    assert list(models) == ["spanwise-nano-ko", "spanwise-nano-ko-2"]
    assert models["spanwise-nano-ko"].is_korean


def test_a_model_that_writes_does_so_beside_models_in_int8_and_the_log_says_how(writer_folder, caplog):
    with caplog.at_level(logging.WARNING):
        (model,) = open_models([writer_folder], "int8").values()
    assert model.pipelines["text-generation"].precision == "auto"
    assert [record.getMessage() for record in caplog.records] == [
        "gpt writes text in the precision auto: int8 is for models that read."
    ]


def test_int8_beside_a_gpu_is_served_as_on_the_cpu_where_it_is(monkeypatch):
    asked = []

    def stop(device):
        asked.append(device)
        raise InterruptedError

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("spanwise.serving.models.workers_of", stop)
    for precision in ("int8", "auto"):
        with pytest.raises(InterruptedError):
            open_models(["spanwise-mini"], precision)
    assert asked == ["cpu", "cuda"]


def test_what_cannot_be_served_is_refused(tmp_path):
    with pytest.raises(CheckpointError):
        open_models([str(tmp_path)])
    with pytest.raises(ConfigError, match="pack_tokens must be at least 64"):
        open_models(["spanwise-mini"], pack_tokens=8)
