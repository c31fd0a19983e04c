"""Random models of transformers beside ours: what both say about one padded batch."""

import json
from dataclasses import dataclass

import torch
import transformers
from transformers import AutoModel

from spanwise.interop.checkpoint import build_encoder, build_head
from spanwise.interop.huggingface import read_folder
from spanwise.nn.losses.pointer import ManyPointers
from spanwise.nn.sequences import Sequences
from spanwise.nn.vocabulary_loss import vocabulary_logits

LENGTHS = (10, 4, 7)
NUM_LABELS = 3
QUESTION_ID = 98  # of Splinter's [QUESTION]


@dataclass(frozen=True)
class Oracle:
    """One family at toy size."""

    config_class: str
    settings: dict
    pad_id: int = 0
    has_types: bool = True
    counts_positions: bool = False  # whether the class finds positions itself, so that left padding needs no help

    def config(self, **changes):
        return getattr(transformers, self.config_class)(**(self.settings | {"initializer_range": 0.3} | changes))

    def model(self, class_name, seed=0, **changes):
        """A model of transformers; every parameter is random, norms and biases too."""
        if "Classification" in class_name:
            changes = {"num_labels": NUM_LABELS} | changes
        torch.manual_seed(seed)
        model = getattr(transformers, class_name)(self.config(**changes)).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.1 * torch.randn(parameter.shape)
        return model

    def assert_lines_are_the_parameters(self, family, class_name, config):
        architecture = family.architectures[class_name]
        settings = family.write_settings(config, self.pad_id)
        key_map = family.key_map(config, settings)
        lines = list(key_map.encoder) + (list(key_map.pooler) if architecture.pooler else [])
        lines += [line for head in architecture.heads for line in key_map.heads[head]]
        names = [theirs for line in lines for theirs in line.theirs]
        with torch.device("meta"):
            found = [name for name, _ in getattr(transformers, class_name)(self.config()).named_parameters()]
        stock = {key_map.copies.get(name, name) for name in found}  # a tied table goes by either of its names
        assert len(names) == len(set(names))
        assert set(names) | set(key_map.repeats) == stock


SHAPE = dict(vocab_size=99, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64)
ORACLES = {
    "bert": Oracle("BertConfig", SHAPE | {"max_position_embeddings": 40}),
    "roberta": Oracle(
        "RobertaConfig",
        SHAPE | {"max_position_embeddings": 42, "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1},
        pad_id=1,
        has_types=False,
        counts_positions=True,
    ),
    "albert": Oracle("AlbertConfig", SHAPE | {"max_position_embeddings": 40, "embedding_size": 8}),
    "electra": Oracle("ElectraConfig", SHAPE | {"max_position_embeddings": 40, "embedding_size": 8}),
    "xlm_roberta": Oracle(
        "XLMRobertaConfig",
        SHAPE | {"max_position_embeddings": 42, "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1},
        pad_id=1,
        has_types=False,
        counts_positions=True,
    ),
    "modernbert": Oracle(
        "ModernBertConfig",
        SHAPE
        | {"max_position_embeddings": 40, "local_attention": 8, "global_attn_every_n_layers": 2}
        | {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": None, "sep_token_id": None},
        has_types=False,
    ),
    "splinter": Oracle("SplinterConfig", SHAPE | {"max_position_embeddings": 40, "question_token_id": QUESTION_ID}),
    "openai_gpt": Oracle(
        "OpenAIGPTConfig",
        dict(vocab_size=99, n_embd=32, n_layer=3, n_head=4, n_positions=40, pad_token_id=0),
        has_types=False,
    ),
}


@dataclass(frozen=True)
class PaddedBatch:
    ids: torch.Tensor  # [B, L]
    mask: torch.Tensor
    types: torch.Tensor
    positions: torch.Tensor


def make_batch(oracle, side="right"):
    """Rows of 10, 4 and 7 real tokens; the padding id stands at padding alone."""
    generator = torch.Generator().manual_seed(3)
    ids = torch.full((3, 10), oracle.pad_id)
    mask, types, positions = torch.zeros(3, 3, 10, dtype=torch.int64)
    for row, length in enumerate(LENGTHS):
        place = slice(0, length) if side == "right" else slice(10 - length, 10)
        ids[row, place] = torch.randint(2, 99, (length,), generator=generator)
        mask[row, place] = 1
        positions[row, place] = torch.arange(length)
        if oracle.has_types:
            types[row, place] = torch.randint(0, 2, (length,), generator=generator)
    return PaddedBatch(ids, mask, types, positions)


def arguments(oracle, batch):
    named = {"input_ids": batch.ids, "attention_mask": batch.mask}
    if oracle.has_types:
        named["token_type_ids"] = batch.types
    if not oracle.counts_positions:
        named["position_ids"] = batch.positions
    return named


def first_tokens(batch):
    """The place of the first real token of each row, int64 [B]."""
    return batch.mask.argmax(1)


@torch.no_grad()
def their_scores(model, oracle, batch):
    """What a class of transformers says, by our names of heads; rows of tokens are the real ones, end to end."""
    real = batch.mask.bool()
    name = type(model).__name__
    if type(model) is type(model.base_model):
        return {}
    if "MultipleChoice" in name:
        named = {key: value.unsqueeze(1) for key, value in arguments(oracle, batch).items()}
        return {"multiple_choice": model(**named).logits}
    if "DoubleHeads" in name:
        out = model(**arguments(oracle, batch), mc_token_ids=batch.mask.sum(1) - 1)
        return {"clm": out.logits[real], "multiple_choice": out.mc_logits.unsqueeze(1)}
    if "Splinter" in name:  # the first token of each row asks; scores of all rows end to end, as pointers have them
        asked = model(**arguments(oracle, batch), question_positions=first_tokens(batch)[:, None])
        return {"span_selection": torch.stack((asked.start_logits[:, 0][real], asked.end_logits[:, 0][real]))}
    out = model(**arguments(oracle, batch))
    if "QuestionAnswering" in name:
        return {"qa": torch.stack((out.start_logits, out.end_logits), -1)[real]}
    if "SequenceClassification" in name:
        return {"classification": out.logits}
    if "TokenClassification" in name:
        return {"tagging": out.logits[real]}
    if "NextSentence" in name:
        return {"nsp": out.logits}
    if "MaskedLM" in name:
        return {"mlm": out.logits[real]}
    if "LMHead" in name:
        return {"clm": out.logits[real]}
    if name == "ElectraForPreTraining":
        return {"rtd": out.logits[real]}
    if name == "BertForPreTraining":
        return {"mlm": out.prediction_logits[real], "nsp": out.seq_relationship_logits}
    if name == "AlbertForPreTraining":
        return {"mlm": out.prediction_logits[real], "sop": out.sop_logits}
    raise AssertionError(name)


@torch.no_grad()
def our_scores(encoder, heads, batch):
    """The same from our packed encoder and its heads by name."""
    real = batch.mask.bool()
    sequences = Sequences.from_lengths(batch.mask.sum(1).tolist())
    hidden_TD = encoder(batch.ids[real], batch.types[real], sequences)
    size = encoder.config.vocab_size
    scores = {}
    for name, head in heads.items():
        if name == "mlm":
            scores[name] = vocabulary_logits(head.transform(hidden_TD), head.weight, head.bias, size)
        elif name == "clm":
            scores[name] = vocabulary_logits(hidden_TD, head.weight, head.bias, size)
        elif name == "span_selection":
            one_each = ManyPointers.of([1] * len(sequences.lengths), sequences)
            scores[name] = torch.stack(head(hidden_TD, sequences.cu_seqlens[:-1].long(), one_each))
        elif name in ("nsp", "sop"):
            scores[name] = head(hidden_TD[sequences.cu_seqlens[:-1].long()])
        elif name in ("classification", "multiple_choice"):
            scores[name] = head(hidden_TD, sequences)
        else:
            scores[name] = head(hidden_TD)
    return scores


def open_ours(folder):
    """Checkpoint, encoder in evaluation mode, and all heads of a folder."""
    checkpoint = read_folder(folder)
    encoder = build_encoder(checkpoint).eval()
    return checkpoint, encoder, {name: build_head(checkpoint, name, encoder).eval() for name in checkpoint.heads}


def load_theirs(folder):
    """The class that a folder names, loaded by transformers with nothing missing and nothing unexpected."""
    name = json.loads((folder / "config.json").read_text())["architectures"][0]
    model, info = getattr(transformers, name).from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"], info
    return model.eval()


def auto_model(folder):
    return AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
