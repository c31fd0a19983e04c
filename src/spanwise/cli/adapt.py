"""`spanwise adapt`: go on with an encoder on one's own text, within a bound on general text."""

from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from spanwise.cli.console import print_json, say
from spanwise.cli.options.budget import format_seconds, parse_budget
from spanwise.cli.options.origin import NO_ORIGIN, OriginOptions
from spanwise.cli.options.ranges import CountOrNone, Pieces, Seed, ShareOf
from spanwise.cli.options.run import USUAL_RUN, RunOptions
from spanwise.cli.options.text import USUAL_LINES, LineOptions

if TYPE_CHECKING:
    from spanwise.adapt.options import AdaptationOptions
    from spanwise.adapt.proof import Labels
    from spanwise.adapt.run import AdaptationResult
    from spanwise.adapt.texts import SourceText
    from spanwise.text.corpus import CorpusOptions

DEFAULT_BUDGET = "10min"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class GeneralOptions:
    """Options about the text that nothing may be lost on."""

    replay: Annotated[list[Path] | None, Parameter(consume_multiple=True)] = None
    """General text to mix in and to measure on: files, folders or globs, in a language of your choice. Default: the
    bundled Wikipedia articles, English or Korean as your text is."""
    replay_share: ShareOf = 0.2
    """Its share of the tokens that are read; 0 mixes in nothing and measures all the same."""
    general_bound: ShareOf = 0.02
    """How much the loss on general text may rise, as a share of what it was: 0.02 is 2 per cent."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LearningOptions:
    """Options that say what is learned, and for how long."""

    budget: str | None = None
    """Wall-clock time for the training, such as 10min or 2h, from when the text is prepared. Default: 10min."""
    steps: CountOrNone = None
    """Its length in steps instead."""
    objective: Literal["auto", "spans", "mlm", "selection", "both"] = "auto"
    """spans: masked tokens and the span boundary objective; mlm: masked tokens alone; selection: spans that recur, as
    Splinter learns; both: spans and selection; auto: as the start learned."""
    new_pieces: Pieces = 0
    """At most so many words of your text that the vocabulary cuts into three pieces or more become pieces of it."""
    seed: Seed = 0
    """Of masks and order."""

    def with_general(self, general: GeneralOptions) -> "AdaptationOptions":
        """Return the options of both groups as the library takes them. Raises: ConfigError."""
        from spanwise.adapt.options import AdaptationOptions, Length

        budget = DEFAULT_BUDGET if self.budget is None and self.steps is None else self.budget
        return AdaptationOptions(
            length=Length(seconds=None if budget is None else parse_budget(budget), steps=self.steps),
            objective=self.objective,
            replay_share=general.replay_share,
            general_bound=general.general_bound,
            new_pieces=self.new_pieces,
            seed=self.seed,
        )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ProofOptions:
    """Options that say who decides between start and result."""

    proof: tuple[str, Path, Path] | None = None
    """TASK TRAIN DEV: labels of your own. Start and result are taught them five times each, and the start is kept
    unless the result scores better on DEV by more than the five differ (95 %)."""
    unproven: bool = False
    """Adapt a model without any head for hidden words though no loss can tell whether it becomes better."""

    def labels(self) -> "Labels | None":
        """Return the labels of the proof. Raises: ConfigError."""
        from spanwise.adapt.proof import Labels

        return None if self.proof is None else Labels(task=self.proof[0], train=self.proof[1], dev=self.proof[2])


USUAL_GENERAL, USUAL_LEARNING, USUAL_PROOF = GeneralOptions(), LearningOptions(), ProofOptions()


def adapt(
    start: str,
    /,
    *text: Annotated[Path, Parameter(required=True)],
    out: Path,
    learning: LearningOptions = USUAL_LEARNING,
    general: GeneralOptions = USUAL_GENERAL,
    proof: ProofOptions = USUAL_PROOF,
    reading: LineOptions = USUAL_LINES,
    language: str | None = None,
    origin: OriginOptions = NO_ORIGIN,
    run: RunOptions = USUAL_RUN,
) -> None:
    """Go on with an encoder on your own text. What is kept is better there by more than its error, or the start.

    A tenth of your documents is kept out and measured before and after, and so is general text.

    Parameters
    ----------
    start
        Weights that ship (spanwise-mini), a model folder of a type that is computed here, or a hub id.
    text
        Your text files, folders or globs. A blank line ends a document.
    out
        Folder of the run; the model will lie in OUT/final, all figures in OUT/adaptation.json.
    language
        Of the text, for splitting sentences. Default: ko where it is Korean, else en.
    """
    options = learning.with_general(general)
    labels = proof.labels()
    from spanwise.adapt.run import adapt as run_adaptation

    with ExitStack() as stack:
        corpus, chosen, notes = _texts(list(text), general, reading, language, stack)
        result = run_adaptation(
            start,
            list(text),
            out=out,
            general=chosen,
            options=options,
            corpus=corpus,
            origins=origin.origins(),
            **{**run.training(out), "log": run.log},  # the teaching of fresh heads has a log of its own
            notes=notes,
            proof=labels,
            unproven=proof.unproven,
        )
    _show(result, as_json=run.json)


def _show(result: "AdaptationResult", *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(result.record))
        return
    say(f"\n{result.training.steps:,} steps in {format_seconds(result.training.seconds)}.")
    for line in result.report:
        say(line)


def _texts(
    texts: list[Path], general: GeneralOptions, reading: LineOptions, language: str | None, stack: ExitStack
) -> "tuple[CorpusOptions, SourceText, list[str]]":
    """Return how the text is read, the general text beside it, and what is to be told of both."""
    from spanwise.adapt.texts import SourceText
    from spanwise.quickstart.bundle import open_bundle
    from spanwise.quickstart.language import settle_language
    from spanwise.quickstart.texts import Language
    from spanwise.text.corpus import CorpusOptions

    corpus, found = settle_language(texts, reading.corpus(), language)
    if general.replay:
        return corpus, SourceText(name="the general text of --replay", texts=general.replay, corpus=corpus), []
    bundled: Language = "ko" if corpus.language == "ko" else "en"
    bundle = stack.enter_context(open_bundle(bundled))
    name = f"bundled {'Korean' if bundled == 'ko' else 'English'} Wikipedia"
    notes = []
    if found == "":
        notes.append(
            "Your text looks neither English nor Korean, and the general text beside it is English: name general text "
            "of its language with --replay."
        )
    chosen = SourceText(
        name=name,
        texts=[bundle.train_text],
        held_out=[bundle.valid_text],
        corpus=CorpusOptions(language=bundled),
        origin=bundle.text_origin,
    )
    return corpus, chosen, notes
