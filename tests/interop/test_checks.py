import pytest
import torch

from spanwise.errors import CheckpointError
from spanwise.interop.huggingface import read_folder

WORD = "bert.embeddings.word_embeddings.weight"
UP = "bert.encoder.layer.1.intermediate.dense.weight"


def test_nan_is_found_and_its_file_and_tensor_named(foreign):
    def change(tensors):
        tensors[UP][3, 4] = float("nan")
        return tensors

    with pytest.raises(CheckpointError, match=rf"theirs/model.safetensors.*{UP}.*NaN"):
        read_folder(foreign(change))


def test_a_missing_layer_is_an_error_that_names_a_tensor(foreign):
    with pytest.raises(CheckpointError, match=rf"lacks 1 tensors.*'{UP}'"):
        read_folder(foreign(lambda tensors: {name: tensor for name, tensor in tensors.items() if name != UP}))


def test_the_weights_of_something_else_are_an_error(foreign):
    with pytest.raises(CheckpointError, match=r"lacks 53 tensors.*2 unknown ones, such as 'conv1\."):
        read_folder(foreign(lambda _: {"conv1.weight": torch.zeros(3), "conv1.bias": torch.zeros(3)}))


def test_vocabulary_rows_must_agree_with_the_configuration(foreign):
    with pytest.raises(CheckpointError, match=rf"{WORD}.*\[99, 32\].*\[98, 32\]"):
        read_folder(foreign(settings={"vocab_size": 98}))


@pytest.mark.parametrize("part", ["query", "value"])
def test_shapes_of_fused_parts_are_checked(foreign, part):
    name = f"bert.encoder.layer.0.attention.self.{part}.weight"

    def change(tensors):
        tensors[name] = torch.zeros(16, 8)
        return tensors

    with pytest.raises(CheckpointError, match=r"attention.self.query.weight"):
        read_folder(foreign(change))


def test_an_untied_decoder_is_refused(foreign):
    def change(tensors):
        tensors["cls.predictions.decoder.weight"] = tensors[WORD] + 1
        return tensors

    with pytest.raises(CheckpointError, match=r"cls.predictions.decoder.weight.*tied"):
        read_folder(foreign(change))


@pytest.mark.parametrize("dtype", ["int8", "bool", "float8_e4m3fn", "complex64"])
def test_weights_of_a_type_that_is_not_read_are_refused(foreign, dtype):
    def change(tensors):
        tensors[UP] = tensors[UP].to(getattr(torch, dtype))
        return tensors

    with pytest.raises(CheckpointError, match=rf"{dtype}; weights of the types float32, float16, bfloat16, float64"):
        read_folder(foreign(change))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"num_hidden_layers": 10**9}, "num_layers cannot be 1000000000; expected at most 1000"),
        ({"hidden_size": 10**9, "num_attention_heads": 1}, "hidden_size cannot be 1000000000; expected at most"),
        ({"hidden_size": 10**5, "num_attention_heads": 1}, "hidden_size = 100,000, and the largest"),
        ({"vocab_size": 2**40}, "vocab_size cannot be 1099511627776; expected at most"),
        ({"vocab_size": 2**23}, "vocab_size = 8,388,608"),
        ({"max_position_embeddings": 10**6}, "max_positions = 1,000,000"),
        ({"model_type": "albert", "hidden_size": 10**5, "embedding_size": 10**5}, "hidden_size = 100,000"),
    ],
)
def test_sizes_that_no_file_could_hold_are_refused_before_anything_of_that_size_is_made(
    foreign, settings, named, monkeypatch
):
    folder = foreign(settings=settings)
    monkeypatch.setattr(torch.nn.Embedding, "__init__", lambda *args, **kwargs: pytest.fail("a table was made"))
    with pytest.raises(CheckpointError, match=named):
        read_folder(folder)


def test_half_precision_files_become_float32(foreign):
    checkpoint = read_folder(foreign(lambda tensors: {name: tensor.half() for name, tensor in tensors.items()}))
    assert all(tensor.dtype == torch.float32 for tensor in checkpoint.tensors.values())


def test_a_head_that_is_there_in_part_is_an_error(foreign):
    name = "cls.predictions.transform.dense.weight"
    with pytest.raises(CheckpointError, match=name):
        read_folder(foreign(lambda tensors: {key: tensor for key, tensor in tensors.items() if key != name}))
