"""Small random models of kinds that this package does not compute itself, every parameter drawn wide."""

import torch
import transformers

SHAPE = {"vocab_size": 99, "max_position_embeddings": 40}
SETTINGS = {
    "DebertaV2": {
        **SHAPE, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64,
        "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8, "share_att_key": True,
        "norm_rel_ebd": "layer_norm", "position_biased_input": False, "type_vocab_size": 0, "conv_kernel_size": 3,
        "conv_act": "gelu", "layer_norm_eps": 1e-7,
    },
    "Deberta": {
        **SHAPE, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
        "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0,
    },
    "DistilBert": {**SHAPE, "dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 64},
    "Camembert": {
        **SHAPE, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
        "pad_token_id": 1, "type_vocab_size": 1, "max_position_embeddings": 42,
    },
    "MPNet": {
        **SHAPE, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
        "pad_token_id": 1, "max_position_embeddings": 42,
    },
}  # fmt: skip


def auto_model(kind, ending="Model", **changes):
    """Make a model of transformers, such as DebertaV2ForMaskedLM; all its parameters are random."""
    config = getattr(transformers, f"{kind}Config")(**{**SETTINGS[kind], **changes})
    torch.manual_seed(0)
    model = getattr(transformers, kind + ending)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn(parameter.shape)
    return model
