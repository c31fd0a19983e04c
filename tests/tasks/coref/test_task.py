"""Coreference as a task: taught by its data, chunked as unchunked, learnt by heart, the same from its folder."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import torch

from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.files import MANIFEST_NAME
from spanwise.tasks.batches import Packing
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.coref.documents import CoreferenceData, TextDocument
from spanwise.tasks.coref.features import MENTIONS, TARGET
from spanwise.tasks.coref.reader import read_coreference
from spanwise.tasks.coref.task import Coreference, gold_clusters
from spanwise.tasks.coref.threshold import THRESHOLDS
from spanwise.tasks.evaluate import evaluate, predict
from spanwise.tasks.model import TaskModel
from spanwise.tasks.run import finetune

SHORT = [
    "training.learning_rate=4e-3", "training.head_learning_rate=4e-3", "training.precision=fp32", "training.threads=1",
    "batch_size=4", "task.ffn_size=24", "task.feature_size=8", "task.max_segment_length=16", "task.spans_per_piece=2.0",
    "task.dropout=0.0", "task.num_antecedents=12", "hidden_dropout=0.0",
]  # fmt: skip


@pytest.fixture(scope="module")
def data(stories):
    return read_coreference(stories, purpose="train")


@pytest.fixture(scope="module")
def finetuned(story_folder, stories, tmp_path_factory):
    """A run that has learnt its stories by heart."""
    out = tmp_path_factory.mktemp("coref") / "run"
    asked = {"model": story_folder, "train": stories, "dev": stories, "recipe": "small"}
    return finetune("coref", **asked, out=out, overrides=[*SHORT, "training.num_epochs=20"])


def test_a_small_model_learns_its_stories_by_heart(finetuned):
    assert finetuned.scores["conll_f1"] == 100.0
    assert finetuned.task.genres == ("none", "bn", "nw") and not finetuned.task.finds_singletons


def test_where_gold_is_kept_in_training_prediction_still_knows_which_spans_to_keep(finetuned, data):
    """Without a loss of their own, mention scores end equal: of OntoGUM's mentions 5 of 100 were kept."""
    assert finetuned.task.keep_gold
    loaded = load_task_model(finetuned.final, "coref", precision="fp32")
    features = loaded.task.featurize(data, loaded.tokenizer, loaded.model.encoder.config, training=False)
    for document, links in zip(features.documents, loaded.model.outputs(features), strict=True):
        found = torch.from_numpy(links.start_k), torch.from_numpy(links.end_k), torch.from_numpy(document.gold_M3)
        is_gold = gold_clusters(*found).numpy() > 0
        assert is_gold.sum() == len(document.gold_M3)
        assert links.mention_k[is_gold].min() > 0 > links.mention_k[~is_gold].max()


def test_the_folder_gives_the_scores_of_the_run_and_loads_as_an_encoder(finetuned, stories, tmp_path):
    result = evaluate("coref", model=finetuned.final, data=stories, precision="fp32")
    assert result.scores == finetuned.scores
    from transformers import AutoModel

    _, report = AutoModel.from_pretrained(finetuned.final, output_loading_info=True)
    assert report["missing_keys"] <= {"pooler.dense.weight", "pooler.dense.bias"}
    assert set(read_folder(finetuned.final).heads) == {"coref"}
    files = predict("coref", model=finetuned.final, input=stories, output=tmp_path / "p.conll", precision="fp32")
    assert [path.name for path in files] == ["p.conll", "p.jsonl"]
    rows = [json.loads(line) for line in files[1].read_text().splitlines()]
    gold = [json.loads(line) for line in stories.read_text().splitlines()]
    assert [row["clusters"] for row in rows] == [row["clusters"] for row in gold]
    assert all(row["num_windows"] >= 1 for row in rows)
    card = (finetuned.final / "README.md").read_text()
    assert 'spanwise.pipeline("coreference"' in card
    assert "at most 64 tokens; mentions" in Coreference().facts(read_folder(finetuned.final).config)[0]
    assert read_coreference(files[0], purpose="score").documents[0].clusters == (
        ((0, 1), (4, 5), (10, 11)),
        ((2, 3), (6, 7), (8, 9)),
    )


def test_fine_tuning_goes_on_from_its_own_head_and_replaces_one_of_another_shape(finetuned, stories, tmp_path, capsys):
    again = [*SHORT, "training.max_steps=1", "training.learning_rate=1e-9", "training.head_learning_rate=1e-9"]
    asked = {"model": finetuned.final, "train": stories, "dev": stories, "recipe": "small"}
    assert finetune("coref", **asked, out=tmp_path / "a", overrides=again).scores["conll_f1"] == 100.0
    other = finetune("coref", **asked, out=tmp_path / "b", overrides=[*again, "task.feature_size=5"])
    assert other.scores["conll_f1"] < 100.0
    capsys.readouterr()


@pytest.mark.parametrize("depth", [1, 2])
def test_long_documents_in_many_chunks_score_as_in_one(small_task, small_encoder, tokenizer, data, depth):
    task = dataclasses.replace(small_task, depth=depth)
    head = task.build_head(small_encoder.config)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)) * 0.3)
    model = TaskModel(task, small_encoder, head)
    draw = np.random.default_rng(0)
    words = tuple("".join(draw.choice(list("abcdefgh"), draw.integers(1, 4))) for _ in range(144))
    long = dataclasses.replace(
        data.documents[0],
        words=words,
        speakers=("",) * len(words),
        sentence_borders=tuple(range(0, len(words) + 1, 4)),
        clusters=(),
    )
    features = task.featurize(
        dataclasses.replace(data, documents=(long,)), tokenizer, small_encoder.config, training=False
    )
    (whole,) = model.outputs(features, packing=Packing(100_000))
    assert len(whole.start_k) > 100
    head.spans.chunk_spans, head.spans.chunk_pieces = 5, 11
    head.antecedents.chunk_rows, head.antecedents.chunk_pairs = 7, 9
    (parts,) = model.outputs(features, packing=Packing(64))
    for name in ("start_k", "end_k", "antecedent_k"):
        assert np.array_equal(getattr(parts, name), getattr(whole, name)), name
    for name in ("mention_k", "score_k", "total_k"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-4, atol=1e-5)


def test_a_documents_links_do_not_depend_on_the_documents_beside_it(small_model, data, tokenizer):
    def outputs(documents):
        features = small_model.task.featurize(
            dataclasses.replace(data, documents=documents), tokenizer, small_model.encoder.config, training=False
        )
        return small_model.outputs(features)

    together = outputs(data.documents)
    for row in (0, 5, 11):
        (alone,) = outputs(data.documents[row : row + 1])
        for name in ("start_k", "antecedent_k", "mention_k", "score_k", "total_k"):
            assert np.array_equal(getattr(alone, name), getattr(together[row], name))


def test_whole_packs_and_streamed_documents_give_the_same_links(small_model, data, tokenizer):
    features = small_model.task.featurize(data, tokenizer, small_model.encoder.config, training=False)
    small_model.eval()
    batch = features.assemble(np.arange(12))
    with torch.inference_mode():
        hidden = small_model.encoder(batch.input_ids, batch.token_type_ids, batch.sequences)
        packed = small_model.task.output(small_model.head, hidden, batch)
    for a, b in zip(packed, small_model.outputs(features), strict=True):
        assert np.array_equal(a.antecedent_k, b.antecedent_k) and a.num_segments == b.num_segments
        np.testing.assert_allclose(a.score_k, b.score_k, rtol=1e-5, atol=1e-5)


def test_the_threshold_of_links_is_tuned_where_asked_and_scores_and_files_are_those_at_it(small_model, data, tokenizer):
    features = small_model.task.featurize(data, tokenizer, small_model.encoder.config, training=False)
    said = list(small_model.outputs(features))
    at_zero = small_model.task.decode(data, features, said)
    assert small_model.task.tune(data, at_zero) is small_model.task

    asked = dataclasses.replace(small_model.task, tune_threshold=True)
    scores = {t: dataclasses.replace(asked, link_threshold=t).score(data, at_zero)["conll_f1"] for t in THRESHOLDS}
    assert len(set(scores.values())) > 2, "the threshold changes nothing here, so this test shows nothing"
    tuned = asked.tune(data, at_zero)
    assert scores[tuned.link_threshold] == max(scores.values()) > scores[0.0]

    decoded = tuned.decode(data, features, said)
    assert tuned.score(data, decoded) == tuned.score(data, at_zero)
    assert tuned.prediction_files(at_zero) == tuned.prediction_files(decoded) != asked.prediction_files(decoded)


def test_training_on_keeps_the_threshold_of_the_folder_until_dev_data_say_otherwise(finetuned, stories, tmp_path):
    folder = shutil.copytree(finetuned.final, tmp_path / "start")
    (folder / MANIFEST_NAME).unlink()
    record = json.loads((folder / "spanwise.json").read_text())
    record["task"]["link_threshold"] = -1.5
    (folder / "spanwise.json").write_text(json.dumps(record))
    asked = {"model": folder, "train": stories, "overrides": [*SHORT, "training.max_steps=1"]}
    kept = finetune("coref", **asked, recipe="small", out=tmp_path / "kept")
    assert kept.task.link_threshold == load_task_model(kept.final, "coref").task.link_threshold == -1.5
    asks = {"task.tune_threshold=false": 0.0, "task.link_threshold=-0.5": -0.5, "fresh_head=true": 0.0}
    asks["task.depth=2"] = 0.0  # a head of another size, which starts fresh
    for setting, wanted in asks.items():
        given = asked | {"overrides": [*asked["overrides"], setting]}
        assert finetune("coref", **given, recipe="small", out=tmp_path / setting).task.link_threshold == wanted


def test_a_file_of_pronouns_is_no_dev_file(story_folder, stories, tmp_path):
    gap = tmp_path / "gap.tsv"
    columns = ["ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL"]
    row = ["d-1", "Ann met Eva. She left.", "She", "13", "Ann", "0", "TRUE", "Eva", "8", "FALSE", "u"]
    gap.write_text("\n".join("\t".join(cells) for cells in (columns, row)) + "\n")
    with pytest.raises(DataError, match=r"gap\.tsv is a file of GAP.*evaluate coref"):
        finetune("coref", model=story_folder, train=stories, dev=gap, out=tmp_path / "run", overrides=SHORT)


def test_losses_of_packs_add_up(small_model, data, tokenizer):
    task = dataclasses.replace(small_model.task, mention_loss_weight=0.5, dropout=0.0)
    model = TaskModel(task, small_model.encoder, small_model.head).eval()
    features = task.featurize(data, tokenizer, model.encoder.config, training=True)
    with torch.no_grad():
        whole = model(features.assemble([0, 1, 2]))
        parts = [model(features.assemble([row])) for row in (0, 1, 2)]
    assert whole.keys() == {TARGET, MENTIONS}
    for name in whole:
        torch.testing.assert_close(whole[name].sum, sum(part[name].sum for part in parts), rtol=1e-4, atol=1e-4)
        assert whole[name].num_correct == sum(part[name].num_correct for part in parts)


def test_data_with_lone_mentions_teaches_to_tell_them(data):
    assert Coreference().taught_by(data).mention_loss_weight == 0.0
    lone = dataclasses.replace(data.documents[0], clusters=(((0, 1),),))
    taught = Coreference().taught_by(dataclasses.replace(data, documents=(lone,)))
    assert taught.mention_loss_weight == 1.0 and taught.finds_singletons
    for untaught in (Coreference(mention_loss_weight=0.0), Coreference(singletons=False)):
        untaught = untaught.taught_by(dataclasses.replace(data, documents=(lone,)))
        assert untaught.finds_singletons is False and untaught.mention_loss_weight == 0.0


def test_where_gold_is_kept_mentions_are_taught_and_lone_ones_still_left_out(data):
    """Gold mentions that always stay in teach their own score nothing: 5 of 100 were among the best in prediction."""
    taught = Coreference(keep_gold=True).taught_by(data)
    assert taught.mention_loss_weight == 1.0 and taught.finds_singletons is False


def test_lone_mentions_may_be_asked_for_where_the_data_has_none(data):
    taught = Coreference(singletons=True).taught_by(data)
    assert taught.finds_singletons and taught.mention_loss_weight == 1.0


@pytest.mark.parametrize(("weight", "found"), [(1.0, True), (0.0, False)])
def test_a_folder_from_before_the_option_finds_lone_mentions_where_it_had_the_loss(finetuned, tmp_path, weight, found):
    folder = shutil.copytree(finetuned.final, tmp_path / "older")
    (file,) = (path for path in folder.glob("*.json") if "singletons" in path.read_text())
    record = json.loads(file.read_text())
    (task,) = (value for value in walk(record) if "singletons" in value)
    del task["singletons"]
    task["mention_loss_weight"] = weight
    file.write_text(json.dumps(record))
    (folder / MANIFEST_NAME).unlink(missing_ok=True)
    assert load_task_model(folder, "coref").task.finds_singletons is found


def walk(value):
    """All dictionaries inside a JSON value."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(inner)


def test_spans_that_are_gold_mentions_get_their_cluster():
    gold = torch.tensor([[0, 2, 1], [1, 2, 2], [4, 9, 1]])
    starts, ends = torch.tensor([0, 0, 1, 4, 4]), torch.tensor([1, 2, 2, 9, 30])
    assert gold_clusters(starts, ends, gold).tolist() == [0, 1, 2, 1, 0]
    assert gold_clusters(starts, ends, gold[:0]).tolist() == [0] * 5


def test_a_genre_that_training_never_saw_is_none(small_task, tokenizer, small_encoder, data):
    task = dataclasses.replace(small_task, genres=("none", "bn"))
    features = task.featurize(data, tokenizer, small_encoder.config, training=False)
    assert features.genre_W.tolist() == [0, 1] * 6  # nw was not taught


def test_documents_of_one_token_and_of_none_are_answered(small_model, tokenizer):
    texts = ["", "a", "\u200b", "🙂", "a b"]
    data = CoreferenceData(source="s", documents=tuple(TextDocument(name=str(k), text=t) for k, t in enumerate(texts)))
    features = small_model.task.featurize(data, tokenizer, small_model.encoder.config, training=False)
    found = small_model.task.decode(data, features, small_model.outputs(features))
    assert len(found.clusters) == 5 and found.num_segments == (0, 1, 0, 1, 1)


def test_training_on_documents_of_one_token_or_without_clusters_works(encoder_folder, tmp_path, stories):
    rows = [
        {"doc_key": "one", "sentences": [["a"]], "clusters": [[[0, 0]]]},
        {"doc_key": "none", "sentences": [["a", "b"], ["c"]], "clusters": []},
        {"doc_key": "gone", "sentences": [["\u200b"]], "clusters": []},
    ]
    path = tmp_path / "odd.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    overrides = [*SHORT, "training.max_steps=3", "batch_size=1"]
    asked = {"model": encoder_folder, "recipe": "small", "overrides": overrides}
    result = finetune("coref", train=path, dev=path, out=tmp_path / "run", **asked)
    assert np.isfinite(result.training.losses["coref"]) and np.isfinite(result.training.losses["mentions"])
    (tmp_path / "gone.jsonl").write_text(json.dumps(rows[2]))
    with pytest.raises(DataError, match="no word that this tokenizer keeps"):
        finetune("coref", train=tmp_path / "gone.jsonl", out=tmp_path / "x", **asked)


def test_the_description_counts_what_is_long_lost_or_repeated(small_task, tokenizer, small_encoder, data):
    task = dataclasses.replace(small_task, max_training_segments=1, max_width=1)
    odd = dataclasses.replace(
        data.documents[0], words=("abc", "\u200b", *data.documents[0].words[2:]), clusters=(((0, 1), (1, 2)), ((2, 6),))
    )
    given = dataclasses.replace(data, documents=(odd,), num_repeated_mentions=3, num_dropped_mentions=4)
    features = task.featurize(given, tokenizer, small_encoder.config, training=True)
    text = "\n".join(task.describe(given, features))
    for words in (
        "1 documents in", "1 documents are longer", "1 mentions are lost", "2 mentions can't be found",
        "3 mentions stand twice", "4 mentions were dropped",
    ):  # fmt: skip
        assert words in text, (words, text)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"max_width": 0}, "max_width cannot be 0"),
        ({"spans_per_piece": 0.0}, "spans_per_piece cannot be 0.0; expected at least 0.000001"),
        ({"dropout": 1.0}, "dropout cannot be"),
        ({"mention_loss_weight": -1.0}, "mention_loss_weight"),
        ({"singletons": True, "mention_loss_weight": 0.0}, "needs task.mention_loss_weight above 0"),
        ({"max_segment_length": 7}, "max_segment_length cannot be 7"),
    ],
)
def test_wrong_options_are_named(values, said):
    with pytest.raises(ConfigError, match=said):
        Coreference(**values)


def test_segments_longer_than_the_encoder_and_models_without_the_head_are_refused(
    small_task, tokenizer, small_encoder, data, encoder_folder, stories
):
    with pytest.raises(ConfigError, match="encoder's 64 positions"):
        dataclasses.replace(small_task, max_segment_length=65).featurize(
            data, tokenizer, small_encoder.config, training=True
        )
    with pytest.raises(CheckpointError, match="spanwise finetune coref"):
        evaluate("coref", model=encoder_folder, data=stories)
