"""More tokens and more positions for the weights that a run goes on from."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.grow import grow_positions, grow_vocabulary, with_roles_for
from spanwise.runtime.progress import RunLog
from spanwise.text.extend import extend_tokenizer, read_tokens
from spanwise.text.tokenizers import Tokenizer

TokenRows = Literal["mean", "random"]
PositionRows = Literal["tile", "random"]


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Rows that are added to given weights, and the way in which they start.

    `position_rows` is None where the positions stay as many as they are.
    """

    add_tokens: tuple[str, ...] = ()
    token_rows: TokenRows = "mean"
    position_rows: PositionRows | None = None

    @property
    def record(self) -> dict[str, Any]:
        """The entries of a model folder's record about it; empty where nothing is added."""
        tokens = {"added_tokens": len(self.add_tokens), "token_rows": self.token_rows} if self.add_tokens else {}
        return {**tokens, **({"position_rows": self.position_rows} if self.position_rows else {})}


NO_GROWTH = Growth()


def asked_growth(
    add_tokens: Sequence[str] | str | Path | None,
    token_rows: TokenRows,
    position_rows: PositionRows | None,
    *,
    has_weights: bool,
) -> Growth:
    """Read what a caller asks for; `add_tokens` is a list of tokens, or a file with one per line.

    Raises: ConfigError where there are no weights to add to; DataError for a file that is no list of tokens.
    """
    if (add_tokens is not None or position_rows is not None) and not has_weights:
        asked = "add_tokens" if add_tokens is not None else "longer_positions"
        raise ConfigError(f"{asked} adds rows to given weights: name them with init, or leave {asked} out.")
    tokens = read_tokens(add_tokens) if isinstance(add_tokens, str | Path) else list(add_tokens or ())
    return Growth(add_tokens=tuple(tokens), token_rows=token_rows, position_rows=position_rows)


def grown(
    checkpoint: Checkpoint,
    tokenizer: Tokenizer,
    growth: Growth,
    *,
    max_positions: int,
    seed: int,
    roles: Sequence[str] = (),
    log: RunLog | None = None,
) -> tuple[Checkpoint, Tokenizer]:
    """Return the weights and the tokenizer with what `growth` adds and with a piece for each of `roles`. Without a log
    nothing is said of it.

    Weights and tokenizer are new objects where rows or pieces are added to them; more positions alone are written to
    the tokenizer that was given, as its `max_length`.

    Raises: CheckpointError where rows and tokenizer disagree; ConfigError for positions that would not be more;
    DataError for a token that can't be one.
    """
    if growth.add_tokens:
        if checkpoint.config.vocab_size != tokenizer.vocab_size:
            raise CheckpointError(
                f"{checkpoint.folder} has {checkpoint.config.vocab_size:,} vocabulary rows and its tokenizer "
                f"{tokenizer.vocab_size:,} ids; tokens can be added only where both agree."
            )
        extension = extend_tokenizer(tokenizer, growth.add_tokens)
        checkpoint = grow_vocabulary(
            checkpoint, extension.old_ids, rows=growth.token_rows, seed=seed, unk_id=tokenizer.unk_id
        )
        tokenizer = extension.tokenizer
        known = f"; {len(extension.known)} were there already" if extension.known else ""
        start = "the mean of their old pieces" if growth.token_rows == "mean" else "random rows"
        _say(log, f"Added {len(extension.tokens):,} tokens, which start at {start}{known}.")
    checkpoint, tokenizer, named = with_roles_for(checkpoint, tokenizer, roles, seed=seed)
    if named:
        _say(log, f"The recipe writes {named}, which the vocabulary got for it.")
    if growth.position_rows is not None:
        before = checkpoint.config.max_positions
        checkpoint = grow_positions(checkpoint, max_positions, rows=growth.position_rows, seed=seed)
        tokenizer.max_length = max_positions
        start = "repeat the old ones" if growth.position_rows == "tile" else "start at random"
        _say(log, f"Positions: {before} became {max_positions}; the new ones {start}.")
    return checkpoint, tokenizer


def _say(log: RunLog | None, text: str) -> None:
    if log is not None:
        log.say(text)
