"""Coreference as a task: every step from a file to its scores, with the paper's options.

Letters: T tokens in the pack, D hidden size.
Source: Joshi et al. 2019 (BERT for coreference), 2020 (SpanBERT, appendix B).
Differs: the loss of a step is the mean over spans (the released code adds them up, so that long documents weigh more);
a genre that training never saw is "none".
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.config import part
from spanwise.config.ranges import Count, Dropout, Factor, Layers, Length, Margin, Room, Weight, Width, Words
from spanwise.config.records import class_name
from spanwise.data.batch import Batch, to_device
from spanwise.errors import ConfigError, DataError
from spanwise.interop.checkpoint import Checkpoint
from spanwise.nn.config import EncoderConfig
from spanwise.nn.coreference.head import CoreferenceHead, HeadSizes
from spanwise.nn.coreference.loss import antecedent_loss, mention_loss
from spanwise.nn.losses.loss_sum import LossSum
from spanwise.runtime.memory import return_freed_memory
from spanwise.tasks.base import (
    FileScores,
    Scores,
    ScoreTable,
    Task,
    counted_lines,
    number_in,
    window_length,
)
from spanwise.tasks.batches import Packing
from spanwise.tasks.coref.decode import Links, Predictions, best_links, decode, no_links
from spanwise.tasks.coref.documents import NO_GENRE, CoreferenceData, genre_of
from spanwise.tasks.coref.features import (
    MAX_PACK_TOKENS,
    MENTIONS,
    TARGET,
    CoreferenceFeatures,
    CoreferenceTargets,
    cut_segments,
    document_states,
)
from spanwise.tasks.coref.files import clusters_table, prediction_texts, score_files, score_predictions
from spanwise.tasks.coref.pieces import DocumentPieces, cut_documents
from spanwise.tasks.coref.reader import read_coreference
from spanwise.tasks.coref.threshold import best_threshold
from spanwise.tasks.files.joining import joined_name, told_apart
from spanwise.tasks.files.text import OnError, Purpose, without_compression
from spanwise.tasks.frames import frames_of
from spanwise.text.tokenizers import Tokenizer

PAPER_SEGMENT_LENGTH = 384


@part("coreference")
class Coreference(Task[CoreferenceData, CoreferenceFeatures, Links, Predictions]):
    """Find the spans of a document that mean the same thing."""

    max_segment_length: Room | None = None  # tokens that see one another; None: 384, or all positions of the encoder
    max_training_segments: Count = 3  # of a longer document a new window of as many is shown in every epoch
    max_width: Words = 30  # pieces of the longest mention
    spans_per_piece: Factor = 0.4  # how many spans are kept
    max_spans: Length = 3900  # and how many at most
    keep_gold: bool = False  # in training gold mentions are among the spans kept, whatever their score
    num_antecedents: Length = 50  # that the fine score decides among
    depth: Layers = 1  # 2: spans move to their antecedents once, and are scored again (higher order)
    ffn_size: Width = 3000
    feature_size: Width = 20
    dropout: Dropout = 0.3  # in the head
    genres: tuple[str, ...] = (NO_GENRE,)  # taught by the training data
    singletons: bool | None = None  # clusters of one mention come out; None: where training data has such
    mention_loss_weight: Weight | None = None  # None: 1 where lone mentions come out or gold is kept, else 0
    link_threshold: Margin = 0.0  # a span goes back to its best antecedent where that scores more; 0 in the papers
    tune_threshold: bool = False  # choose it on dev data

    head_name: ClassVar[str] = "coref"
    target_name: ClassVar[str] = TARGET
    example_name: ClassVar[str] = "documents"
    pipeline_name: ClassVar[str] = "coreference"
    main_score: ClassVar[str] = "conll_f1"
    row_tensors: ClassVar[tuple[str, ...]] = ("antecedents.genre.weight",)

    def __post_init__(self) -> None:
        if self.singletons and self.mention_loss_weight == 0:
            raise ConfigError(
                "task.singletons=true needs task.mention_loss_weight above 0, got 0: nothing else teaches a lone "
                "mention."
            )

    @property
    def row_names(self) -> tuple[str, ...]:
        return self.genres

    def with_rows(self, names: tuple[str, ...], before: Self) -> Self:
        return dataclasses.replace(self, genres=names)

    @property
    def finds_singletons(self) -> bool:
        """Return whether lone mentions come out; where that is not set (old models), whether they had their loss."""
        return bool(self.mention_loss_weight) if self.singletons is None else self.singletons

    def read(self, path: Path, *, purpose: Purpose, errors: OnError = "strict") -> CoreferenceData:
        return read_coreference(path, purpose=purpose, errors=errors)

    def joined(self, parts: Sequence[CoreferenceData]) -> CoreferenceData:
        names = told_apart([document.name for document in part.documents] for part in parts)
        return CoreferenceData(
            source=joined_name([part.source for part in parts]),
            documents=tuple(
                dataclasses.replace(document, name=name)
                for part, here in zip(parts, names, strict=True)
                for document, name in zip(part.documents, here, strict=True)
            ),
            num_repeated_mentions=sum(part.num_repeated_mentions for part in parts),
            num_dropped_mentions=sum(part.num_dropped_mentions for part in parts),
            num_dropped=sum(part.num_dropped for part in parts),
        )

    def taught_by(self, train: CoreferenceData) -> Self:
        """Knows the genres of the training data, and learns to tell mentions where lone ones are annotated.

        So it does where gold mentions are always among the spans kept: nothing else would teach it to keep them.
        """
        genres = tuple(sorted({genre_of(document) for document in train.documents} - {NO_GENRE}))
        lone = train.has_singletons if self.singletons is None else self.singletons
        weight = self.mention_loss_weight
        if weight is None:
            weight = 1.0 if lone or self.keep_gold else 0.0
        return dataclasses.replace(
            self, genres=(NO_GENRE, *genres), singletons=lone and weight > 0, mention_loss_weight=weight
        )

    def taught_from(self, checkpoint: Checkpoint, *, is_fresh: bool = False) -> Self:
        """Links at the threshold that the folder's own head was given, until dev data say otherwise. Nothing changes
        where a threshold was asked for, the head is new (also since the folder's has other sizes), or the folder is of
        another task."""
        record = checkpoint.record.get("task")
        is_open = self.tune_threshold and self.link_threshold == 0 and not is_fresh
        if not is_open or not isinstance(record, Mapping) or record.get("part") != class_name(type(self)):
            return self
        stored = HeadSizes.of_tensors(checkpoint.heads.get(self.head_name, {}))
        if dataclasses.replace(stored, num_genres=len(self.genres)) != self._head_sizes:  # rows of genres may be added
            return self
        return dataclasses.replace(self, link_threshold=record.get("link_threshold", 0.0))

    def check_pair(self, train: CoreferenceData, dev: CoreferenceData) -> None:
        if dev.gap:
            raise DataError(
                f"{dev.source} is a file of GAP, which asks about pronouns alone; dev data need whole clusters (CoNLL "
                "columns or JSON lines). Score it with `spanwise evaluate coref` once the model is trained."
            )

    def featurize(
        self, data: CoreferenceData, tokenizer: Tokenizer, config: EncoderConfig, *, training: bool
    ) -> CoreferenceFeatures:
        """Documents in segments for `config`'s encoder; in training, documents without a piece are left out.

        Raises: ConfigError for segments longer than the encoder has positions; DataError where there is nothing to
        train on.
        """
        length = window_length(self.max_segment_length, PAPER_SEGMENT_LENGTH, config, "max_segment_length")
        frame, _ = frames_of(tokenizer)
        documents = cut_documents(data.documents, tokenizer)
        if training:
            documents = [document for document in documents if len(document)]
            if not documents:
                raise DataError(f"{data.source} has no word that this tokenizer keeps a piece of.")
        borders, shown_W2 = cut_segments(documents, length - frame.num_specials)
        places = {genre: place for place, genre in enumerate(self.genres)}
        return CoreferenceFeatures(
            documents=tuple(documents),
            borders=borders,
            shown_W2=shown_W2,
            genre_W=np.array([places.get(document.genre, 0) for document in documents], dtype=np.int64),
            frame=frame,
            max_width=self.max_width,
            spans_per_piece=self.spans_per_piece,
            max_spans=self.max_spans,
            max_segments=self.max_training_segments if training else None,
            with_mention_loss=bool(self.mention_loss_weight),
            keep_gold=self.keep_gold and training,
        )

    def describe(self, data: CoreferenceData, features: CoreferenceFeatures) -> list[str]:
        num_mentions = sum(len(document.gold_M3) for document in features.documents)
        num_segments = [len(borders) - 1 for borders in features.borders]
        num_long = sum(number > self.max_training_segments for number in num_segments)
        num_clusters = sum(len(np.unique(document.gold_M3[:, 2])) for document in features.documents)
        lines = [
            f"{len(features):,} documents in {sum(num_segments):,} segments "
            f"({sum(map(len, features.documents)):,} pieces), {num_mentions:,} mentions in {num_clusters:,} clusters, "
            f"{data.num_singletons:,} of one mention; genres: {', '.join(self.genres)}"
        ]
        lines += counted_lines(
            (num_long, f"documents are longer: {self.max_training_segments} segments in a row of each are shown"),
            (len(data.documents) - len(features), "documents are left out: the tokenizer keeps nothing of them"),
            (
                sum(document.num_unreachable for document in features.documents),
                "mentions are lost: the tokenizer keeps nothing of them",
            ),
            (
                sum(map(self._num_out_of_reach, features.documents)),
                f"mentions can't be found: longer than {self.max_width} pieces, or of two sentences",
            ),
            (data.num_repeated_mentions, "mentions stand twice and count where they stand first"),
            (data.num_dropped, "documents are left out: malformed"),
            (data.num_dropped_mentions, "mentions were dropped: they do not lie in their document"),
        )
        return lines

    def _num_out_of_reach(self, document: DocumentPieces) -> int:
        first, last = document.gold_M3[:, 0], document.gold_M3[:, 1]
        across = document.sentence_T[first] != document.sentence_T[last - 1]
        return int((across | (last - first > self.max_width)).sum())

    @property
    def _head_sizes(self) -> HeadSizes:
        return HeadSizes(
            ffn_size=self.ffn_size,
            feature_size=self.feature_size,
            max_width=self.max_width,
            num_genres=len(self.genres),
            num_segments=self.max_training_segments,
            gated=self.depth > 1,
        )

    def build_head(self, config: EncoderConfig) -> nn.Module:
        return CoreferenceHead(config, self._head_sizes, dropout=self.dropout)

    def loss(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> dict[str, LossSum]:
        """The antecedent loss, and with a weight the mention loss, summed over the spans that are kept."""
        assert isinstance(head, CoreferenceHead)
        head.set_dropout(self.dropout)
        targets = batch.target(TARGET, CoreferenceTargets)
        found: list[tuple[LossSum, LossSum]] = []
        for rows, document, gold_M3 in zip(targets.rows, targets.documents, targets.gold, strict=True):
            linked = head(hidden_TD[rows], document, num_antecedents=self.num_antecedents, depth=self.depth)
            cluster_k = gold_clusters(linked.start_k, linked.end_k, gold_M3)
            found.append((antecedent_loss(linked.antecedents, cluster_k), mention_loss(linked.mention_k, cluster_k)))
        losses = {TARGET: LossSum.total([antecedent for antecedent, _ in found])}
        if self.mention_loss_weight:
            losses[MENTIONS] = LossSum.total([mention for _, mention in found], self.mention_loss_weight)
        return losses

    def output(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> list[Links]:
        """The links of whole documents in one pack."""
        assert isinstance(head, CoreferenceHead)
        targets = batch.target(TARGET, CoreferenceTargets)
        found = []
        for rows, document in zip(targets.rows, targets.documents, strict=True):
            linked = head(hidden_TD[rows].float(), document, num_antecedents=self.num_antecedents, depth=self.depth)
            found.append(best_links(linked, int(document.segment_T[-1]) + 1))
        return found

    def outputs(
        self, encode: Callable[[Batch], Tensor], head: nn.Module, features: CoreferenceFeatures, packing: Packing
    ) -> Iterator[Links]:
        """The links of every document, in order; segments of several documents share packs."""
        assert isinstance(head, CoreferenceHead)
        for row, states in enumerate(document_states(encode, features, packing)):
            num_segments = len(features.borders[row]) - 1
            hidden_TD = states.pop()  # the only reference: freed as soon as spans are chosen
            if not len(hidden_TD):
                yield no_links(num_segments)
                continue
            is_long = len(hidden_TD) > MAX_PACK_TOKENS
            if is_long:
                return_freed_memory()  # of the packs
            chosen = head.choose(hidden_TD, to_device(features.tensors(row), hidden_TD.device))
            del hidden_TD
            if is_long:
                return_freed_memory()
            linked = head.link(chosen, num_antecedents=self.num_antecedents, depth=self.depth, overwrite=True)
            yield best_links(linked, num_segments)

    def decode(self, data: CoreferenceData, features: CoreferenceFeatures, outputs: Sequence[Links]) -> Predictions:
        """Clusters of every document; of one mention only where the model was taught to tell mentions."""
        singletons, threshold = self.finds_singletons, self.link_threshold
        return Predictions(
            clusters=decode(features.documents, outputs, threshold=threshold, singletons=singletons),
            documents=tuple(zip(data.documents, (document.text for document in features.documents), strict=True)),
            links=tuple(outputs),
            pieces=features.documents,
            threshold=threshold,
            singletons=singletons,
            gap=data.gap,
        )

    def tune(self, data: CoreferenceData, predictions: Predictions) -> Self:
        """The same task with the threshold that scores best on `data`, where `tune_threshold` asks for it."""
        if not self.tune_threshold:
            return self

        def score_at(threshold: float) -> float:
            return number_in(score_predictions(data, predictions.at(threshold)), self.main_score)

        return dataclasses.replace(self, link_threshold=best_threshold(score_at))

    def facts(self, config: EncoderConfig) -> list[str]:
        length = self.max_segment_length or min(PAPER_SEGMENT_LENGTH, config.max_positions)
        return [
            f"Coreference: text is encoded in independent segments of at most {length} tokens; mentions have at most "
            f"{self.max_width} word pieces and lie in one sentence.",
            f"Genres it was taught: {', '.join(self.genres)}.",
            "Mentions that nothing goes back to are " + ("found." if self.finds_singletons else "not found."),
            f"A span goes back to its best antecedent where that scores more than {self.link_threshold:g} (papers: 0).",
        ]

    def score(self, data: CoreferenceData, predictions: Predictions) -> Scores:
        """`conll_f1` and the metrics of the reference scorer; of GAP data its own numbers."""
        return score_predictions(data, predictions.at(self.link_threshold))

    def score_table(self, scores: Scores) -> ScoreTable:
        return clusters_table(scores)

    def prediction_names(self, input: Path) -> Sequence[str]:
        form = without_compression(input).suffix  # JSON lines may bring columns too, where their documents have words
        return (".jsonl", *({".conll": [".conll"], ".tsv": [".tsv"]}.get(form, [])))

    def prediction_files(self, predictions: Predictions) -> Mapping[str, object]:
        """JSON lines first; CoNLL columns where documents have words; GAP's own answers for its examples."""
        return prediction_texts(predictions.at(self.link_threshold))

    def score_files(self, data: Path, predictions: Path, options: Mapping[str, object]) -> FileScores:
        """Score a file of clusters (CoNLL columns or JSON lines), or of GAP answers."""
        return score_files(data, predictions)


def gold_clusters(start_k: Tensor, end_k: Tensor, gold_M3: Tensor) -> Tensor:
    """The gold cluster of each span, 0 where it is no mention. gold_M3 is sorted."""
    if not len(gold_M3):
        return torch.zeros_like(start_k)
    base = int(gold_M3[:, 1].max()) + 1
    beyond = end_k >= base
    gold_M = gold_M3[:, 0] * base + gold_M3[:, 1]
    span_k = start_k * base + end_k.clamp(max=base - 1)
    place_k = torch.searchsorted(gold_M, span_k).clamp(max=len(gold_M) - 1)
    is_gold = (gold_M[place_k] == span_k) & ~beyond
    return torch.where(is_gold, gold_M3[place_k, 2], torch.zeros_like(start_k))
