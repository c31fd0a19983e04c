"""A tokenizer folder on disk: what other people's files mean, what ours say, and what makes two tokenizers the same.

Differs: `transformers` lower-cases a folder that has only `vocab.txt`, and so ruins cased models. Here the vocabulary
decides: upper-case pieces can only come from text whose case was kept.
"""

import hashlib
import json
import unicodedata
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import tokenizers
from tokenizers import normalizers

from spanwise.errors import CheckpointError
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import MANIFEST_NAME, JsonObject, edited_files, read_manifest
from spanwise.runtime.json_text import decode_json
from spanwise.text.kinds.bpe import END, bpe_backend
from spanwise.text.kinds.byte_bpe import byte_bpe_backend
from spanwise.text.kinds.wordpiece import wordpiece_backend
from spanwise.text.sentencepiece_files import KINDS as SENTENCEPIECE_FILES
from spanwise.text.sentencepiece_files import read_sentencepiece
from spanwise.text.specials import KNOWN_ROLES, SPECIAL_ROLES
from spanwise.text.stock import stock_class
from spanwise.text.words import BYTE_LEVEL_BLANK, WordMarks

_UNLIMITED = 1_000_000  # `transformers` writes about 1e30 where it knows no longest length


@dataclass(frozen=True)
class FoundTokenizer:
    """A folder's tokenizer, repaired where it contradicts itself."""

    backend: tokenizers.Tokenizer
    specials: dict[str, str]  # roles that the folder names
    max_length: int  # tokens


def has_upper_case(pieces: Iterable[str]) -> bool:
    """Return whether a vocabulary keeps case: some piece, `[...]` ones aside, is not its own lower case."""
    return any(piece != piece.lower() for piece in pieces if not (piece.startswith("[") and piece.endswith("]")))


def word_marks(backend: tokenizers.Tokenizer) -> WordMarks:
    """How a tokenizer's pieces show where words start; in kinds that show nothing each token is a word."""
    record = json.loads(backend.to_str())
    model = record["model"]
    if model.get("end_of_word_suffix"):
        return WordMarks(end=model["end_of_word_suffix"])
    if model.get("continuing_subword_prefix") or model.get("type") == "WordPiece":
        return WordMarks(continuation=model.get("continuing_subword_prefix") or "")
    kinds = {step["type"]: step for step in pipeline_steps(record["pre_tokenizer"])}
    if "ByteLevel" in kinds:
        return WordMarks(blank=BYTE_LEVEL_BLANK)
    if "Metaspace" in kinds:
        return WordMarks(blank=kinds["Metaspace"]["replacement"])
    # Gemma's kind, and mmBERT's, has its normaliser write the mark of a blank.
    steps = [step for step in pipeline_steps(record["normalizer"]) if step["type"] == "Replace"]
    return WordMarks(blank=next((step["content"] for step in steps if step["pattern"] == {"String": " "}), ""))


def pipeline_steps(record: JsonObject | None) -> list[JsonObject]:
    """A pre-tokenizer or a normaliser as the list of its steps."""
    if record is None:
        return []
    inner = record.get("pretokenizers", record.get("normalizers"))
    return [record] if inner is None else [step for part in inner for step in pipeline_steps(part)]


def read_backend(folder: Path) -> FoundTokenizer:
    """Read `tokenizer.json`, else `vocab.txt`, `vocab.json` with `merges.txt`, or a SentencePiece model, of a
    folder.

    Raises: CheckpointError.
    """
    if not folder.is_dir():
        raise CheckpointError(f"{folder} is not a folder. A tokenizer folder holds tokenizer.json or vocab.txt.")
    config = _read_config(folder / "tokenizer_config.json")
    specials = _named_specials(config)
    length = config.get("model_max_length")
    max_length = int(length) if isinstance(length, int | float) and 0 < length < _UNLIMITED else 512
    if (folder / "tokenizer.json").is_file():
        backend = _read_tokenizer_json(folder / "tokenizer.json")
    elif (folder / "vocab.txt").is_file():
        backend = _from_vocabulary(folder / "vocab.txt", config)
    elif (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        backend = _from_merges(folder, config)
    elif models := [folder / name for name in SENTENCEPIECE_FILES if (folder / name).is_file()]:
        backend = read_sentencepiece(_checked_bytes(models[0]), models[0], config)
    else:
        raise CheckpointError(
            f"{folder} has no tokenizer.json, nor vocab.txt, nor vocab.json with merges.txt, nor spiece.model, nor "
            "spm.model, nor sentencepiece.bpe.model. Name a tokenizer folder, or make one with `spanwise "
            "learn-tokenizer`."
        )
    return FoundTokenizer(backend, specials, max_length)


def write_tokenizer(backend: tokenizers.Tokenizer, folder: Path, specials: Mapping[str, str], max_length: int) -> None:
    """Write the files that `AutoTokenizer`, the `tokenizers` library and older tools each look for."""
    DISK.make_folders(folder)
    DISK.write_file(folder / "tokenizer.json", (backend.to_str(pretty=True) + "\n").encode())
    record = json.loads(backend.to_str())
    config: JsonObject = {f"{role}_token": piece for role, piece in specials.items()}
    extra = [piece for role, piece in specials.items() if role not in SPECIAL_ROLES]
    if extra:
        config["additional_special_tokens"] = extra
    config["model_max_length"] = max_length
    config["clean_up_tokenization_spaces"] = False
    config |= stock_class(record, specials)
    text = json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    DISK.write_file(folder / "tokenizer_config.json", text.encode())
    vocabulary = backend.get_vocab(with_added_tokens=True)
    in_order = sorted(vocabulary, key=vocabulary.__getitem__)
    if record["model"]["type"] == "WordPiece":
        lines = "".join(piece + "\n" for piece in in_order)
        DISK.write_file(folder / "vocab.txt", lines.encode())
    elif record["model"]["type"] == "BPE":
        text = json.dumps({piece: vocabulary[piece] for piece in in_order}, ensure_ascii=False) + "\n"
        DISK.write_file(folder / "vocab.json", text.encode())
        lines = "".join(" ".join(pair) + "\n" for pair in record["model"]["merges"])
        DISK.write_file(folder / "merges.txt", ("#version: 0.2\n" + lines).encode())


def content_sha256(backend: tokenizers.Tokenizer, specials: Mapping[str, str]) -> str:
    """Hash of what decides ids. Truncation, padding, templates and decoders change no id and are left out."""
    record = json.loads(backend.to_str())
    normalizer = dict(record["normalizer"] or {})
    if normalizer.get("type") == "BertNormalizer" and normalizer["strip_accents"] is None:
        normalizer["strip_accents"] = normalizer["lowercase"]  # what the library does with "not said"
    # Special added tokens never match user text (`encode_special_tokens`): their roles and ids count, not their flags.
    plain = [token for token in record["added_tokens"] if not token["special"]]
    content = {
        "model": record["model"],
        "normalizer": normalizer,
        "pre_tokenizer": record["pre_tokenizer"],
        "plain_added_tokens": plain,
        "specials": dict(specials),
        "vocabulary": backend.get_vocab(with_added_tokens=True),
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _read_config(path: Path) -> JsonObject:
    if not path.is_file():
        return {}
    try:
        config = decode_json(_checked_bytes(path))
    except ValueError as cause:
        raise CheckpointError(f"{path} is not JSON ({cause}).") from cause
    if not isinstance(config, dict):
        raise CheckpointError(f"{path} holds a {type(config).__name__}; an object is expected.")
    return config


def _named_specials(config: JsonObject) -> dict[str, str]:
    """Roles that a configuration names, as text or as the library's token record.

    Beside the usual ones these are roles whose piece is also listed as an additional special token.
    """
    listed = [config.get(name) for name in ("additional_special_tokens", "extra_special_tokens")]
    extra = {_piece(token) for tokens in listed if isinstance(tokens, list) for token in tokens}
    found = {}
    for name, token in config.items():
        role, piece = name.removesuffix("_token"), _piece(token)
        if name.endswith("_token") and piece and (role in (*SPECIAL_ROLES, *KNOWN_ROLES) or piece in extra):
            found[role] = piece
    return found


def _piece(token: object) -> str | None:
    piece = token.get("content") if isinstance(token, dict) else token
    return piece if isinstance(piece, str) else None


def _read_tokenizer_json(path: Path) -> tokenizers.Tokenizer:
    try:
        backend = tokenizers.Tokenizer.from_str(_checked_bytes(path).decode("utf-8"))
    except CheckpointError:
        raise
    except Exception as cause:  # the library raises plain Exception for anything it cannot read
        raise CheckpointError(f"{path} cannot be read ({cause}).") from cause
    normalizer = json.loads(backend.to_str())["normalizer"] or {}
    if normalizer.get("lowercase") and has_upper_case(backend.get_vocab(with_added_tokens=False)):
        _warn_of_case(path)
        backend.normalizer = normalizers.BertNormalizer(
            clean_text=normalizer["clean_text"],
            handle_chinese_chars=normalizer["handle_chinese_chars"],
            strip_accents=bool(normalizer["strip_accents"]),
            lowercase=False,
        )
    return backend


def _from_vocabulary(path: Path, config: JsonObject) -> tokenizers.Tokenizer:
    """BERT's tokenizer over `vocab.txt`: one piece per line, the line is the id."""
    try:
        lines = _checked_bytes(path).decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as cause:
        raise CheckpointError(f"{path} is not valid UTF-8 ({cause}).") from cause
    while lines and not lines[-1]:
        lines.pop()
    vocabulary: dict[str, int] = {}
    for number, piece in enumerate(lines):
        if piece in vocabulary:
            raise CheckpointError(f"{path}: {piece!r} stands on lines {vocabulary[piece] + 1} and {number + 1}.")
        vocabulary[piece] = number
    cased = has_upper_case(vocabulary)
    lowercase = config.get("do_lower_case")
    if cased and lowercase:
        _warn_of_case(path.parent / "tokenizer_config.json")
    lowercase = False if cased else True if lowercase is None else bool(lowercase)
    strip_accents = config.get("strip_accents")
    if strip_accents is None:  # as BERT: with lower-casing, but never where the vocabulary itself has accents or Hangul
        strip_accents = lowercase and all(unicodedata.is_normalized("NFD", piece) for piece in vocabulary)
    return wordpiece_backend(
        vocabulary,
        lowercase=lowercase,
        strip_accents=bool(strip_accents),
        chinese_characters=bool(config.get("tokenize_chinese_chars", True)),
    )


def _from_merges(folder: Path, config: JsonObject) -> tokenizers.Tokenizer:
    """Byte-pair encoding in two files: GPT-1's where words end in `</w>`, else RoBERTa's over bytes."""
    try:
        vocabulary = decode_json(_checked_bytes(folder / "vocab.json"))
        lines = _checked_bytes(folder / "merges.txt").decode("utf-8").splitlines()
    except ValueError as cause:
        raise CheckpointError(f"{folder}: vocab.json or merges.txt cannot be read ({cause}).") from cause
    if lines and lines[0].startswith("#version"):
        del lines[0]
    merges = []
    for number, line in enumerate(lines):
        if line.strip():
            pair = line.split(" ")
            if len(pair) != 2:
                raise CheckpointError(f"{folder / 'merges.txt'}: {line!r} is no pair of pieces (pair {number + 1}).")
            merges.append((pair[0], pair[1]))
    try:
        if any(piece.endswith(END) for piece in vocabulary):
            return bpe_backend(vocabulary, merges)
        return byte_bpe_backend(vocabulary, merges, add_prefix_space=bool(config.get("add_prefix_space")))
    except Exception as cause:  # the library raises plain Exception for merges that do not fit the vocabulary
        raise CheckpointError(f"{folder}: vocab.json and merges.txt do not fit each other ({cause}).") from cause


def _warn_of_case(path: Path) -> None:
    warnings.warn(
        f"{path} asks to lower-case text, but the vocabulary has upper-case pieces that could then never occur. "
        "Case is kept. Save the tokenizer again to repair the folder.",
        stacklevel=5,
    )


def _checked_bytes(path: Path) -> bytes:
    """The file's content, compared with the folder's manifest where that lists it.

    A difference is refused, but in a model's folder, which people edit by hand: there it is said.
    Raises: CheckpointError.
    """
    try:
        content = path.read_bytes()
    except OSError as cause:
        raise CheckpointError(f"{path} cannot be read: {cause.strerror or cause}.") from cause
    if (path.parent / "config.json").is_file():
        for name in edited_files(path.parent, [path.name]):
            warnings.warn(
                f"{path.parent / name} was changed after the folder was written ({MANIFEST_NAME} has another SHA-256). "
                f"If you did not change it, copy the folder again; if you did, `spanwise convert {path.parent} NEW` "
                "writes a folder that agrees.",
                stacklevel=5,
            )
    elif (path.parent / MANIFEST_NAME).is_file():
        expected = read_manifest(path.parent, CheckpointError).get(path.name)
        if expected and hashlib.sha256(content).hexdigest() != expected["sha256"]:
            raise CheckpointError(
                f"{path} differs from what {MANIFEST_NAME} says; it is damaged or was changed. Copy the folder again; "
                f"if the change is yours, delete {MANIFEST_NAME}."
            )
    return content
