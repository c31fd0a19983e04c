"""A question-answering model in the shape of 2019: `.bin` weights with gamma and beta, no `model_type`, and the
vocabulary in a folder of its own."""

import json
import string

import pytest
import torch

TEXT = (
    "The Han River (한강) flows through Seoul and is 494 km long. Its arms, the Namhan and the Bukhan, meet at "
    "Yangpyeong; the river turns north-west. In 1394 the court moved to its bank. Ferries crossed it "
    "until the first bridge, built for trains, opened in 1900. Today more than thirty bridges carry cars."
)
CONFIG = {
    "vocab_size": 0,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 128,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "initializer_range": 0.02,
    "layer_norm_eps": 1e-12,
}


@pytest.fixture(scope="session")
def text():
    return TEXT


@pytest.fixture(scope="session")
def vocabulary_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cased-vocabulary")
    signs = list(string.ascii_letters + string.digits + string.punctuation + "한강é中")
    words = ["The", "the", "Han", "River", "river", "Seoul", "bridge", "##ing", "##am", "In", "is", "and", "km"]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *signs, *("##" + sign for sign in signs), *words]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(pieces)) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def oracle(vocabulary_folder):
    """The same weights in transformers; drawn large, so that probabilities differ from one another."""
    from transformers import BertConfig, BertForQuestionAnswering

    num_tokens = len((vocabulary_folder / "vocab.txt").read_text(encoding="utf-8").split())
    torch.manual_seed(0)
    model = BertForQuestionAnswering(BertConfig(**{**CONFIG, "vocab_size": num_tokens})).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, 0.3 if "qa_outputs" not in name else 1.0)
    return model


@pytest.fixture(scope="session")
def classic_folder(oracle, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classic-model")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in oracle.state_dict().items()
    }
    torch.save(old, folder / "pytorch_model.bin")
    config = {**CONFIG, "vocab_size": oracle.config.vocab_size}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder
