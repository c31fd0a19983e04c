"""Blanks are filled as the pipeline of transformers fills them, and beyond what it can do."""

import logging
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import spanwise
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.pipelines.fill_mask import BlankEncoder, window_of
from spanwise.pipelines.given import InputError, OptionError
from spanwise.text.tokenizers import Tokenizer


@pytest.fixture(scope="module")
def tokenizer(vocabulary_folder):
    return Tokenizer.load(vocabulary_folder)


def test_blanks_are_where_the_mask_token_is_written(tokenizer):
    text = "The [MASK] River is [MASK][MASK] km."

    found = BlankEncoder(tokenizer).encode(text)

    pieces = tokenizer.tokens(found.ids)
    assert pieces == ["The", "[MASK]", "River", "is", "[MASK]", "[MASK]", "km", "."]
    assert found.runs == [(1, 2), (4, 6)]
    assert [text[start:end] for start, end in found.offsets] == pieces


def test_other_specials_of_a_text_are_text(tokenizer):
    found = BlankEncoder(tokenizer).encode("[CLS] The [SEP] [MASK] [PAD]")

    specials = set(tokenizer.special_ids) - {tokenizer.unk_id}
    assert [i for i in found.ids.tolist() if i in specials] == [tokenizer.mask_id]


def test_text_that_spells_specials_of_any_vocabulary_is_encoded_apart(tokenizer, monkeypatch):
    """A unigram vocabulary may hold its specials as ordinary pieces: then the parts are encoded on their own."""
    encoder = BlankEncoder(tokenizer)
    text = "한 [MASK] River [MASK]"
    plain = encoder.encode(text)
    encoder._forbidden = np.array([tokenizer.token_to_id("River")])

    apart = encoder.encode(text)

    assert apart.ids.tolist() == plain.ids.tolist() and apart.runs == plain.runs
    assert apart.offsets.tolist() == plain.offsets.tolist()


def test_ids_are_those_of_the_tokenizer_where_added_tokens_are_left_out(tokenizer):
    """Added tokens behind the vocabulary would move up when others before them are left out."""
    backend = tokenizer.copy_backend()
    backend.add_special_tokens(["<extra>"])
    backend.add_tokens(["newword"])
    grown = Tokenizer(backend)

    found = BlankEncoder(grown).encode("newword [MASK] <extra>")

    assert found.ids[0] == grown.token_to_id("newword") == grown.vocab_size - 1
    assert grown.token_to_id("<extra>") not in found.ids


def test_half_a_character_is_named(tokenizer):
    with pytest.raises(DataError, match="surrogate"):
        BlankEncoder(tokenizer).encode("[MASK] \ud800")


def test_windows_lie_around_their_run():
    assert window_of(10, (3, 4), 10) == (0, 10)
    assert window_of(100, (50, 52), 10) == (46, 56)
    assert window_of(100, (1, 2), 10) == (0, 10)
    assert window_of(100, (97, 99), 10) == (90, 100)
    assert window_of(100, (40, 50), 10) == (40, 50)


TEXTS = ["The [MASK] River is long.", "In [MASK] the bridge and [MASK] Seoul.", "[MASK] [MASK] km"]


@pytest.fixture(scope="module")
def fill(masked_lm_folder):
    return spanwise.pipeline("fill-mask", model=masked_lm_folder)


@pytest.fixture(scope="module")
def theirs(masked_lm_folder):
    import transformers

    transformers.utils.logging.disable_progress_bar()
    return transformers.pipeline("fill-mask", model=str(masked_lm_folder), device=-1)


def same(ours, theirs):
    """The same answers, ours with the characters of the blank beside them."""
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(same(*pair) for pair in zip(ours, theirs, strict=True))
    kept = {key: ours[key] for key in ("token", "token_str", "sequence")}
    expected = {key: theirs[key] for key in kept}
    assert kept == expected and ours["score"] == pytest.approx(theirs["score"], abs=1e-6)
    return True


@pytest.mark.parametrize("text", TEXTS)
def test_answers_are_those_of_transformers(fill, theirs, text):
    assert same(fill(text), theirs(text))


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "albert", "electra"])
def test_models_and_tokenizers_of_other_families_answer_alike(family, family_folder):
    import transformers

    folder, mask = family_folder(family)
    texts = [text.replace("[MASK]", mask) for text in [*TEXTS, "the old [MASK].", "river[MASK]s", " [MASK] , sold"]]

    ours = spanwise.pipeline("fill-mask", model=folder)
    theirs = transformers.pipeline("fill-mask", model=str(folder), device=-1)

    assert ours.mask_token == mask and same(ours(texts), theirs(texts))


def test_a_causal_model_is_refused(tmp_path, vocabulary_folder):
    from transformers import BertConfig, BertLMHeadModel

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    tokenizer = Tokenizer.load(vocabulary_folder)
    BertLMHeadModel(BertConfig(vocab_size=tokenizer.vocab_size, is_decoder=True, **sizes)).save_pretrained(tmp_path)

    with pytest.raises(CheckpointError, match="is a causal model: it sees what stands before a blank"):
        spanwise.pipeline("fill-mask", tmp_path, tokenizer)


@pytest.mark.parametrize(
    "options", [{"top_k": 2}, {"targets": ["River", "##am", "km"]}, {"targets": "The", "top_k": 3}]
)
def test_options_mean_what_they_mean_there(fill, theirs, options):
    assert same(fill(TEXTS[0], **options), theirs(TEXTS[0], **options))
    assert same(fill(TEXTS[1], **options), theirs(TEXTS[1], **options))


def test_lists_and_generators_are_answered_in_their_own_form(fill, theirs):
    assert same(fill(TEXTS), theirs(TEXTS))
    assert same(fill([TEXTS[0]]), theirs([TEXTS[0]]))
    stream = fill(text for text in TEXTS)
    assert not isinstance(stream, list) and same(list(stream), fill(TEXTS))
    assert fill([]) == []


def test_the_best_answers_come_first_and_are_probabilities(fill):
    answers = fill(TEXTS[0], top_k=10**6)

    scores = [answer["score"] for answer in answers]
    assert scores == sorted(scores, reverse=True) and sum(scores) == pytest.approx(1.0, abs=1e-5)


def test_a_blank_knows_its_characters(fill):
    text = "In 한강 [MASK] [MASK] é"

    first, second = fill(text)

    assert [text[a["start"] : a["end"]] for a in (first[0], second[0])] == ["[MASK]", "[MASK]"]
    assert first[0]["start"] == 6 and second[0]["start"] == 13


def test_texts_may_spell_other_specials(fill):
    answers = fill("[CLS] The [SEP] [MASK]", top_k=1)

    assert answers[0]["sequence"].startswith("[ CLS")


def test_a_target_of_several_pieces_stands_for_its_first_and_says_so(fill):
    with pytest.warns(UserWarning, match="'Riverbridge' is no single token; 'River' is asked for"):
        answers = fill(TEXTS[0], targets=["Riverbridge"])

    assert [answer["token_str"] for answer in answers] == ["River"]


# --- blanks side by side ---


def test_a_phrase_is_filled_from_left_to_right_each_blank_in_view_of_the_last(fill):
    text = "The [MASK] [MASK] [MASK] is long."
    ids, score = [], 1.0
    for _ in range(3):
        answer = fill(text, top_k=1)
        answer = answer[0][0] if isinstance(answer[0], list) else answer[0]
        ids.append(answer["token"])
        score *= answer["score"]
        text = text.replace("[MASK]", fill.tokenizer.tokens([answer["token"]])[0], 1)

    (greedy,) = fill("The [MASK] [MASK] [MASK] is long.", joint=True, num_beams=1, top_k=1)

    assert not any(piece.startswith("##") for piece in fill.tokenizer.tokens(ids))  # else the text above is another
    assert greedy["token"] == ids and greedy["score"] == pytest.approx(score, abs=1e-6)
    assert greedy["token_str"] == fill.tokenizer.decode(ids)


def test_a_wider_beam_finds_phrases_at_least_as_likely(fill):
    text = "The [MASK] [MASK] [MASK] is long."

    narrow = fill(text, joint=True, num_beams=1, top_k=1)[0]["score"]
    wide = fill(text, joint=True, num_beams=50, top_k=4)

    assert wide[0]["score"] >= narrow and len(wide) == 4
    assert [answer["score"] for answer in wide] == sorted((answer["score"] for answer in wide), reverse=True)
    assert len({tuple(answer["token"]) for answer in wide}) == 4


def test_runs_apart_are_phrases_of_their_own_and_one_blank_is_one_token(fill):
    text = "In [MASK] [MASK] the [MASK]."

    phrase, single = fill(text, joint=True, top_k=2)

    assert len(phrase[0]["token"]) == 2 and text[phrase[0]["start"] : phrase[0]["end"]] == "[MASK] [MASK]"
    assert isinstance(single[0]["token"], int) and "[MASK]" in single[0]["sequence"]
    assert same(fill(TEXTS[0], joint=True), fill(TEXTS[0]))


def test_targets_hold_for_every_blank_of_a_phrase(fill):
    answers = fill("The [MASK] [MASK] is long.", joint=True, targets=["River", "Han"], top_k=9)

    assert len(answers) == 4
    assert {piece for answer in answers for piece in fill.tokenizer.tokens(answer["token"])} == {"River", "Han"}


# --- the boundary head ---


def test_the_boundary_head_and_both_together_answer_in_the_same_form(spanbert_folder):
    text = "The [MASK] [MASK] is long."
    answers = {
        head: spanwise.pipeline("fill-mask", model=spanbert_folder, head=head)(text, top_k=3)
        for head in ("mlm", "sbo", "both")
    }

    assert all(len(found) == 2 and len(found[0]) == 3 for found in answers.values())
    assert len({answers[head][0][0]["score"] for head in answers}) == 3


def test_the_boundary_head_fills_at_the_edges_of_a_text(spanbert_folder):
    fill = spanwise.pipeline("fill-mask", model=spanbert_folder, head="sbo", top_k=1)

    assert len(fill("[MASK] River [MASK]")) == 2 and len(fill("[MASK]")) == 1


# --- long texts ---


def test_a_text_longer_than_the_model_is_read_around_each_blank(fill):
    room = fill.model.encoder.config.max_positions - 2
    words = ["River"] * 500
    words[100] = words[400] = "[MASK]"
    near = ["River"] * room
    near[room // 2 - 1 + room % 2] = "[MASK]"

    first, second = fill(" ".join(words), top_k=2)

    expected = fill(" ".join(near), top_k=2)
    for found in (first, second):
        assert [a["token"] for a in found] == [a["token"] for a in expected]
        assert found[0]["score"] == pytest.approx(expected[0]["score"], abs=1e-5)
    assert second[0]["start"] == len(" ".join(words[:400])) + 1


def test_more_blanks_in_a_row_than_the_model_reads_are_refused(fill):
    with pytest.raises(InputError, match="the text has 500 blanks in a row; this model reads 126 tokens"):
        fill("[MASK]" * 500)


# --- what is given ---


def test_objects_of_transformers_and_of_the_integrations_are_taken(masked_lm_folder, fill):
    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

    from spanwise.integrations.huggingface import SpanBoundaryPretraining

    tokenizer = AutoTokenizer.from_pretrained(masked_lm_folder)
    stock = AutoModelForMaskedLM.from_pretrained(masked_lm_folder)
    wrapped = SpanBoundaryPretraining.from_pretrained(masked_lm_folder, AutoModel)

    assert same(spanwise.pipeline("fill-mask", stock, tokenizer)(TEXTS), fill(TEXTS))
    assert same(spanwise.pipeline("fill-mask", wrapped, tokenizer)(TEXTS), fill(TEXTS))


def test_options_of_the_pipeline_are_defaults_of_its_calls(masked_lm_folder):
    fill = spanwise.pipeline("fill-mask", masked_lm_folder, top_k=1, device=-1, torch_dtype=torch.float32)

    assert len(fill(TEXTS[0])) == 1 and len(fill(TEXTS[0], top_k=2)) == 2
    assert len(fill(TEXTS[0], tokenizer_kwargs={"truncation": True})) == 1


def test_a_model_without_the_head_is_refused_and_says_what_to_do(masked_lm_folder, classic_folder, vocabulary_folder):
    with pytest.raises(CheckpointError, match=r"has no masked-LM head.*noise.*spanwise pretrain RECIPE --init"):
        spanwise.pipeline("fill-mask", model=classic_folder, tokenizer=vocabulary_folder)
    with pytest.raises(CheckpointError, match="has no span-boundary head"):
        spanwise.pipeline("fill-mask", model=masked_lm_folder, head="sbo")


def test_the_head_of_an_electra_is_said_to_lie_in_its_generator(
    masked_lm_folder, classic_folder, vocabulary_folder, tmp_path
):
    shutil.copytree(classic_folder, tmp_path / "electra")
    shutil.copytree(masked_lm_folder, tmp_path / "electra" / "generator")
    with pytest.raises(CheckpointError, match=rf"name {tmp_path / 'electra' / 'generator'} as the model\.") as refused:
        spanwise.pipeline("fill-mask", model=tmp_path / "electra", tokenizer=vocabulary_folder)
    assert "spanwise pretrain" not in str(refused.value)


@pytest.mark.parametrize(
    "inputs, options, error, message",
    [
        ("no blank here", {}, InputError, r"the text has no \[MASK\], which marks what to fill: 'no blank here'"),
        (["a [MASK]", 5], {}, InputError, r"input 1: the text is a int \('5'\); a text was expected"),
        (5, {}, InputError, "the text is a int"),
        ("a [MASK]", {"top_k": "2"}, OptionError, "top_k must be a whole number of at least 1, got '2'"),
        ("a [MASK]", {"top_k": 0}, OptionError, "top_k must be a whole number of at least 1"),
        ("a [MASK]", {"num_beams": 3}, OptionError, "num_beams belongs to joint=True"),
        ("a [MASK]", {"targets": 5}, OptionError, "targets is a text or a list of texts, got 5"),
        ("a [MASK]", {"targets": ["a", 5]}, OptionError, "targets is a text or a list of texts, got 5 in it"),
        ("a [MASK]", {"top_p": 0.9}, OptionError, "fill-mask has no option 'top_p'; it has .*top_k, targets"),
    ],
)
def test_what_cannot_be_filled_is_refused(fill, inputs, options, error, message):
    with pytest.raises(error, match=message):
        fill(inputs, **options)


def test_targets_without_any_token_are_refused(fill):
    with pytest.warns(UserWarning, match="has no token"), pytest.raises(OptionError, match="targets names no word"):
        fill(TEXTS[0], targets=[" "])


@pytest.mark.parametrize(
    "options, message", [({"head": "nsp"}, "head is 'mlm', 'sbo' or 'both'"), ({"framework": "tf"}, "'tf'")]
)
def test_options_of_the_pipeline_are_checked(masked_lm_folder, options, message):
    with pytest.raises(OptionError, match=message):
        spanwise.pipeline("fill-mask", masked_lm_folder, **options)


def test_errors_are_ours_and_value_errors():
    assert issubclass(InputError, DataError) and issubclass(InputError, ValueError)
    assert issubclass(OptionError, ConfigError) and issubclass(OptionError, ValueError)


def test_nothing_is_logged_for_a_whole_folder(masked_lm_folder, caplog):
    with caplog.at_level(logging.WARNING):
        spanwise.pipeline("fill-mask", masked_lm_folder)

    assert not caplog.records


def test_rows_without_a_token_are_never_an_answer(masked_lm_folder, tmp_path):
    from transformers import BertForMaskedLM

    model = BertForMaskedLM.from_pretrained(masked_lm_folder)
    model.resize_token_embeddings(model.config.vocab_size + 30)
    model.save_pretrained(tmp_path)
    tokenizer = Tokenizer.load(masked_lm_folder)
    tokenizer.save(tmp_path)

    answers = spanwise.pipeline("fill-mask", tmp_path)(TEXTS[0], top_k=1000)

    assert len(answers) == tokenizer.vocab_size and sum(answer["score"] for answer in answers) == pytest.approx(1.0)


def test_tensors_that_nothing_uses_are_logged(masked_lm_folder, tmp_path, caplog):
    folder = tmp_path / "more"
    shutil.copytree(masked_lm_folder, folder)
    tensors = load_file(folder / "model.safetensors") | {"extra.weight": torch.zeros(1)}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    spanwise.pipeline("fill-mask", folder)

    assert "1 tensors not used: extra.weight" in caplog.text
