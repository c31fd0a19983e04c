"""The weights that lie in a record: whole, named by hash, and the same network to `transformers` and to spanwise."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoModelForQuestionAnswering

import spanwise
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.files import sha256_of

NIGHT = Path(__file__).parents[2] / "records" / "spanwise-night" / "weights"
CLASSES = {"base": AutoModelForMaskedLM, "qa": AutoModelForQuestionAnswering}


@pytest.mark.parametrize("kind", CLASSES)
def test_the_kept_files_are_those_of_the_record_and_load_everywhere(kind):
    folder = NIGHT / kind
    hashes = json.loads((NIGHT / "hashes.json").read_text(encoding="utf-8"))
    assert hashes[kind] == {path.name: sha256_of(path) for path in folder.glob("*.safetensors")}
    assert {"mlm", "sbo"} <= set(read_folder(folder).heads)
    theirs, report = CLASSES[kind].from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    ours = spanwise.load(folder)
    ids = torch.tensor([ours.tokenizer.encode_batch(["The bridge was built in 1890 ."])[0].ids.tolist()])
    with torch.no_grad():
        expected = theirs.eval().base_model(ids).last_hidden_state
    assert torch.allclose(ours(ids), expected, atol=1e-5)


@pytest.mark.parametrize("kind", CLASSES)
def test_nothing_in_the_folder_names_a_machine_and_the_card_names_the_licence(kind):
    for path in (NIGHT / kind).glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert "/root" not in text and "/tmp" not in text and "/work" not in text
    assert "cc-by-sa" in (NIGHT / kind / "README.md").read_text(encoding="utf-8")
