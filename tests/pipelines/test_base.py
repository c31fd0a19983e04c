"""All pipelines share how inputs are given, how options are checked, and how a task's model is opened."""

import dataclasses
from types import SimpleNamespace

import pytest

import spanwise
from spanwise.errors import CheckpointError, DataError
from spanwise.pipelines.base import STREAM_BATCH, CallOptions, Pipeline, TaskPipeline
from spanwise.pipelines.coreference import CoreferenceOptions, CoreferencePipeline
from spanwise.pipelines.given import InputError, OptionError, checked_text
from spanwise.pipelines.multiple_choice import MultipleChoicePipeline
from spanwise.pipelines.relation_extraction import RelationExtractionPipeline
from spanwise.pipelines.text_classification import TextClassificationPipeline
from spanwise.pipelines.token_classification import TokenClassificationPipeline
from spanwise.tasks.registry import task_recipe
from spanwise.tasks.run import finetune

PIPELINES = [
    TextClassificationPipeline, TokenClassificationPipeline, RelationExtractionPipeline, MultipleChoicePipeline,
]  # fmt: skip


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_each_word_for_long_texts_is_one_that_the_task_takes(pipeline):
    task = task_recipe(pipeline.task_name).task
    assert issubclass(pipeline, TaskPipeline) and task.on_overflow in pipeline.overflow_choices
    for word in pipeline.overflow_choices:
        assert dataclasses.replace(task, on_overflow=word).on_overflow == word


def test_a_task_without_a_word_for_long_texts_takes_the_one_that_is_true_of_it():
    pipe = CoreferencePipeline.__new__(CoreferencePipeline)
    said = SimpleNamespace(featurize=lambda *given, **named: None, decode=lambda *given: "found")
    pipe.task, pipe.tokenizer, pipe.precision, pipe.packing = said, None, "fp32", None
    pipe.model = SimpleNamespace(encoder=SimpleNamespace(config=None), outputs=lambda *given, **named: None)
    (word,) = pipe.overflow_choices
    assert pipe._predictions("data", CoreferenceOptions(on_overflow=word)) == "found"


def test_the_model_is_opened_with_its_task_and_a_word_for_long_texts(pipeline_start, tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("text\tlabel\nThe Han\tx\nkm km\ty\n")
    changes = ["training.max_steps=1", "training.precision=fp32"]
    model = finetune("classification", model=pipeline_start, train=path, out=tmp_path / "run", overrides=changes).final
    classify = TextClassificationPipeline(model, on_overflow="windows", device=-1)
    assert classify.task.labels == ("x", "y")
    long = "The Han " * 200
    assert classify(long)["num_windows"] > 1 and classify(long)["num_dropped_tokens"] == 0
    cut = classify(long, on_overflow="truncate")
    assert cut["num_windows"] == 1 and cut["num_dropped_tokens"] > 0 and classify(long)["num_windows"] > 1
    with pytest.raises(DataError, match="input 1: "):
        classify(["The Han", long], on_overflow="error")
    with pytest.raises(DataError, match=f"input {STREAM_BATCH + 1}: "):  # counted over the batches of a stream
        list(classify((text for text in ["The Han"] * (STREAM_BATCH + 1) + [long]), on_overflow="error"))
    with pytest.raises(OptionError, match="'cut' is not here; it is one of truncate, windows, error"):
        TextClassificationPipeline(model, on_overflow="cut")
    with pytest.raises(CheckpointError, match="has no head for 'tagging'"):
        spanwise.pipeline("token-classification", model=model)


class Upper(Pipeline[str, str, CallOptions]):
    """Answers with capitals, and remembers the sizes of its batches."""

    name, options_type = "upper", CallOptions

    def _open(self, model, tokenizer, device):
        self.sizes, self.device = [], device

    def _parse(self, item, options):
        return checked_text("the text", item)

    def _answer(self, items, options, first):
        self.sizes.append((first, len(items)))
        return [item.upper() for item in items]


@pytest.fixture
def upper():
    return Upper("a folder")


def test_one_gives_one_a_list_a_list_and_a_stream_a_stream(upper):
    assert upper("a") == "A"
    assert upper(["a", "b"]) == upper(("a", "b")) == ["A", "B"] and upper([]) == []
    assert upper(["a"]) == ["A"]  # a list of one is a list
    assert list(upper(map(str.strip, [" a", "b "]))) == ["A", "B"]
    upper.is_one_for_list_of_one = True
    assert upper(["a"]) == "A" and upper(["a", "b"]) == ["A", "B"] and upper([]) == []


def test_a_stream_is_read_a_few_at_a_time(upper):
    read = []

    def items():
        for number in range(STREAM_BATCH + 3):
            read.append(number)
            yield str(number)

    stream = upper(items())
    assert read == [] and next(stream) == "0" and len(read) == STREAM_BATCH
    assert len(list(stream)) == STREAM_BATCH + 2 and upper.sizes == [(0, STREAM_BATCH), (STREAM_BATCH, 3)]


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (3, "is a int"),
        (" \n", "is empty"),
        ("a\ud800", "half a surrogate"),
        (None, "is missing or None"),
        (b"a", "bytes"),
    ],
)
def test_the_input_that_is_no_text_is_named(upper, item, words):
    with pytest.raises(InputError, match=f"input 1: the text .*{words}"):
        upper(["a", item])
    with pytest.raises(ValueError, match=f"^the text .*{words}"):
        upper(item)
    with pytest.raises(InputError, match=f"input {STREAM_BATCH}: .*{words}"):
        list(upper(x for x in ["a"] * STREAM_BATCH + [item]))


def test_options_and_old_names_are_the_same_for_every_pipeline():
    old = Upper(
        "a folder", ("words", {"use_fast": True}), device=0, torch_dtype="float16", framework="pt", num_workers=2
    )
    assert old.precision == "auto" and old.device == "cuda:0"
    assert Upper("a folder", precision="bf16", dtype="float32").precision == "bf16"
    for wrong in ({"framework": "tf"}, {"dtype": "int8"}, {"on_overflow": "cut"}):
        with pytest.raises(OptionError, match=r"'tf'|'int8'|'cut' is not here"):
            Upper("a folder", **wrong)
    with pytest.raises(OptionError, match="upper has no option 'on_overflw'; it has on_overflow"):
        Upper("a folder")("a", on_overflw="error")


QUESTION = {"question": "Why?", "context": "It rained."}
BLANK_INPUTS = {
    "question-answering": {**QUESTION, "question": "   "},
    "fill-mask": "   ",
    "coreference": "   ",
    "text-generation": "   ",
    "replaced-tokens": "   ",
    "span-embedding": {"text": "   ", "spans": []},
}


def test_blanks_alone_are_refused_by_every_pipeline(
    classic_folder, vocabulary_folder, spanbert_folder, discriminator_folder, causal_model_folder, coref_folder
):
    folders = {
        "question-answering": classic_folder, "fill-mask": spanbert_folder, "coreference": coref_folder,
        "text-generation": causal_model_folder, "replaced-tokens": discriminator_folder,
        "span-embedding": spanbert_folder,
    }  # fmt: skip
    for name, item in BLANK_INPUTS.items():
        words = vocabulary_folder if name == "question-answering" else None
        answer = spanwise.pipeline(name, model=folders[name], tokenizer=words, device="cpu")
        with pytest.raises(InputError, match="is empty; give a text"):
            answer(item)
