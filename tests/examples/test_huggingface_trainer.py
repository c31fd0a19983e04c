"""The example trains, saves what everybody loads, and goes on from what it saved."""

import importlib.util
from pathlib import Path

import pytest

import spanwise

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("huggingface_trainer", ROOT / "examples" / "huggingface_trainer.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_learns_and_goes_on_from_its_own_folder(example, tiny_text, tmp_path, capsys):
    from transformers import AutoModel, AutoTokenizer

    shape = ["--batch-size", "8", "--max-length", "48", "--vocab-size", "300"]
    first = example.main(
        [str(tiny_text), "--out", str(tmp_path / "a"), "--steps", "30", "--learning-rate", "3e-3", *shape]
    )
    again = example.main(
        [str(tiny_text), "--out", str(tmp_path / "b"), "--model", str(tmp_path / "a"), "--steps", "2", *shape]
    )

    assert first["after"] < first["before"] - 1.0  # both losses start at ln V
    assert abs(again["before"] - first["after"]) < 1.5  # other masks, the same heads
    assert AutoTokenizer.from_pretrained(tmp_path / "b").mask_token == "[MASK]"
    assert AutoModel.from_pretrained(tmp_path / "b").config.hidden_size == 128
    assert spanwise.load(tmp_path / "b").encode(["the old river"])[0].shape[1] == 128
    fill = spanwise.pipeline("fill-mask", model=tmp_path / "b", head="both")
    assert fill("the old [MASK] ran")[0]["score"] > 0.0
    assert "held-out loss (MLM + SBO, nats)" in capsys.readouterr().out


def test_a_text_of_one_paragraph_is_refused(example, tmp_path):
    (tmp_path / "one.txt").write_text("only this")

    with pytest.raises(SystemExit, match="1 paragraphs; at least two"):
        example.main([str(tmp_path / "one.txt"), "--out", str(tmp_path / "a"), "--vocab-size", "64"])
