"""Small encoders for the tests of heads and losses."""

from __future__ import annotations

import torch


class PlainEncoder(torch.nn.Module):
    """An encoder with the call of transformers and nothing else: each token sees itself and its neighbours."""

    def __init__(self, vocab_size: int = 50, hidden_size: int = 16) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(vocab_size, hidden_size)
        self.mix = torch.nn.Conv1d(hidden_size, hidden_size, 3, padding=1)

    def get_input_embeddings(self) -> torch.nn.Module:
        return self.words

    def forward(self, input_ids, attention_mask=None, token_type_ids=None):
        hidden = self.words(input_ids)
        return {"last_hidden_state": hidden + self.mix(hidden.transpose(1, 2)).transpose(1, 2)}


def bert_of(**changes):
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    settings = {"vocab_size": 500, **sizes, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return BertModel(BertConfig(**{**settings, "max_position_embeddings": 64, **changes}), add_pooling_layer=False)
