"""A vocabulary with free pieces, and a small model over it."""

import pytest

from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import write_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.text.tokenizers import Tokenizer


@pytest.fixture(scope="session")
def marked_tokenizer(vocabulary_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("marked-vocabulary")
    pieces = (vocabulary_folder / "vocab.txt").read_text(encoding="utf-8")
    free = "".join(f"[unused{number}]\n" for number in range(1, 13))
    (folder / "vocab.txt").write_text(pieces + free, encoding="utf-8")
    return Tokenizer.load(folder)


@pytest.fixture(scope="session")
def marked_folder(marked_tokenizer, tmp_path_factory):
    shape = {"hidden_size": 32, "num_layers": 2, "num_heads": 2, "intermediate_size": 64, "max_positions": 96}
    encoder = Encoder(EncoderConfig(vocab_size=marked_tokenizer.vocab_size, **shape))
    initialize(encoder, encoder.config, seed=1)
    folder = tmp_path_factory.mktemp("marked") / "model"
    write_folder(folder, FolderContent(encoder, {}, marked_tokenizer))
    return folder
