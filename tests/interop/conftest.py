"""A toy model with all heads, and folders of other people's shapes."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.nn.toy import toy_encoder

from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.heads import make_head
from spanwise.interop.huggingface import write_folder
from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.nn.heads.pair import PairHead
from spanwise.nn.heads.qa import QuestionAnsweringHead
from spanwise.nn.heads.span_boundary import SpanBoundaryHead
from spanwise.nn.heads.span_selection import SpanSelectionHead
from spanwise.nn.init import initialize


def make_heads(encoder, *names):
    makers = {
        "mlm": lambda: MaskedLMHead(encoder.config, encoder.word_embedding),
        "sbo": lambda: SpanBoundaryHead(encoder.config, encoder.word_embedding, num_positions=6, position_size=10),
        "qa": lambda: QuestionAnsweringHead(encoder.config),
        "nsp": lambda: PairHead(encoder.config, encoder.pooler),
        "span_selection": lambda: SpanSelectionHead(encoder.config),
    }
    heads = {name: makers[name]() for name in names}
    for name, head in heads.items():
        initialize(head, encoder.config, seed=5, prefix=name)
        with torch.no_grad():
            for parameter in head.parameters():
                parameter += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(9))
            if name in ("mlm", "sbo"):
                head.bias[encoder.config.vocab_size :] = 0.0
    return heads


def fresh_head(checkpoint, name, encoder, seed, size=()):
    """A head of ours in the form of the checkpoint's family, with fresh weights."""
    head = make_head(name, encoder, size, checkpoint.form_of(name))
    initialize(head, encoder.config, seed, prefix=name)
    return head


@pytest.fixture
def encoder():
    return toy_encoder()


@pytest.fixture
def heads(encoder):
    return make_heads(encoder, "mlm", "sbo")


@pytest.fixture
def folder(tmp_path, encoder, heads):
    """A folder that we wrote: encoder, masked-LM and span boundary head."""
    write_folder(tmp_path / "ours", FolderContent(encoder, heads))
    return tmp_path / "ours"


@pytest.fixture
def foreign(tmp_path, folder):
    """The same weights as somebody else's folder: no record of ours, one weight file, to be spoiled by tests."""
    tensors = load_file(folder / "model.safetensors")

    def make(change=None, settings=None, *, pickled=False):
        path = tmp_path / "theirs"
        path.mkdir(exist_ok=True)
        config = json.loads((folder / "config.json").read_text()) | (settings or {})
        config = {key: value for key, value in config.items() if value is not None}
        (path / "config.json").write_text(json.dumps(config))
        changed = change(dict(tensors)) if change else dict(tensors)
        if pickled:
            torch.save(changed, path / "pytorch_model.bin")
        else:
            save_file({name: tensor.contiguous() for name, tensor in changed.items()}, path / "model.safetensors")
        return path

    return make
