"""Answers whose end is chosen given the start (ELECTRA), in one file: the best starts, and the ends of each of them.

Letters: B sequences, L their padded length, N = B x L rows, D hidden size, S starts: token 0 and the best ones.
"""

import torch
from torch import Tensor

from spanwise.interop.onnx.graph import Port
from spanwise.interop.onnx.heads import NO_ANSWER, PackedRows, PaddedRows, Scores, floats
from spanwise.nn.heads.qa import QuestionAnsweringHead

ANSWER_MASK = Port(name="answer_mask", axes=("batch", "length"), meaning="1 for tokens of the passage, else 0")


class JointScores(Scores):
    """Log-probabilities of starts, and of the ends given token 0 and given each of the `beam_size` best starts."""

    inputs = (ANSWER_MASK,)

    def __init__(self, head: QuestionAnsweringHead, beam_size: int) -> None:
        super().__init__()
        self.head, self.beam_size = head, beam_size
        num_starts = beam_size + 1
        outputs = (
            floats("start_log_probs", ("batch", "length"), "that the answer begins here"),
            Port(
                name="start_positions",
                axes=("batch", num_starts),
                meaning="token 0 (no answer), then the best starts; 0 again where there are fewer",
            ),
            floats("end_log_probs", ("batch", num_starts, "length"), "that an answer with this start ends here"),
        )
        self.outputs = outputs if head.answerable is None else (*outputs, NO_ANSWER)

    def padded(self, rows: PaddedRows) -> tuple[Tensor, ...]:
        batch, length = rows.ids_BL.shape
        passage_BL = rows.more[0] > 0
        shown_BL = passage_BL | (torch.arange(length) == 0)
        starts_BL = self.head.start_scores(rows.hidden_ND).view(batch, length)
        log_p_BL = starts_BL.masked_fill(~shown_BL, -torch.inf).log_softmax(1)
        # more columns than there may be tokens, so that the number of best starts is the same for every length
        spare_BS = torch.full((1, self.beam_size), -torch.inf).expand(batch, self.beam_size)
        best = torch.cat([log_p_BL.masked_fill(~passage_BL, -torch.inf), spare_BS], 1).topk(self.beam_size, dim=1)
        best_BS = torch.where(best.values > -torch.inf, best.indices, 0)
        place_BS = torch.cat([torch.zeros_like(best_BS[:, :1]), best_BS], 1)
        rows_BS = place_BS + torch.arange(batch)[:, None] * length
        ends_BSL = self._ends(rows.hidden_ND[rows_BS], rows.hidden_BLD)
        ends_BSL = ends_BSL.masked_fill(~shown_BL[:, None], -torch.inf).log_softmax(2)
        no_answer: tuple[Tensor, ...] = ()
        part = self.head.answerable
        if part is not None:
            mean_BD = (log_p_BL.exp()[:, None] @ rows.hidden_BLD)[:, 0]
            no_answer = (part.score_rows(part.read(rows.hidden_BLD[:, 0], mean_BD)),)
        return log_p_BL, place_BS, ends_BSL, *no_answer

    def _ends(self, starts_BSD: Tensor, tokens_BLD: Tensor) -> Tensor:
        """Do what `QuestionAnsweringHead.end_scores` does, of a batch: [B, S, L]."""
        hidden, end = self.head.hidden, self.head.end
        assert hidden is not None and end is not None
        width = hidden.in_features // 2
        of_start = torch.nn.functional.linear(starts_BSD, hidden.weight[:, :width], hidden.bias)
        of_token = torch.nn.functional.linear(tokens_BLD, hidden.weight[:, width:])
        return end(torch.nn.functional.gelu(of_start[:, :, None] + of_token[:, None])).squeeze(-1)

    def packed(self, rows: PackedRows) -> tuple[Tensor, ...]:
        mask_BL = rows.more[0]
        found = []
        for row, hidden_LD in enumerate(rows.hidden_TD.split(rows.sequences.lengths)):
            found.append(self._of_sequence(hidden_LD, mask_BL[row].bool()))
        starts, places, ends, odds = zip(*found, strict=True)
        no_answer = () if self.head.answerable is None else (torch.stack(odds),)
        return torch.cat(starts), torch.stack(places), torch.stack(ends), *no_answer

    def _of_sequence(self, hidden_LD: Tensor, passage_L: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """One sequence, as tasks/qa/loss.py has it; ends are of the padded length [S, L']."""
        length, padded = len(hidden_LD), len(passage_L)
        shown_M = torch.cat([torch.zeros(1, dtype=torch.long), passage_L.nonzero()[:, 0]])
        tokens_MD = hidden_LD[shown_M]
        log_p_M = self.head.start_scores(tokens_MD).log_softmax(0)
        best = torch.sort(log_p_M[1:], descending=True, stable=True).indices[: self.beam_size] + 1
        starts_S = torch.zeros(self.beam_size + 1, dtype=torch.long)
        starts_S[1 : len(best) + 1] = best
        ends_SL = torch.full((len(starts_S), padded), -torch.inf)
        ends_SL[:, shown_M] = self.head.end_scores(tokens_MD[starts_S], tokens_MD).log_softmax(1)
        log_p_L = torch.full((length,), -torch.inf)
        log_p_L[shown_M] = log_p_M
        odds = hidden_LD.new_zeros(())
        if self.head.answerable is not None:
            odds = self.head.answerable(tokens_MD[:1], (log_p_M.exp() @ tokens_MD)[None])[0]
        return log_p_L, shown_M[starts_S], ends_SL, odds
