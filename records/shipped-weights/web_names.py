"""Write names of web text to teach with, places by a treebank, kinds by a model: web_names.py MODEL DATA OUT

The English Web Treebank (Silveira et al. 2014) says which words are proper nouns (NNP, NNPS), so where names stand, and
not of which kind they are. MODEL, taught names of other text, is asked for the kind. OUT gets names-web.conll,
without sentences that stand in its names-dev.conll or share eight words in a row with one there.
"""

from __future__ import annotations

import re
import sys
from calendar import day_abbr, day_name, month_abbr, month_name
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from spanwise.runtime.files import write_text_atomic
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.tagging.reader import Sentence
from spanwise.tasks.tagging.task import Tagging
from spanwise.text.word_runs import WordRuns

TREEBANK = "tagging/ud_en_ewt/train.conllu.xz"
PROPER, PLURAL = ("NNP", "NNPS"), "NNPS"
LINKS = ("-", "of", "&")  # words between the parts of a name
TIMES = {name.lower() for names in (month_name, month_abbr, day_name, day_abbr) for name in names}
TIMES |= {"sept", "tues", "thur", "thurs", "gmt", "est", "edt", "pst"}
TITLE = re.compile(
    "prime|vice|mrs?|ms|miss|dr|prof|professor|president|senator|sen|shei?kh|shaikh|king|queen|prince|sir|general|gen|"
    "colonel|col|captain|capt|lt|judge|minister|governor|gov|rev|pope|ayatollah|imam|mayor|justice|secretary"
)
LEAST = 1e-9  # probability, so that its logarithm is a number
NONE_PENALTY = 2.0  # nats off "no name", as the treebank says that there is one


def main() -> None:
    model, data, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    teacher = load_task_model(model, "tagging")
    treebank = Tagging(column="xpos").read(data / TREEBANK, purpose="train")
    features = teacher.task.featurize(treebank, teacher.tokenizer, teacher.model.encoder.config, training=False)
    outputs = teacher.model.outputs(features, precision="auto")
    scored = {tuple(words_of(one)) for one in Tagging().read(out / "names-dev.conll", purpose="score").sentences}
    runs = WordRuns(map(" ".join, scored))
    lines = []
    for sentence, scores_nK in zip(treebank.sentences, outputs, strict=True):
        words = words_of(sentence)
        if tuple(words) not in scored and not runs.shares(" ".join(words)):
            tags = tags_of(words, sentence.tags, scores_nK, teacher.task.labels)
            lines += [*(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)), "\n"]
    write_text_atomic(out / "names-web.conll", "".join(lines))


def words_of(sentence: Sentence) -> list[str]:
    return [sentence.text[start:end] for start, end in sentence.units]


def tags_of(words: Sequence[str], nouns: Sequence[str], scores_nK: np.ndarray, labels: Sequence[str]) -> list[str]:
    """Return the words' tags: a name of the treebank has the kind that the model finds likeliest there, or none where
    "no name" is likelier by more than its penalty."""
    shares_nK = np.exp(scores_nK - scores_nK.max(axis=1, keepdims=True))
    shares_nK /= shares_nK.sum(axis=1, keepdims=True)
    kinds = sorted({label[2:] for label in labels})  # "" is no name
    columns = [[n for n, label in enumerate(labels) if label[2:] == kind] for kind in kinds]
    logs_nC = np.log(np.stack([shares_nK[:, column].sum(axis=1) for column in columns], axis=1) + LEAST)
    logs_nC[:, 0] -= NONE_PENALTY
    tags = ["O"] * len(words)
    for first, end in names_in(words, nouns):
        if kind := kinds[int(logs_nC[first:end].mean(axis=0).argmax())]:
            tags[first:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - first - 1)
    return tags


def names_in(words: Sequence[str], nouns: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where names begin and end: proper nouns and what links them, without times, titles before them, and plurals
    alone, which are peoples for the most part (and the Beatles)."""
    bare = [word.lower().rstrip(".") for word in words]
    proper = [noun in PROPER and word not in TIMES for noun, word in zip(nouns, bare, strict=True)]
    end = 0
    for first in range(len(words)):
        if first < end or not proper[first] or TITLE.fullmatch(bare[first]):
            continue
        end = first + 1
        while any(proper[end:]):
            following = proper.index(True, end)
            if any(bare[n] not in LINKS for n in range(end, following)) or following - end > 1:
                break
            end = following + 1
        if any(noun != PLURAL for noun in nouns[first:end]):
            yield first, end


if __name__ == "__main__":
    main()
