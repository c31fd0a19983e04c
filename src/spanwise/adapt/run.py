"""Adaptation as one call: an encoder that exists and a person's own text in, an encoder that reads it better out.

    OUT/adapt.json            what was asked, and what was settled before the first step
    OUT/texts/                the stores (texts.py)
    OUT/heads/                the run that taught fresh heads, where the start had not all of them
    OUT/plan.jsonl, ...       the run itself, as every other; best/ holds what the judge keeps
    OUT/final/                the result
    OUT/proof/, unproven/     scores by labels, and the weights that did not win by them (proof.py)
    OUT/adaptation.json       all figures

Both runs are `pretrain`, so they stop, go on and save as it does.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from spanwise.adapt.job import Job
from spanwise.adapt.judge import Judge
from spanwise.adapt.options import AdaptationOptions
from spanwise.adapt.proof import FOLDER as PROOF
from spanwise.adapt.proof import UNPROVEN, Labels, Proof, prove
from spanwise.adapt.record import RECORD_NAME, AdaptationRecord
from spanwise.adapt.report import sentences
from spanwise.adapt.settled import Settled
from spanwise.adapt.texts import GENERAL, OWN, SourceText, SplitText, refuse_same, split_text
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import BEST_NAME, atomic_folder, write_text_atomic
from spanwise.runtime.progress import RunLog, finite
from spanwise.tasks.dev_scores import check_best, put_best_in_place
from spanwise.text.corpus import CorpusOptions
from spanwise.training.loop import TrainingResult
from spanwise.training.run_folder import claim_run_folder
from spanwise.weights.learned_from import Origin, origins_of


@dataclass(frozen=True, kw_only=True)
class AdaptationResult:
    """The record of an adaptation, its report in sentences, and how the training ended."""

    record: AdaptationRecord
    report: list[str]
    final: Path
    training: TrainingResult


def adapt(
    start: str | Path,
    texts: Sequence[str | Path],
    *,
    out: str | Path,
    general: SourceText,
    options: AdaptationOptions,
    corpus: CorpusOptions | None = None,
    overrides: Sequence[str] = (),
    device: str | None = None,
    resume: bool = False,
    allow_edited: bool = False,
    log: Callable[[Path], RunLog] = RunLog,
    resume_command: str = "",
    notes: Sequence[str] = (),
    origins: Sequence[Origin] = (),
    proof: Labels | None = None,
    unproven: bool = False,
) -> AdaptationResult:
    """Go on with the encoder `start` (weights that ship, a folder or a hub id) on `texts` and leave it in `out/final`.

    A tenth of the documents of `texts` and of `general` is kept out of training and measured before and five times in
    the course of the run; `general` is replayed as a share of what is read. What is kept is, of the weights of these
    steps and of weights part of the way to them, what reads the held-out own text best while its general loss stays
    within the bound, or the start itself. Heads that the start does not bring are taught first on general text with the
    encoder still (a quarter of the length), and "before" is measured after that. With `options.new_pieces` words of the
    text join a WordPiece vocabulary (`pieces.py` says which other kinds are refused). `overrides` change values of the
    run's recipe; `log` makes the log of a run folder; `notes` are sentences for the report; `origins` is one licence
    and source of `texts`, or none. With `proof`, start and result are taught those labels, and the start is kept unless
    the result scores better by more than seeds differ; without it a start that brings none of the heads is refused
    unless `unproven` is set, as no loss can tell whether it became better. The same call with `resume=True` goes on bit
    for bit.

    Raises: DataError, ConfigError, CheckpointError before anything is written, where the call cannot work; and
    FolderInUseError, NumericsError, InterruptedAndSaved as `pretrain`.
    """
    own = SourceText(
        name="your text", texts=texts, corpus=corpus or CorpusOptions(), origin=origins_of(origins, 1, "text")[0]
    )
    job = Job(start, own, general, Path(out), options, overrides, device, notes, proof, unproven)
    job.check(allow_edited=allow_edited)
    known = Settled.read(job.out) if resume else None
    asked = job.asked()
    split: tuple[SplitText, SplitText] | None = None
    if known is None:
        split = split_text(OWN, own), split_text(GENERAL, general)
        refuse_same(*split)
    else:
        known.refuse_other(asked)
        job.own, job.general = known.with_origins(own, general)
    with claim_run_folder(job.out, resume=resume) as folder, log(job.out) as run_log:
        was_finished = folder.state == "finished"
        if resume:
            check_best(folder.path)
        if known is None:
            assert split is not None  # read above
            known = job.prepare(asked, *split, run_log)
        heads_seconds = job.teach_heads(known, log, resume=resume, resume_command=resume_command)
        result, judge = job.train(known, run_log, resume=resume, resume_command=resume_command)
        put_best_in_place(folder.path, result.final, was_finished=was_finished)
        _prove(job, result.final, judge, run_log, resume_command)
        record = job.record(known, result, judge, heads_seconds)
        text = json.dumps(finite(asdict(record)), indent=1, ensure_ascii=False) + "\n"
        write_text_atomic(job.out / RECORD_NAME, text)
    return AdaptationResult(record=record, report=sentences(record), final=result.final, training=result)


def _prove(job: Job, final: Path, judge: Judge, log: RunLog, resume_command: str) -> None:
    """Let labels decide between the start and other weights in `final`, where there are both."""
    folder, unproven = job.out / PROOF, job.out / UNPROVEN
    if judge.memory["best"] is None:
        return
    if job.labels is None:  # what was decided stays so
        job.proof = Proof.read(folder)
        return
    job.proof = prove(
        job.start,
        unproven if unproven.exists() else final,
        job.labels,
        folder,
        log,
        device=job.device,
        resume_command=resume_command,
        allow_edited=job.allow_edited,
    )
    if job.proof.is_won and unproven.exists():  # another proof had refuted it
        with atomic_folder(job.out / BEST_NAME, existing="replace") as temporary:
            DISK.copy_tree(unproven, temporary)
        put_best_in_place(job.out, final)
        DISK.remove_tree(unproven)
    elif not job.proof.is_won:
        if not unproven.exists():
            with atomic_folder(unproven) as temporary:
                DISK.copy_tree(final, temporary)
        judge.keep_start()
        put_best_in_place(job.out, final)
