"""A question-answering model in the shape of 2019: `.bin` weights with gamma and beta, no `model_type`, and the
vocabulary in a folder of its own."""

import json
import string

import pytest
import torch

from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.heads.span_boundary import SpanBoundaryHead
from spanwise.text.learn import learn_tokenizer
from spanwise.text.tokenizers import Tokenizer

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


@pytest.fixture(scope="session")
def masked_lm_folder(vocabulary_folder, tmp_path_factory):
    """A BertForMaskedLM of transformers with its tokenizer, weights drawn large so that guesses differ."""
    from transformers import BertConfig, BertForMaskedLM

    folder = tmp_path_factory.mktemp("masked-lm")
    tokenizer = Tokenizer.load(vocabulary_folder)
    torch.manual_seed(0)
    model = BertForMaskedLM(BertConfig(**{**CONFIG, "vocab_size": tokenizer.vocab_size})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, 0.2)
        model.cls.predictions.bias.normal_()
    model.save_pretrained(folder)
    tokenizer.save(folder)
    return folder


@pytest.fixture(scope="session")
def spanbert_folder(masked_lm_folder, tmp_path_factory):
    """The same model with a span-boundary head of three position rows beside it."""
    folder = tmp_path_factory.mktemp("spanbert")
    checkpoint = read_folder(masked_lm_folder)
    encoder = build_encoder(checkpoint)
    torch.manual_seed(1)
    head = SpanBoundaryHead(encoder.config, encoder.word_embedding, num_positions=3, position_size=4)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.normal_(0, 0.3)
    write_folder(folder, FolderContent(encoder, {**checkpoint.heads, "sbo": head}, Tokenizer.load(masked_lm_folder)))
    return folder


FAMILIES = {
    "roberta": ("RobertaTokenizer", "RobertaForMaskedLM", {"max_position_embeddings": 130, "type_vocab_size": 1}),
    "xlm-roberta": (
        "XLMRobertaTokenizer", "XLMRobertaForMaskedLM", {"max_position_embeddings": 130, "type_vocab_size": 1},
    ),
    "albert": ("AlbertTokenizer", "AlbertForMaskedLM", {"embedding_size": 8}),
    "electra": ("BertTokenizer", "ElectraForMaskedLM", {"embedding_size": 8}),
}  # fmt: skip


@pytest.fixture(scope="session")
def family_folder(tmp_path_factory):
    """Make a random masked-LM model of a family with a tokenizer of its kind; give the folder and its mask token."""
    import transformers

    lines = [TEXT, "people sold bread by the old river, and in the town"] * 5

    def make(family: str):
        folder = tmp_path_factory.mktemp(family)
        tokenizer_name, model_name, changes = FAMILIES[family]
        blank = getattr(transformers, tokenizer_name)()
        tokenizer = blank.train_new_from_iterator(lines, vocab_size=350, show_progress=False)
        model_class = getattr(transformers, model_name)
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        ids = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
        ids |= {"bos_token_id": tokenizer.cls_token_id, "eos_token_id": tokenizer.sep_token_id}
        torch.manual_seed(0)
        model = model_class(model_class.config_class(**{"max_position_embeddings": 128, **sizes, **ids, **changes}))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.1 * torch.randn(parameter.shape)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder, tokenizer.mask_token

    return make


@pytest.fixture(scope="session")
def pipeline_start(vocabulary_folder, tmp_path_factory):
    """A small encoder with random weights, to fine-tune for any task."""
    from spanwise.nn.config import EncoderConfig
    from spanwise.nn.encoder import Encoder
    from spanwise.nn.init import initialize

    tokenizer = Tokenizer.load(vocabulary_folder)
    shape = {"hidden_size": 16, "num_layers": 1, "num_heads": 2, "intermediate_size": 32, "max_positions": 128}
    encoder = Encoder(EncoderConfig(vocab_size=tokenizer.vocab_size, **shape))
    initialize(encoder, encoder.config, seed=4)
    folder = tmp_path_factory.mktemp("pipeline-start")
    write_folder(folder, FolderContent(encoder, {}, tokenizer))
    return folder


@pytest.fixture(scope="session")
def causal_oracle():
    """GPT-1 with random weights in transformers, drawn large, so that what it writes varies."""
    from transformers import OpenAIGPTConfig, OpenAIGPTLMHeadModel

    def make(vocab_size):
        torch.manual_seed(0)
        config = OpenAIGPTConfig(vocab_size=vocab_size, n_positions=40, n_embd=32, n_layer=2, n_head=2)
        model = OpenAIGPTLMHeadModel(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.2 * torch.randn(parameter.shape)
        return model

    return make


@pytest.fixture(scope="session")
def causal_model_folder(causal_oracle, tiny_text, tmp_path_factory):
    """That model with GPT-1's kind of tokenizer, learned from a few English sentences."""
    folder = tmp_path_factory.mktemp("causal-model")
    tokenizer = learn_tokenizer(tiny_text, vocab_size=250, kind="bpe", min_frequency=1)
    causal_oracle(tokenizer.vocab_size).save_pretrained(folder)
    tokenizer.save(folder)
    return folder


@pytest.fixture(scope="session")
def discriminator_oracle(vocabulary_folder):
    """ELECTRA's discriminator with random weights in transformers, drawn large."""
    from transformers import ElectraConfig, ElectraForPreTraining

    num_tokens = len((vocabulary_folder / "vocab.txt").read_text(encoding="utf-8").split())
    torch.manual_seed(0)
    sizes = {"vocab_size": num_tokens, "embedding_size": 16, "max_position_embeddings": 24}
    model = ElectraForPreTraining(ElectraConfig(**{**CONFIG, **sizes})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn(parameter.shape)
    return model


@pytest.fixture(scope="session")
def discriminator_folder(discriminator_oracle, vocabulary_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("discriminator")
    discriminator_oracle.save_pretrained(folder)
    Tokenizer.load(vocabulary_folder).save(folder)
    return folder


@pytest.fixture(scope="session")
def coref_folder(vocabulary_folder, tmp_path_factory):
    """A coreference model with large random weights, which link much."""
    from spanwise.nn.config import EncoderConfig
    from spanwise.nn.encoder import Encoder
    from spanwise.nn.init import initialize
    from spanwise.tasks.checkpoint import save_task_model
    from spanwise.tasks.coref.task import Coreference
    from spanwise.tasks.model import TaskModel

    tokenizer = Tokenizer.load(vocabulary_folder)
    values = {"hidden_size": 16, "num_layers": 1, "num_heads": 2, "intermediate_size": 16, "max_positions": 32}
    encoder = Encoder(EncoderConfig(vocab_size=tokenizer.vocab_size, initializer_range=0.5, **values))
    initialize(encoder, encoder.config, seed=1)
    task = Coreference(ffn_size=8, feature_size=4, num_antecedents=8)
    head = task.build_head(encoder.config)
    initialize(head, encoder.config, seed=3)
    folder = tmp_path_factory.mktemp("coref")
    save_task_model(folder, TaskModel(task, encoder, head), tokenizer, other_heads={})
    return folder
