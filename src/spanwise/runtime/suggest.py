"""Answers to a wrong name: the nearest right one, and our name for another library's spelling."""

import difflib
from collections.abc import Iterable

# Spellings of the Hugging Face Trainer and of others, our name, what to know when changing over.
_SPELLINGS = (
    ("lr peak_lr", "learning_rate", ""),
    ("num_train_epochs epochs max_epochs", "num_epochs", ""),
    ("total_steps num_steps max_train_steps", "max_steps", ""),
    (
        "warmup_ratio warmup warmup_proportion",
        "warmup_steps",
        "a number below 1 is a share of all steps: warmup_steps=0.06",
    ),
    (
        "per_device_train_batch_size train_batch_size batch_size",
        "tokens_per_step",
        "a step is counted in real tokens: 256 x 512 is 131072",
    ),
    ("gradient_accumulation_steps", "tokens_per_step", "the number of packs follows from it"),
    ("adam_eps eps epsilon", "adam_epsilon", ""),
    ("beta1", "adam_beta1", ""),
    ("beta2", "adam_beta2", ""),
    ("adam_betas betas", "adam_beta1", "and adam_beta2"),
    ("wd", "weight_decay", ""),
    ("clip_norm gradient_clip_val grad_clip", "max_grad_norm", ""),
    ("lr_scheduler_type scheduler lr_schedule", "schedule", "linear, cosine or constant"),
    ("logging_steps", "log_every", ""),
    ("eval_steps", "eval_every", ""),
    ("save_steps", "save_every", ""),
    ("save_total_limit", "keep", ""),
    ("bf16", "precision", "precision=bf16"),
    ("fp16", "precision", "precision=bf16; half precision without scaling is not offered"),
    ("random_seed", "seed", ""),
    ("num_hidden_layers", "num_layers", ""),
    ("num_attention_heads", "num_heads", ""),
    ("max_position_embeddings", "max_positions", ""),
    ("type_vocab_size", "num_token_types", ""),
    ("hidden_act", "activation", ""),
    ("layer_norm_eps", "norm_eps", ""),
    ("hidden_dropout_prob", "hidden_dropout", ""),
    ("attention_probs_dropout_prob", "attention_dropout", ""),
    ("mlm_probability masked_lm_prob mlm_prob", "ratio", "of the masking: the share of hidden tokens"),
    ("max_seq_length max_seq_len", "max_length", "in tokens, special tokens included"),
    ("max_query_length", "max_question_tokens", ""),
    ("max_answer_length", "max_answer_tokens", ""),
    ("n_best_size", "num_best", ""),
)
FOREIGN_SPELLINGS = {theirs: (ours, note) for spellings, ours, note in _SPELLINGS for theirs in spellings.split()}


def nearest(word: str, choices: Iterable[str]) -> str:
    """The one of `choices` that `word` most likely meant, or "" where none is near."""
    choices = list(choices)
    ours, _ = FOREIGN_SPELLINGS.get(word.rsplit(".", 1)[-1], ("", ""))
    if ours:
        same = [choice for choice in choices if choice.rsplit(".", 1)[-1] == ours]
        if same:
            return same[0]
    # A common path says nothing: compare what differs.
    front = word.rpartition(".")[0]
    cut = len(front) + 1 if front and all(choice.startswith(f"{front}.") for choice in choices) else 0
    by_lower = {choice[cut:].lower(): choice for choice in reversed(choices)}
    found = difflib.get_close_matches(word[cut:].lower(), list(by_lower), n=1, cutoff=0.6)
    if found:
        return by_lower[found[0]]
    ends = [choice for choice in choices if choice.rsplit(".", 1)[-1] == word.rsplit(".", 1)[-1]]
    return ends[0] if ends else ""


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """A sentence ` Did you mean 'x'?` to end an error with, or "" where nothing is near."""
    best = nearest(word, choices)
    if not best:
        return ""
    ours, note = FOREIGN_SPELLINGS.get(word.rsplit(".", 1)[-1], ("", ""))
    return f" Did you mean {best!r}?" + (f" ({note})" if note and best.rsplit(".", 1)[-1] == ours else "")
