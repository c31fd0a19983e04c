"""Korean text typed in parts (NFD, as macOS writes names and files) is answered like any other, at its own characters.

The tokenizer composes; what a person gives and gets back stays as it was given.
"""

import json
import unicodedata

import numpy as np
import pytest
import torch

import spanwise
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import write_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.nn.heads.qa import QuestionAnsweringHead
from spanwise.nn.init import initialize
from spanwise.tasks.evaluate import evaluate
from spanwise.text.corpus import CorpusOptions, Document
from spanwise.text.learn import learn_tokenizer

CONTEXT = (
    "한강(漢江)은 서울을 지나 황해로 흐르는 강이다. 1900년에 첫 다리인 한강철교가 놓였고, café가 모인 강가에서 "
    "친구들은 ㅋㅋㅋ 웃으며 ＡＢＣ 마트와 iPhone15로 사진을 찍었다. 다리는 지금 서른 개가 넘는다."
)
QUESTIONS = ["한강의 첫 다리는 언제 놓였는가?", "강가에는 무엇이 모였는가?", "ㅋㅋㅋ 웃은 사람은 누구인가?"]
EXPECTED = ["1900년", "café", "친구들"]


def parted(text):
    return unicodedata.normalize("NFD", text)


def composed(text):
    return unicodedata.normalize("NFC", text)


@pytest.fixture(scope="module")
def tokenizer():
    documents = [Document("here", 1, [CONTEXT, *QUESTIONS] * 5)]
    return learn_tokenizer(documents, vocab_size=500, options=CorpusOptions(language="ko"))


@pytest.fixture(scope="module")
def folder(tokenizer, tmp_path_factory):
    """A model with both heads, its weights drawn large so that answers differ."""
    folder = tmp_path_factory.mktemp("korean-model")
    config = EncoderConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=32,
        num_layers=2,
        num_heads=2,
        intermediate_size=64,
        max_positions=128,
    )
    encoder = Encoder(config)
    initialize(encoder, config, seed=1)
    heads = {"qa": QuestionAnsweringHead(config), "mlm": MaskedLMHead(config, encoder.word_embedding)}
    torch.manual_seed(0)
    with torch.no_grad():
        for module in (encoder, *heads.values()):
            for parameter in module.parameters():
                if parameter.dim() == 2:
                    parameter.normal_(0, 0.3)
    write_folder(folder, FolderContent(encoder, heads, tokenizer, main_head="qa"))
    return folder


@pytest.mark.parametrize("align", [True, False])
def test_answers_to_text_in_parts_are_those_to_the_text_with_offsets_into_the_parts(folder, tokenizer, align):
    qa = spanwise.pipeline("question-answering", model=str(folder), device="cpu")
    assert tokenizer.unk_id not in tokenizer.encode(parted(CONTEXT)).ids
    for question in QUESTIONS:
        options = {"align_to_words": align, "top_k": 5, "max_answer_len": 8}
        whole = qa(question=question, context=CONTEXT, **options)
        for asked in (question, parted(question)):
            parts = qa(question=asked, context=parted(CONTEXT), **options)
            assert [found["score"] for found in parts] == [found["score"] for found in whole]
            for ours, given in zip(parts, whole, strict=True):
                assert ours["answer"] == parted(CONTEXT)[ours["start"] : ours["end"]]
                assert composed(ours["answer"]) == given["answer"] == CONTEXT[given["start"] : given["end"]]
                assert composed(parted(CONTEXT)[: ours["start"]]) == CONTEXT[: given["start"]]


def squad_file(path, change):
    context, questions = change(CONTEXT), [change(question) for question in QUESTIONS]
    qas = [
        {"id": str(n), "question": question, "answers": [{"text": answer, "answer_start": context.index(answer)}]}
        for n, (question, answer) in enumerate(zip(questions, map(change, EXPECTED), strict=True))
    ]
    record = {"version": "1.1", "data": [{"title": "한강", "paragraphs": [{"context": context, "qas": qas}]}]}
    path.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
    return path


def test_a_question_file_in_parts_scores_as_the_file_does(folder, tmp_path):
    files = [squad_file(tmp_path / f"{change.__name__}.json", change) for change in (composed, parted)]
    whole, parts = (evaluate("qa", model=folder, data=file) for file in files)
    assert parts.scores == whole.scores and len(files[1].read_text("utf-8")) > len(files[0].read_text("utf-8"))


def test_blanks_of_text_in_parts_are_filled_as_those_of_the_text(folder):
    fill = spanwise.pipeline("fill-mask", model=str(folder), device="cpu")
    text = "한강은 [MASK] 지나 황해로 흐르는 강이다."
    whole, parts = fill(text), fill(parted(text))
    assert [found["token"] for found in parts] == [found["token"] for found in whole]
    assert np.allclose([found["score"] for found in parts], [found["score"] for found in whole])
