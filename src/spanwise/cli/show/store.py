"""`spanwise show store`: what a token store holds."""

from pathlib import Path

from spanwise.cli.console import print_json, print_pairs, print_table


def show_store(store: Path, /, *, tokenizer: Path | None = None, json: bool = False) -> None:
    """Show what a token store holds: counts, lengths, its most frequent tokens.

    Parameters
    ----------
    store
        Folder of the store.
    tokenizer
        Folder of the tokenizer; needed for a store of other tools (Megatron-LM .bin and .idx), which holds none.
    json
        Print one JSON object.
    """
    import numpy as np

    from spanwise.data.token_store import TokenStore
    from spanwise.text.tokenizers import Tokenizer

    words = None if tokenizer is None else Tokenizer.load(tokenizer)
    opened = TokenStore.open(store, words)
    words = words or opened.tokenizer()
    counts = opened.vocabulary.unigram_counts
    top = np.argsort(-counts, kind="stable")[:10]
    lengths = opened.sentence_lengths
    spread = {
        "mean": float(np.mean(lengths)) if len(lengths) else 0.0,
        "median": float(np.median(lengths)) if len(lengths) else 0.0,
        "longest": int(lengths.max(initial=0)),
    }
    vocabulary_used = float(np.count_nonzero(counts) / max(1, opened.vocabulary.size))
    unk_id = opened.vocabulary.unk_id
    unknown_share = float(counts[unk_id] / max(1, opened.num_tokens)) if unk_id >= 0 else 0.0
    most_frequent = list(zip(words.tokens(top), counts[top].tolist(), strict=True))
    record = {
        "path": str(store),
        "num_documents": opened.num_documents,
        "num_sentences": opened.num_sentences,
        "num_tokens": opened.num_tokens,
        "tokens_per_sentence": spread,
        "vocab_size": opened.vocabulary.size,
        "vocabulary_used": vocabulary_used,
        "unknown_share": unknown_share,
        "tokenizer_sha256": opened.tokenizer_sha256,
        "sha256": opened.sha256,
        "side_arrays": opened.side_arrays,
        "most_frequent": [{"token": token, "count": count} for token, count in most_frequent],
    }
    if json:
        print_json(record)
        return
    print_pairs(
        [
            ("Documents", opened.num_documents),
            ("Sentences", opened.num_sentences),
            ("Tokens", opened.num_tokens),
            ("A sentence", f"{spread['mean']:.1f} tokens, median {spread['median']:g}, longest {spread['longest']:,}"),
            ("Vocabulary", f"{opened.vocabulary.size:,} pieces, {vocabulary_used:.1%} of them seen"),
            ("Unknown", f"{unknown_share:.3%} of all tokens"),
            *((f"Tags: {name}", source) for name, source in opened.side_arrays.items()),
            ("Content", f"{opened.sha256[:16]}, tokenizer {opened.tokenizer_sha256[:16]}"),
        ]
    )
    print_table(
        ["token", "count", "share"],
        [[token, count, f"{count / max(1, opened.num_tokens):.2%}"] for token, count in most_frequent],
    )
