"""Raw text in, clusters of characters out: any text, one or many, and what is written in place of pronouns."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import write_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.pipelines import pipeline
from spanwise.pipelines.coreference import resolve
from spanwise.pipelines.given import OptionError
from spanwise.runtime.device import has_bf16
from spanwise.tasks.checkpoint import save_task_model
from spanwise.tasks.coref.task import Coreference
from spanwise.tasks.model import TaskModel
from spanwise.text.tokenizers import Tokenizer

STORY = "Anna met Kim. She likes the dog.\nKim sees it, and 한강 too 🙂. Anna runs."


@pytest.fixture(scope="module")
def folders(tmp_path_factory, vocabulary_folder):
    """Models with large random weights, which link much: one taught to tell lone mentions, one not, one no head."""
    tokenizer = Tokenizer.load(vocabulary_folder)
    values = {"hidden_size": 16, "num_layers": 1, "num_heads": 2, "intermediate_size": 16, "max_positions": 32}
    encoder = Encoder(EncoderConfig(vocab_size=tokenizer.vocab_size, initializer_range=0.5, **values))
    initialize(encoder, encoder.config, seed=1)
    folder = tmp_path_factory.mktemp("coref")
    for name, lone in (("plain", False), ("lone", True)):
        task = Coreference(ffn_size=8, feature_size=4, singletons=lone, num_antecedents=8)
        head = task.build_head(encoder.config)
        initialize(head, encoder.config, seed=3)
        if lone:  # sure of mentions, and that few of them go back
            torch.nn.init.constant_(head.spans.mention.out.bias, 20.0)
            torch.nn.init.constant_(head.antecedents.pair.out.bias, -55.0)
        (folder / name).mkdir()
        save_task_model(folder / name, TaskModel(task, encoder, head), tokenizer, other_heads={})
    write_folder(folder / "bare", FolderContent(encoder, {}, tokenizer))
    return folder


@pytest.fixture(scope="module")
def coref(folders):
    return pipeline("coreference", model=folders / "plain", device="cpu")


def test_mentions_are_cut_from_the_text_and_lie_in_order(coref):
    found = coref(STORY)
    assert found.keys() == {"clusters", "resolved", "segments", "num_windows", "num_dropped_tokens"}
    assert found["num_windows"] == found["segments"] > 1 and found["num_dropped_tokens"] == 0
    assert found["clusters"], "large random weights link something"
    places = []
    for cluster in found["clusters"]:
        assert len(cluster) > 1 and cluster == sorted(cluster, key=lambda m: (m["start"], m["end"]))
        for mention in cluster:
            assert mention["text"] == STORY[mention["start"] : mention["end"]] == mention["text"].strip() != ""
            assert "\n" not in mention["text"] and 0 <= mention["score"] <= 1
            places.append((mention["start"], mention["end"]))
    assert len(places) == len(set(places))


@settings(max_examples=40, deadline=None)
@given(st.text(st.sampled_from("ab. 한강é中🙂👩‍👧\n\u0301\u202bאבג!\tZ"), max_size=80).filter(str.strip))
def test_any_text_is_answered_with_spans_of_itself(coref, text):
    found = coref(text)
    for cluster in found["clusters"]:
        for mention in cluster:
            assert mention["text"] == text[mention["start"] : mention["end"]] != ""
    assert isinstance(found["resolved"], str)


def test_lists_and_generators_give_what_each_text_gives_alone(coref):
    texts = [STORY, "a", "🙂", "Kim sees Kim. " * 30]
    alone = [coref(text) for text in texts]
    assert coref(texts) == alone
    assert list(coref(text for text in texts)) == alone
    assert coref({"text": STORY}) == alone[0] and coref([]) == []


def test_long_text_is_never_cut(coref):
    text = "Kim sees Anna. " * 300
    found = coref(text)
    assert found["segments"] > 100 and max(m["end"] for cluster in found["clusters"] for m in cluster) > 4000


def test_lone_mentions_are_found_by_models_that_were_taught_to(folders):
    lone = pipeline("coreference", model=folders / "lone", device="cpu")
    assert any(len(cluster) == 1 for cluster in lone(STORY)["clusters"])
    without = pipeline("coreference", model=folders / "lone", device="cpu", singletons=False)
    assert without(STORY)["clusters"] == [cluster for cluster in lone(STORY)["clusters"] if len(cluster) > 1]
    with pytest.raises(OptionError, match="not taught to find single mentions"):
        pipeline("coreference", model=folders / "plain", singletons=True)


@pytest.mark.parametrize("wrong", [None, "", 3, b"text", {"words": "x"}, ["fine", 4], "half \ud800 pair"])
def test_what_is_no_text_is_refused(coref, wrong):
    with pytest.raises((DataError, ValueError)):
        coref(wrong)


def test_a_model_without_the_head_names_the_cure(folders):
    with pytest.raises(CheckpointError, match="spanwise finetune coref"):
        pipeline("coreference", model=folders / "bare")


def mentions(text, *words):
    found, place = [], 0
    for word in words:
        start = text.index(word, place)
        found.append({"start": start, "end": start + len(word), "text": word})
        place = start + 1
    return found


def test_later_mentions_are_replaced_by_the_first_that_is_no_pronoun():
    text = "He said that John lost his keys, and John found them."
    clusters = [mentions(text, "He", "John", "his", "John"), mentions(text, "his keys", "them")]
    assert resolve(text, clusters) == "John said that John lost John's keys, and John found his keys."
    assert resolve("She left. She slept.", [mentions("She left. She slept.", "She", "She")]) == "She left. She slept."


def test_pronouns_without_a_name_and_relative_pronouns_stay():
    text = "I saw her. She saw me, who said that."
    clusters = [mentions(text, "her", "She"), mentions(text, "I", "me", "who")]
    assert resolve(text, clusters) == text
    text = "The workers, who waited, left. They sang."
    assert resolve(text, [mentions(text, "The workers", "who", "They")]) == (
        "The workers, who waited, left. The workers sang."
    )


def test_first_letters_are_those_of_their_place():
    text = "The firm said it left. Kim saw a dog. It ran, and I liked it."
    clusters = [mentions(text, "The firm", "it"), mentions(text, "a dog", "It")]
    assert resolve(text, clusters) == "The firm said the firm left. Kim saw a dog. A dog ran, and I liked it."
    text = "Kim said I can. Then the firm let The Firm go."
    clusters = [mentions(text, "Kim", "I"), mentions(text, "the firm", "The Firm")]
    assert resolve(text, clusters) == "Kim said Kim can. Then the firm let The Firm go."


def test_of_mentions_inside_one_another_the_outer_one_is_replaced():
    text = "Kim. Kim's dog barked. Her dog ran."
    dog = mentions(text, "Kim's dog", "Her dog")
    assert (
        resolve(text, [dog, [*mentions(text, "Kim"), *mentions(text, "Her")]])
        == "Kim. Kim's dog barked. Kim's dog ran."
    )


def test_a_mention_that_holds_the_name_loses_nothing():
    text = "Mary Smith lives in Paris. She left."
    cluster = [*mentions(text, "Mary"), *mentions(text, "Mary Smith"), *mentions(text, "She")]
    assert resolve(text, [cluster]) == "Mary Smith lives in Paris. Mary left."


def test_bf16_runs_where_the_machine_has_it_and_is_refused_elsewhere(folders):
    def open_half():
        return pipeline("coreference", model=folders / "plain", device="cpu", precision="bf16")

    if has_bf16(torch.device("cpu")):
        whole = pipeline("coreference", model=folders / "plain", device="cpu")
        assert open_half()(STORY)["segments"] == whole(STORY)["segments"]
        assert torch.get_default_dtype() == torch.float32
    else:
        with pytest.raises(ConfigError, match="'bf16' needs hardware that cpu lacks"):
            open_half()
