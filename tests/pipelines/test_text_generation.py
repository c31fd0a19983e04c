"""Writing on from raw text: equal to transformers, reproducible, and honest about why it ended and what it saw."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.decoding.writer import Choosing, Writing
from spanwise.pipelines.given import InputError, OptionError
from spanwise.text.tokenizers import Tokenizer

PROMPTS = ["The old river", "people sold bread and fish", "In winter", "over the market square every morning"]

SIGNS = st.text(alphabet="aTy .,\n\t\u0301\u200d\u05e9한강é🙂👧_", max_size=60)


@pytest.fixture(scope="module")
def generate(causal_model_folder):
    return spanwise.pipeline("text-generation", model=causal_model_folder, max_new_tokens=12)


def test_a_model_that_writes_is_refused_in_int8(causal_model_folder):
    with pytest.raises(OptionError, match="'int8' is for models that read"):
        spanwise.pipeline("text-generation", model=causal_model_folder, precision="int8")


@pytest.mark.parametrize("num_new", [1, 12])
def test_greedy_text_is_that_of_transformers(generate, causal_model_folder, num_new):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(causal_model_folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(causal_model_folder)
    for prompt, found in zip(PROMPTS, generate(PROMPTS, max_new_tokens=num_new), strict=True):
        ids = tokenizer(prompt, return_tensors="pt").input_ids
        settings = {"do_sample": False, "pad_token_id": 0, "suppress_tokens": [tokenizer.unk_token_id]}
        expected = model.generate(ids, max_new_tokens=num_new, **settings)[0].tolist()
        whole = tokenizer.decode(expected)
        assert whole == tokenizer.decode(ids[0]) + found["generated_text"]
        assert found["text"] == prompt + found["generated_text"] and found["num_tokens"] == num_new
        assert found["stop_reason"] == "max_new_tokens" and found["stop"] is None
        assert found["num_prompt_tokens"] == ids.shape[1] and found["num_dropped_tokens"] == 0


def test_one_a_list_and_a_stream_say_the_same(generate):
    many = generate(PROMPTS)
    assert isinstance(many, list) and list(generate(prompt for prompt in PROMPTS)) == many
    assert generate(PROMPTS[0]) == many[0] and generate([]) == []


def test_objects_of_transformers_are_taken(generate, causal_model_folder):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(causal_model_folder)
    tokenizer = AutoTokenizer.from_pretrained(causal_model_folder)
    again = spanwise.pipeline("text-generation", model=model, tokenizer=tokenizer, max_new_tokens=12)
    assert again(PROMPTS[1]) == generate(PROMPTS[1])


def test_drawn_text_is_decided_by_seed_and_place(generate):
    options = {"do_sample": True, "temperature": 1.3, "top_k": 50}
    first = generate(PROMPTS, seed=3, **options)
    assert generate(PROMPTS, seed=3, **options) == first == list(generate((p for p in PROMPTS), seed=3, **options))
    assert generate(PROMPTS, seed=4, **options) != first
    twice = generate([PROMPTS[0], PROMPTS[0]], **options)
    assert twice[0] != twice[1]
    torch.manual_seed(99)  # nobody else's random state takes part
    assert generate(PROMPTS, seed=3, **options) == first


def test_several_texts_a_prompt_are_a_list_each(generate):
    found = generate(PROMPTS[:2], do_sample=True, num_return_sequences=3)
    assert [len(answers) for answers in found] == [3, 3]
    assert len({answer["text"] for answer in found[0]}) > 1
    assert found[0][0] == generate(PROMPTS[:2], do_sample=True)[0]


def test_top_1_is_the_most_likely_text(generate):
    assert generate(PROMPTS, do_sample=True, top_k=1, seed=5) == generate(PROMPTS)


def test_a_stop_string_ends_the_text_before_it(generate):
    plain = generate(PROMPTS[0])
    words = plain["generated_text"].split()
    stop = words[3][-2:] if len(words[3]) > 1 else words[3]
    found = generate(PROMPTS[0], stop_strings=[stop, "never written"])
    place = plain["generated_text"].index(stop)
    assert found["generated_text"] == plain["generated_text"][:place]
    assert (found["stop_reason"], found["stop"]) == ("stop_string", stop) and found["num_tokens"] < 12
    kept = generate(PROMPTS[0], stop_strings=stop, include_stop=True)
    assert kept["generated_text"] == plain["generated_text"][:place] + stop


def test_a_stop_token_ends_the_text_before_it(generate):
    tokenizer = generate.tokenizer
    writing = Writing(prompt=tokenizer.encode(PROMPTS[0]).ids)
    banned = np.array(sorted(tokenizer.special_ids))
    generate.model.write([writing], Choosing(banned=banned), max_new_tokens=4, ended=lambda writing: None)
    number = next(number for number in writing.new if tokenizer.tokens([number])[0].endswith("</w>"))
    place = writing.new.index(number)
    piece = tokenizer.tokens([number])[0]
    for stop in (number, piece, piece.removesuffix("</w>")):
        found = generate(PROMPTS[0], stop_tokens=stop)
        assert (found["stop_reason"], found["stop"], found["num_tokens"]) == ("stop_token", piece, place + 1)
    assert len(generate(PROMPTS[0], stop_tokens=[piece], include_stop=True)["generated_text"]) > len(
        found["generated_text"]
    )


def test_text_beyond_the_positions_is_counted_or_refused(generate):
    long = "the old river ran past a stone bridge " * 10
    found = generate(["In winter", long], max_new_tokens=50)
    assert [answer["num_tokens"] for answer in found] == [50, 50]
    assert found[0]["num_windows"] > 1 and found[0]["num_dropped_tokens"] > 0
    assert found[1]["num_dropped_tokens"] > found[1]["num_prompt_tokens"] - 40 > 0
    assert found[1]["text"].startswith(long) and generate("In winter")["num_windows"] == 1
    with pytest.raises(InputError, match=r"input 1: .* more than the 40 positions"):
        generate(["In winter", long], on_overflow="error")


def test_a_blank_at_the_end_of_the_prompt_is_not_doubled(generate):
    assert generate("In winter ")["text"] == generate("In winter")["text"]


@pytest.mark.parametrize("text", ["r", "e\u0301", "\u05e9\u05dc\u05d5\u05dd the", "한국 river", "🙂", "\u200dthe"])
def test_any_text_is_written_on_or_refused_in_words(generate, text):
    try:
        found = generate(text)
    except InputError as error:
        assert "keeps nothing" in str(error)
    else:
        assert found["text"].startswith(text) and found["num_tokens"] == 12


@pytest.mark.parametrize("text", ["", "  ", "\x00\x01", 3, None, "a\ud800"])
def test_what_is_no_text_is_named(generate, text):
    with pytest.raises(InputError, match="input 1: "):
        generate(["the", text])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens must be a whole number of at least 1, got 0"),
        ({"do_sample": True, "top_k": -3}, "top_k must be a whole number of at least 1, got -3"),
        ({"do_sample": True, "top_k": 2.5}, "got 2.5"),
        ({"do_sample": True, "temperature": 0}, "the limit 0 is do_sample=False"),
        ({"temperature": 0.7}, "temperature belongs to do_sample=True"),
        ({"num_return_sequences": 2}, "belongs to do_sample=True"),
        ({"seed": 0.5}, "seed must be a whole number"),
        ({"stop_strings": [""]}, "at least one character"),
        ({"stop_strings": "River"}, "use 'river'"),
        ({"stop_strings": 5}, "stop_strings is a text or a list of texts, got 5"),
        ({"stop_strings": [5]}, "stop_strings is a text or a list of texts, got 5 in it"),
        ({"stop_tokens": 2.5}, "stop_tokens is a token, an id or a list of them, got 2.5"),
        ({"stop_tokens": "no such word"}, r"is no single token of this vocabulary .* stop_strings"),
        ({"stop_tokens": 10**6}, "outside this vocabulary"),
        ({"on_overflow": "cut"}, "one of windows, error"),
        ({"max_new_token": 3}, r"no option 'max_new_token'.*Did you mean 'max_new_tokens'"),
    ],
)
def test_options_out_of_range_are_refused(generate, options, words):
    with pytest.raises(OptionError, match=words):
        generate("the river", **options)


def test_an_unknown_default_is_refused_at_once(causal_model_folder):
    with pytest.raises(OptionError, match="Did you mean 'temperature'"):
        spanwise.pipeline("text-generation", model=causal_model_folder, temperatur=1)


def test_models_of_another_kind_are_told_what_fits(masked_lm_folder, causal_model_folder, tmp_path):
    with pytest.raises(CheckpointError, match=r"BertForMaskedLM.*sees both sides.*gpt1-mini.*'fill-mask'"):
        spanwise.pipeline("text-generation", model=masked_lm_folder)
    checkpoint = read_folder(causal_model_folder)
    words = Tokenizer.load(causal_model_folder)
    write_folder(tmp_path / "bare", FolderContent(build_encoder(checkpoint), {}, words, model_type="openai-gpt"))
    with pytest.raises(CheckpointError, match=r"\(OpenAIGPTModel\) was not trained to guess the next token"):
        spanwise.pipeline("text-generation", model=tmp_path / "bare")


@given(text=SIGNS)
@settings(max_examples=30, deadline=None)
def test_any_text_is_the_beginning_of_its_answer_or_is_refused(generate, text):
    try:
        found = generate(text, max_new_tokens=3)
    except InputError:
        return
    assert found["text"] == text + found["generated_text"] and found["num_tokens"] == 3
