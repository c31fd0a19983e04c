import logging
from types import SimpleNamespace

import pytest
import torch
from tests.nn.toy import hugging_face_twin

import spanwise
from spanwise.errors import CheckpointError, DataError
from spanwise.interop.load import load


def make_batch(side):
    ids = torch.randint(0, 99, (3, 10), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    for row, length in enumerate((10, 4, 7)):
        mask[row, length:] = 0
    return (ids, mask) if side == "right" else (ids, mask.flip(1))


def test_right_padding_equals_transformers_at_real_tokens_and_is_zero_elsewhere(folder, encoder):
    ids, mask = make_batch("right")
    ours = spanwise.load(folder)(ids, mask)
    theirs = hugging_face_twin(encoder)(ids, mask).last_hidden_state
    assert (ours - theirs)[mask.bool()].abs().max() < 1e-5
    assert ours.shape == (3, 10, 32) and ours[~mask.bool()].abs().sum() == 0


def test_left_padding_gives_the_hidden_states_of_the_unpadded_text(folder):
    model = load(folder)
    ids, mask = make_batch("left")
    hidden = model(input_ids=ids, attention_mask=mask)
    for row, length in enumerate((10, 4, 7)):
        alone = model(ids[row : row + 1, -length:])[0]
        torch.testing.assert_close(hidden[row, -length:], alone, atol=2e-6, rtol=0)


def test_rows_without_any_token_are_zero(folder):
    ids, mask = make_batch("right")
    mask[1] = 0
    assert load(folder)(ids, mask)[1].abs().sum() == 0
    assert load(folder)(ids, torch.zeros_like(mask)).abs().sum() == 0


def test_gradients_reach_the_weights(folder):
    model = load(folder)
    ids, mask = make_batch("right")
    model(ids, mask).sum().backward()
    assert model.encoder.word_embedding.grad is not None and not model.training


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda ids, mask: (ids[0], None), "shape"),
        (lambda ids, mask: (ids, mask[:, :5]), "alike"),
        (lambda ids, mask: (ids + 29, mask), "knows 0 to 98"),
        (lambda ids, mask: (ids - 99, mask), "knows 0 to 98"),
        (lambda ids, mask: (ids, mask * torch.tensor([1, 0] + [1] * 8)), "row 0 has holes"),
        (lambda ids, mask: (ids.repeat(1, 5), None), "50 tokens came"),
    ],
)
def test_input_that_can_not_be_meant_is_refused(folder, change, named):
    with pytest.raises(DataError, match=named):
        load(folder)(*change(*make_batch("right")))


def test_text_is_encoded_with_the_folders_tokenizer(tmp_path, encoder, heads):
    from spanwise.interop.folder_plan import FolderContent
    from spanwise.interop.huggingface import write_folder
    from spanwise.text.tokenizers import Tokenizer

    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + letter for letter in letters)]
    pieces += [f"word{i}" for i in range(99 - len(pieces))]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n")
    write_folder(tmp_path / "model", FolderContent(encoder, heads, Tokenizer.load(tmp_path)))
    model = load(tmp_path / "model")

    first, second = model.encode(["ab c", "[MASK]"])
    ids = torch.tensor([[2, 5, 5 + 26 + 1, 7, 3]])
    torch.testing.assert_close(first, model(ids)[0].detach(), atol=2e-6, rtol=0)
    assert 4 not in [token for token in model.tokenizer.encode("[MASK]").ids]
    assert len(second) > 3 and model.encode([]) == [] and model.encode([""])[0].shape == (2, 32)
    many = model.encode(["ab c"] * 2000)
    torch.testing.assert_close(many[-1], first, atol=2e-6, rtol=0)
    with pytest.raises(DataError, match="Text 1 has 42 tokens"):
        model.encode(["a", "b " * 40])
    with pytest.raises(DataError, match="list of texts"):
        model.encode("one text")


def test_text_of_a_tokenizer_without_borders_is_encoded_without_them(folder):
    class Letters:
        cls_id = sep_id = -1  # GPT-1 has neither

        def encode_batch(self, texts):
            return [SimpleNamespace(ids=[ord(letter) - ord("a") for letter in text]) for text in texts]

    model = load(folder)
    model._tokenizer = Letters()
    first, nothing, second = model.encode(["abc", "", "b"])
    torch.testing.assert_close(first, model(torch.tensor([[0, 1, 2]]))[0].detach(), atol=2e-6, rtol=0)
    assert nothing.shape == (0, 32) and second.shape == (1, 32)


def test_a_folder_without_tokenizer_says_so_when_text_comes(folder):
    with pytest.raises(CheckpointError, match=r"no tokenizer.json or vocab.txt"):
        load(folder).encode(["text"])


def test_missing_and_unused_tensors_are_logged(foreign, caplog):
    path = foreign(lambda tensors: tensors | {"extra.weight": torch.zeros(1)})
    with caplog.at_level(logging.WARNING):
        model = load(path)
    assert "1 tensors not used: extra.weight" in caplog.text
    assert model.report.unexpected == ("extra.weight",)
