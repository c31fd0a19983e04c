"""The entries of a pre-training run in the list of what its weights learned from."""

from collections.abc import Sequence
from pathlib import Path

from spanwise.pretraining.mixtures.mixture import Mixture
from spanwise.weights.learned_from import Learned, Origin, name_of, origins_of

Paths = Sequence[str | Path] | str | Path


def check_origins(origins: Sequence[Origin], *, num_stores: int, text: Paths | None) -> None:
    """Raises: ConfigError where there are neither one nor as many origins as stores, or as text paths."""
    files = None if text is None else _named(text)
    origins_of(origins, num_stores if files is None else len(files), "stores" if files is None else "texts")


def learned_texts(mixture: Mixture, text: Paths | None, origins: Sequence[Origin]) -> list[Learned]:
    """Return an entry per text path, or per store where stores were given; tokens are counted per store.

    Raises: ConfigError as `check_origins`.
    """
    counted: list[tuple[str, int | None]]
    if text is None:
        counted = [(part.name, part.store.num_tokens) for part in mixture.parts]
    else:
        paths = _named(text)
        total = mixture.parts[0].store.num_tokens if len(paths) == 1 else None
        counted = [(name, total) for name in paths]
    given = origins_of(origins, len(counted), "stores" if text is None else "texts")
    return [
        Learned(
            file=origin.file or name,
            what="text",
            source=origin.source,
            licence=origin.licence,
            count=count,
            unit="tokens" if count is not None else "",
        )
        for (name, count), origin in zip(counted, given, strict=True)
    ]


def _named(text: Paths) -> list[str]:
    return [name_of(path) for path in ([text] if isinstance(text, str | Path) else text)]
