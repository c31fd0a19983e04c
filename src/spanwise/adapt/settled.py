"""What an adaptation settled before its first step, kept in adapt.json: a run that goes on takes it from there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from spanwise.adapt.texts import SourceText, TextFacts
from spanwise.errors import CheckpointError, ConfigError
from spanwise.runtime.files import JsonObject, write_text_atomic
from spanwise.runtime.json_text import CHECKSUM, checksum_of, decode_json
from spanwise.runtime.remote.paths import open_bytes_of
from spanwise.text.corpus import corpus_files
from spanwise.weights.learned_from import NOT_STATED, Origin

SETTLED_NAME = "adapt.json"


@dataclass(frozen=True, kw_only=True)
class Settled:
    """The choices that depend on a clock or on a reading of all text, and the call that they were made for."""

    asked: JsonObject
    new_pieces: tuple[str, ...]
    own: TextFacts
    general: TextFacts
    origins: tuple[Origin, ...] = ()  # of own and general text; records of earlier versions have none

    def write(self, folder: Path) -> None:
        """Keep it in the folder of the run."""
        record = asdict(self)
        text = json.dumps(record | {CHECKSUM: checksum_of(record)}, indent=1, ensure_ascii=False) + "\n"
        write_text_atomic(folder / SETTLED_NAME, text)

    @classmethod
    def read(cls, folder: Path) -> Settled | None:
        """Read it; None where a run has not come so far. Raises: CheckpointError where it is damaged."""
        path = folder / SETTLED_NAME
        if not path.exists():
            return None
        try:
            record = decode_json(path.read_bytes())
            checksum = record.pop(CHECKSUM, None)  # records of earlier versions have none
            if checksum not in (None, checksum_of(record)):
                raise ValueError("it does not agree with its checksum")
            return cls(
                asked=record["asked"],
                new_pieces=tuple(record["new_pieces"]),
                own=TextFacts.from_record(record["own"]),
                general=TextFacts.from_record(record["general"]),
                origins=tuple(Origin(**origin) for origin in record.get("origins", [])),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as cause:
            raise CheckpointError(
                f"{path} is damaged or was edited; start the adaptation again in a new folder."
            ) from cause

    def refuse_other(self, asked: JsonObject) -> None:
        """Refuse to go on with another call. Raises: ConfigError that names what differs."""
        before, now = _by_path(self.asked), _by_path(json.loads(json.dumps(asked)))
        differing = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
        if differing:
            said = "; ".join(f"{name}: {before.get(name)} -> {now.get(name)}" for name in differing)
            raise ConfigError(
                f"--resume goes on with the same adaptation only, and this one differs ({said}). Take the old values, "
                "or start a new one in another folder."
            )

    def with_origins(self, *texts: SourceText) -> list[SourceText]:
        """Return own and general text with what was said of them at the start, where this call says nothing."""
        origins = self.origins or tuple(text.origin for text in texts)
        return [replace(text, origin=_merged(text.origin, kept)) for text, kept in zip(texts, origins, strict=True)]


def _merged(now: Origin, before: Origin) -> Origin:
    """Return what is said now, and of what is not, what was said before."""
    return Origin(
        licence=before.licence if now.licence == NOT_STATED else now.licence,
        source=before.source if now.source == NOT_STATED else now.source,
        file=now.file or before.file,
    )


def _by_path(values: JsonObject, above: str = "") -> dict[str, object]:
    """Return the values of an object of objects by their paths, such as options.seed."""
    found: dict[str, object] = {}
    for name, value in values.items():
        found |= _by_path(value, f"{above}{name}.") if isinstance(value, dict) else {f"{above}{name}": value}
    return found


def hash_of_files(paths: Sequence[str | Path]) -> str:
    """One hash of the contents of all files that the paths stand for. Raises: DataError for a missing one."""
    digest = hashlib.sha256()
    for path in corpus_files(list(paths)):
        with open_bytes_of(path) as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
