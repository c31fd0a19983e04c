"""Predictions as files, their scores, and the table that people read."""

import json
from dataclasses import replace
from pathlib import Path

from spanwise.errors import DataError
from spanwise.tasks.base import FileScores, Scores, ScoreTable, group_in, missing_note, shown
from spanwise.tasks.coref.decode import FoundClusters, Predictions
from spanwise.tasks.coref.documents import CoreferenceData, CoreferenceDocument, write_conll
from spanwise.tasks.coref.gap import answer, read_gap_answers, score_gap, write_gap_answers
from spanwise.tasks.coref.reader import read_coreference, write_json_line
from spanwise.tasks.coref.score import CoreferenceScorer, Mention

METRICS = {
    "muc": "MUC",
    "b_cubed": "B-cubed",
    "ceaf_m": "CEAF-m",
    "ceaf_e": "CEAF-e (phi4)",
    "lea": "LEA",
    "blanc": "BLANC",
    "mentions": "mentions",
}


def word_clusters(clusters: FoundClusters) -> tuple[tuple[Mention, ...], ...]:
    return tuple(tuple(mention.words for mention in cluster) for cluster in clusters)


def gap_answers(predictions: Predictions) -> dict[str, tuple[bool, bool]]:
    """Which names each pronoun means, by the clusters of its text."""
    return {
        example.id: answer(example, [[mention.characters for mention in cluster] for cluster in clusters])
        for example, clusters in zip(predictions.gap, predictions.clusters, strict=True)
    }


def score_predictions(data: CoreferenceData, predictions: Predictions) -> Scores:
    """The mean F1 first, then every metric; of GAP data its own numbers."""
    if data.gap:
        return score_gap(data.gap, gap_answers(predictions))
    scorer = CoreferenceScorer()
    for document, clusters in zip(data.documents, predictions.clusters, strict=True):
        assert isinstance(document, CoreferenceDocument)  # the reader refuses others for scoring
        scorer.add(document.clusters, word_clusters(clusters))
    return scorer.scores()


def prediction_texts(predictions: Predictions) -> dict[str, str]:
    """JSON lines of all documents; CoNLL columns of documents of words; GAP's answers."""
    lines, columns = [], []
    for (document, text), clusters, num_windows in zip(
        predictions.documents, predictions.clusters, predictions.num_segments, strict=True
    ):
        if isinstance(document, CoreferenceDocument):
            words = word_clusters(clusters)
            lines.append(write_json_line(document, words, num_windows))
            columns.append(replace(document, clusters=words))
        else:
            found = [
                [{"start": m.start, "end": m.end, "text": text[m.start : m.end]} for m in cluster]
                for cluster in clusters
            ]
            row = {"doc_key": document.name, "text": text, "clusters": found, "num_windows": num_windows}
            lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    texts = {".jsonl": "".join(lines)}
    if columns and len(columns) == len(lines):
        texts[".conll"] = write_conll(columns)
    if predictions.gap:
        texts[".tsv"] = write_gap_answers(gap_answers(predictions))
    return texts


def score_files(data: Path, predictions: Path) -> FileScores:
    """Score a response file against a key file, documents matched by name; one that is missing has no cluster.

    Both may be CoNLL columns or JSON lines; the key may be a GAP file and the response its answers.

    Raises: DataError naming the file: a response to a document that the key has not, or of other words.
    """
    key = read_coreference(data, purpose="score")
    if key.gap:
        answers = read_gap_answers(predictions)
        missing = sum(example.id not in answers for example in key.gap)
        notes = missing_note(missing, len(key.gap), "examples have no answer and count as neither.")
        return FileScores(scores=score_gap(key.gap, answers), notes=notes)
    response = read_coreference(predictions, purpose="score")
    said = {document.name: document for document in response.documents if isinstance(document, CoreferenceDocument)}
    known = {document.name for document in key.documents}
    for name in said:
        if name not in known:
            raise DataError(f"{predictions} has a document {name!r} that {data} does not have; score it with its key.")
    scorer = CoreferenceScorer()
    for document in key.documents:
        assert isinstance(document, CoreferenceDocument)
        found = said.get(document.name)
        if found is not None and len(found.words) != len(document.words):
            raise DataError(
                f"{predictions}: document {found.name!r} has {len(found.words):,} words, and {len(document.words):,} "
                f"in {data}; both must be cut into the same words."
            )
        scorer.add(document.clusters, () if found is None else found.clusters)
    missing = len(known) - len(said)
    remarks = [*missing_note(missing, len(known), "documents have no response and count as empty.")]
    if response.num_repeated_mentions:
        remarks.append(
            f"{response.num_repeated_mentions:,} mentions are named twice; each counts where it stands first."
        )
    return FileScores(scores=scorer.scores(), notes=tuple(remarks))


def clusters_table(scores: Scores) -> ScoreTable:
    """Return a row per metric, and for GAP a row per gender."""
    columns = ("metric", "recall", "precision", "F1")
    if "bias" in scores:
        rows = [("all", scores), *((name, group_in(scores, name)) for name in ("masculine", "feminine"))]
        note = f"bias (feminine F1 / masculine F1) {shown(scores, 'bias', '.3f')}"
        return ScoreTable(columns=("pronouns", *columns[1:]), rows=_rows(rows), notes=(note,))
    rows = [(title, group_in(scores, name)) for name, title in METRICS.items()]
    return ScoreTable(
        columns=columns, rows=_rows(rows), notes=(f"mean F1 of MUC, B-cubed and CEAF-e {shown(scores, 'conll_f1')}",)
    )


def _rows(named: list[tuple[str, Scores]]) -> tuple[tuple[str, ...], ...]:
    return tuple((title, *(shown(values, key) for key in ("recall", "precision", "f1"))) for title, values in named)
