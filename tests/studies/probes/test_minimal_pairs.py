"""Minimal pairs by the model's own MLM head; a model without one has no figure."""

from dataclasses import replace

from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.pretraining.minimal_pairs import judge_minimal_pairs, read_minimal_pairs
from spanwise.studies.probes import MinimalPairs
from spanwise.tasks.checkpoint import open_tokenizer


def test_the_share_of_right_pairs_is_that_of_the_judge(context_of):
    probe = MinimalPairs(max_pairs=4)
    context = context_of(probe)
    from spanwise.interop.checkpoint import build_encoder, build_head

    checkpoint = read_folder(context.model)
    encoder = build_encoder(checkpoint)
    pairs = read_minimal_pairs(context.material.files["pairs"])[::2]  # 4 of 8
    judged = judge_minimal_pairs(
        pairs, encoder, build_head(checkpoint, "mlm", encoder), open_tokenizer(checkpoint, None)
    )
    assert probe.measure(context) == {"right": 100 * judged.mean()}
    assert probe.baselines(context.material) == {"chance": {"right": 50.0}}


def test_a_model_without_an_mlm_head_has_no_figure(context_of, tmp_path):
    context = context_of(MinimalPairs())
    checkpoint = read_folder(context.model)
    from spanwise.interop.checkpoint import build_encoder

    (tmp_path / "bare").mkdir()
    write_folder(tmp_path / "bare", FolderContent(build_encoder(checkpoint), {}, open_tokenizer(checkpoint, None)))
    assert MinimalPairs().measure(replace(context, model=tmp_path / "bare")) == {}
