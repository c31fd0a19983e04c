"""Splinter in Hugging Face folders: BERT's layers without a pooler, and the head that selects spans.

Two classes hold the same tensors: `SplinterForPreTraining` the pointer as recurring spans taught it,
`SplinterForQuestionAnswering` one that answers questions. `question_token_id` in config.json is the id of [QUESTION].

Source: Hugging Face `SplinterModel` and the two classes; Ram et al. 2021 (Splinter), section 4.
"""

from spanwise.interop.family import Architecture, Family
from spanwise.interop.key_map import Line, linear
from spanwise.interop.tables import bert

HEAD = "splinter_qass"
TRANSFORMS = {
    "query_start": "query_start_transform",
    "query_end": "query_end_transform",
    "token_start": "start_transform",
    "token_end": "end_transform",
}

SPLINTER = Family(
    model_type="splinter",
    label="Splinter",
    settings=bert.SETTINGS,
    defaults=bert.DEFAULTS,
    computes=frozenset({"activation", "pooler", "sharing"}),
    activations=bert.ACTIVATIONS,
    only=bert.ONLY | {"is_decoder": False},
    write_settings=lambda config, pad_id: {"type_vocab_size": max(1, config.num_token_types)},
    encoder=lambda config, settings: bert.encoder_lines(config, "splinter."),
    heads={
        "span_selection": (
            *(
                line
                for part, their_part in (("dense", "dense"), ("norm", "LayerNorm"))
                for ours, theirs in TRANSFORMS.items()
                for line in linear(f"{ours}.{part}", f"{HEAD}.{theirs}.{their_part}")
            ),
            Line("start.weight", f"{HEAD}.start_classifier.weight"),
            Line("end.weight", f"{HEAD}.end_classifier.weight"),
        ),
    },
    root="splinter.",
    bare=("embeddings.", "encoder."),
    architectures={
        "SplinterForQuestionAnswering": Architecture(
            kind="task",
            heads=("span_selection",),
            auto="AutoModelForQuestionAnswering",
            pipeline="question-answering",
        ),
        "SplinterForPreTraining": Architecture(
            kind="pretraining", heads=("span_selection",), auto="AutoModelForPreTraining"
        ),
        "SplinterModel": Architecture(kind="encoder", auto="AutoModel"),
    },
    forms={"classification": "pooled", "multiple_choice": "pooled"},
    role_ids={"question": "question_token_id"},
)
