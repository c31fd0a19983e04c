"""Which earlier span each span goes back to: a cheap score chooses candidates, an expensive one decides.

Coarse: both mention scores, a bilinear product, the distance in spans; the best `num_antecedents` earlier spans stay.
Fine: a feed-forward network over both vectors, their product and features (same speaker, genre, distance in spans,
distance in segments). Their sum is the score of a pair; "no antecedent" has the score 0.

All k rows are worked through in chunks, so no product over all pairs is ever held.

Letters: k spans, c antecedents each, r rows of a chunk, G size of a span's vector, P size of a feature, F hidden layer.
Source: Lee et al. 2018, sections 3 and 4.
"""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.nn.coreference.last_layer import Shared, one_pass, scores_of_sums
from spanwise.nn.coreference.products import factor, product, rounded
from spanwise.nn.coreference.rows import Rows, at_once, rows_at
from spanwise.nn.coreference.spans import TwoLayers
from spanwise.nn.dropout import dropout
from spanwise.runtime.memory import return_freed_memory

MANY = 2048  # spans; the coarse scores of more leave freed memory, of 8,000 some 25 MiB beside 180 in use
FEW_ROWS = 16  # worked on together where spans have fewer antecedents than they may have
NUM_DISTANCES = 10  # buckets: 0, 1, 2, 3, 4, 5-7, 8-15, 16-31, 32-63, 64 and more


def distance_bucket(distance: Tensor) -> Tensor:
    """The bucket of each distance (int64, 0 or more)."""
    log2 = torch.frexp(distance.double())[1].long() - 1
    return torch.where(distance <= 4, distance, log2 + 3).clamp(max=NUM_DISTANCES - 1)


@dataclass(frozen=True)
class Spans:
    """The k spans of a document that are kept, in order of position.

    vectors_kG; mention_k scores; speaker_k and segment_k int64 of each span's first piece; genre a number.
    """

    vectors_kG: Tensor
    mention_k: Tensor
    speaker_k: Tensor
    segment_k: Tensor
    genre: int


@dataclass(frozen=True)
class Antecedents:
    """Candidates for each of k spans: `index_kc` into the spans, `scores_kc` (minus infinity where not `valid_kc`)."""

    index_kc: Tensor
    valid_kc: Tensor
    scores_kc: Tensor


class AntecedentScorer(nn.Module):
    """Scores pairs of spans, coarse to fine.

    chunk_rows, chunk_pairs: rows of the coarse product and pairs of the fine one that are worked on at once.
    """

    def __init__(
        self,
        vector_size: int,
        *,
        num_genres: int,
        num_segments: int,
        feature_size: int,
        ffn_size: int,
        dropout: float,
        gated: bool,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.source = nn.Linear(vector_size, vector_size)
        self.coarse_distance = nn.Embedding(NUM_DISTANCES, feature_size)
        self.coarse_distance_out = nn.Linear(feature_size, 1)
        self.same_speaker = nn.Embedding(2, feature_size)
        self.genre = nn.Embedding(num_genres, feature_size)
        self.distance = nn.Embedding(NUM_DISTANCES, feature_size)
        self.segments_apart = nn.Embedding(num_segments, feature_size)
        self.pair = TwoLayers(3 * vector_size + 4 * feature_size, ffn_size, dropout)
        self.gate = nn.Linear(2 * vector_size, vector_size) if gated else None
        self.chunk_rows, self.chunk_pairs = 128, 1024

    def forward(
        self,
        spans: Spans,
        *,
        num_antecedents: int,
        depth: int,
        overwrite: bool = False,
        dtype: torch.dtype | None = None,
    ) -> Antecedents:
        """depth: how often the pairs are scored; before each but the first, vectors move to their antecedents'.
        overwrite: the moved vectors may take the place of those given (where no gradient is asked for).
        dtype: what the factors of large products are rounded to.

        Source: Lee et al. 2018, section 3 (higher order). The coarse scores are not computed again.
        """
        coarse = self.coarse(spans, num_antecedents, dtype)
        in_place = overwrite and not torch.is_grad_enabled()
        if in_place and len(spans.mention_k) > MANY:
            return_freed_memory()
        for turn in range(depth):
            refine = self.gate is not None and turn + 1 < depth
            scores_kc, vectors_kG = self._fine(spans, coarse, dtype, refine=refine, in_place=in_place)
            spans = replace(spans, vectors_kG=vectors_kG)
        return replace(coarse, scores_kc=scores_kc)

    def coarse(self, spans: Spans, num_antecedents: int, dtype: torch.dtype | None = None) -> Antecedents:
        """Return the best earlier spans of each span with their coarse scores, c = min(num_antecedents, k)."""
        k = len(spans.mention_k)
        c = min(num_antecedents, k)
        device = spans.mention_k.device
        if not k:
            none = torch.zeros((0, 0), device=device)
            return Antecedents(none.long(), none.bool(), none)
        target_kG = dropout(spans.vectors_kG, self.dropout, self.training)
        buckets = dropout(self.coarse_distance.weight, self.dropout, self.training)
        place_k = torch.arange(k, device=device)
        by_distance_k = self.coarse_distance_out(buckets).squeeze(-1)[distance_bucket(place_k)]
        source = factor(self.source.weight, dtype)
        all_rows = Rows(k), Rows(k), Rows(k)
        num_rows = at_once(self.chunk_rows, device)
        for begin in range(0, k, num_rows):
            end = min(begin + num_rows, k)
            num_columns = max(end, c)  # later spans are no antecedents
            apart = place_k[begin:end, None] - place_k[None, :num_columns]
            source_rG = product(spans.vectors_kG[begin:end], source, dtype, self.source.bias)
            source_rG = dropout(source_rG, self.dropout, self.training)
            scores = source_rG @ target_kG[:num_columns].T
            scores += spans.mention_k[begin:end, None] + spans.mention_k[None, :num_columns]
            scores += by_distance_k[apart.clamp(min=0)]
            scores = scores.masked_fill(apart <= 0, -torch.inf)
            index = scores.detach().topk(c, dim=1).indices
            # by position, so that equal scores are decided the same way everywhere; what is no antecedent comes last
            index = torch.where(apart.gather(1, index) > 0, index, k).sort(dim=1).values
            valid = index < k
            index = index.masked_fill(~valid, 0)
            chosen = scores.gather(1, index).masked_fill(~valid, -torch.inf)
            for rows, part in zip(all_rows, (index, valid, chosen), strict=True):
                rows.add(part)
        index_kc, valid_kc, scores_kc = (rows.joined() for rows in all_rows)
        return Antecedents(index_kc, valid_kc, scores_kc)

    def _fine(
        self, spans: Spans, coarse: Antecedents, dtype: torch.dtype | None, *, refine: bool, in_place: bool
    ) -> tuple[Tensor, Tensor]:
        """Scores of all pairs [k, c], and with `refine` the spans' next vectors [k, G].

        From the last span to the first: no span before it asks for its vector, so the next one can take its place.
        """
        vectors_kG, index_kc = spans.vectors_kG, coarse.index_kc
        k, c = index_kc.shape
        if not c:
            return coarse.scores_kc, vectors_kG
        G = vectors_kG.shape[1]
        weight = self.pair.hidden.weight
        of_span, of_antecedent, of_product, of_features = (
            factor(part, dtype) for part in weight.split([G, G, G, weight.shape[1] - 3 * G], dim=1)
        )
        # Many spans: the few that a chunk goes back to are projected there, so that no second table of all is held.
        chunk_pairs = at_once(self.chunk_pairs, index_kc.device)
        all_at_once = torch.is_grad_enabled() or k <= chunk_pairs
        antecedent_kF = product(vectors_kG, of_antecedent, dtype) if all_at_once else None
        in_one_pass = one_pass(index_kc.device) and not self.training
        feature_mF = F.linear(self._all_features(spans.genre), weight[:, 3 * G :]) if in_one_pass else None
        place_k = torch.arange(k, device=index_kc.device)
        scores, moved = Rows(k, backwards=True), Rows(k, backwards=True)
        for rows, num_columns in reversed(_chunks(k, c, max(1, chunk_pairs // c), at_once(FEW_ROWS, index_kc.device))):
            index_rc = index_kc[rows, :num_columns]
            own_rG, other_rcG = vectors_kG[rows], rows_at(vectors_kG, index_rc)
            is_free = not (refine or torch.is_grad_enabled())  # to be overwritten
            product_rcG = other_rcG.mul_(own_rG[:, None]) if is_free else other_rcG * own_rG[:, None]
            own_rF = product(own_rG, of_span, dtype, self.pair.hidden.bias)
            if antecedent_kF is not None:
                earlier_aF, place_rc = antecedent_kF, index_rc
            else:
                asked, place_rc = torch.unique(index_rc, return_inverse=True)
                earlier_aF = product(rows_at(vectors_kG, asked), of_antecedent, dtype)
            numbers = self._feature_numbers(spans, place_k[rows], index_rc)
            if feature_mF is not None:
                shared = (
                    Shared(own_rF, torch.arange(len(own_rF)).repeat_interleave(num_columns)),
                    Shared(earlier_aF, place_rc.flatten()),
                    Shared(feature_mF, self._feature_rows(numbers).flatten()),
                )
                inner_pF = F.linear(rounded(product_rcG.flatten(0, 1), dtype), of_product)
                fine_rc = scores_of_sums(inner_pF, shared, self.pair.out).view(index_rc.shape)
            else:
                before_relu = product(product_rcG, of_product, dtype)
                before_relu += own_rF[:, None]
                before_relu += rows_at(earlier_aF, place_rc)
                before_relu += product(self._features(numbers, spans.genre), of_features, dtype)
                fine_rc = self.pair.score(before_relu)
            scores_rc = coarse.scores_kc[rows, :num_columns] + fine_rc
            scores_rc = scores_rc.masked_fill(~coarse.valid_kc[rows, :num_columns], -torch.inf)
            scores.add(F.pad(scores_rc, (0, c - num_columns), value=-torch.inf))
            if refine and in_place:
                vectors_kG[rows] = self._moved(own_rG, other_rcG, scores_rc)
            elif refine:
                moved.add(self._moved(own_rG, other_rcG, scores_rc))
        return scores.joined(), moved.joined() if refine and not in_place else vectors_kG

    def _feature_numbers(self, spans: Spans, place_r: Tensor, index_rc: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Same speaker (0 or 1), distance bucket and distance in segments of pairs, each int64 [r, c]."""
        same_rc = (spans.speaker_k[place_r][:, None] == spans.speaker_k[index_rc]).long()
        segments_rc = (spans.segment_k[place_r][:, None] - spans.segment_k[index_rc]).clamp(
            0, self.segments_apart.num_embeddings - 1
        )
        return same_rc, distance_bucket((place_r[:, None] - index_rc).clamp(min=0)), segments_rc

    def _features(self, numbers: tuple[Tensor, Tensor, Tensor], genre: int) -> Tensor:
        """Embedded features of pairs, [r, c, 4P]."""
        same, distance, segments = numbers
        parts = [
            self.same_speaker(same),
            self.genre(torch.full_like(same, genre)),
            self.distance(distance),
            self.segments_apart(segments),
        ]
        return dropout(torch.cat(parts, dim=-1), self.dropout, self.training)

    def _all_features(self, genre: int) -> Tensor:
        """The features of every pair that there can be in a document of this genre, [m, 4P]."""
        sizes = (2, NUM_DISTANCES, self.segments_apart.num_embeddings)
        same, distance, segments = torch.cartesian_prod(*(torch.arange(size) for size in sizes)).unbind(1)
        return self._features((same, distance, segments), genre)

    def _feature_rows(self, numbers: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Which row of `_all_features` each pair has."""
        same, distance, segments = numbers
        return (same * NUM_DISTANCES + distance) * self.segments_apart.num_embeddings + segments

    def _moved(self, own_rG: Tensor, other_rcG: Tensor, scores_rc: Tensor) -> Tensor:
        """Each span's vector, moved by a gate towards the mean of its antecedents (itself, where it has none)."""
        assert self.gate is not None
        chance_ra = torch.softmax(F.pad(scores_rc, (1, 0)), dim=1)
        mean_rG = chance_ra[:, :1] * own_rG + (chance_ra[:, None, 1:] @ other_rcG).squeeze(1)
        gate_rG = torch.sigmoid(self.gate(torch.cat([own_rG, mean_rG], dim=1)))
        return gate_rG * mean_rG + (1.0 - gate_rG) * own_rG


def _chunks(k: int, c: int, num_rows: int, few_rows: int) -> list[tuple[slice, int]]:
    """Rows that are worked on together, and how many columns hold all their antecedents: row i has i at most.

    Rows that have fewer than c antecedents come `few_rows` at a time, so that few columns are empty.
    """
    chunks, begin = [], 0
    while begin < k:
        end = min(k, begin + (min(few_rows, num_rows) if begin < c else num_rows))
        chunks.append((slice(begin, end), min(c, max(1, end - 1))))
        begin = end
    return chunks
