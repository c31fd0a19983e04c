"""One adaptation in its parts: checked, prepared, fresh heads taught, trained under the judge, recorded."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from spanwise.adapt.carry import carry_tasks, check_tasks, keep_tasks
from spanwise.adapt.judge import FORWARD_SHARE, Judge, Measured, TimeLimit, TooShort
from spanwise.adapt.measure import HeldOutText, Unit, forward_seconds
from spanwise.adapt.objectives import HEADS as HEADS_OF
from spanwise.adapt.objectives import SELECTION, choose_objective, tokenizer_for
from spanwise.adapt.options import NUM_CHECKS, AdaptationOptions, Length
from spanwise.adapt.pieces import check_takes_pieces, choose_pieces
from spanwise.adapt.proof import Labels, Proof
from spanwise.adapt.recipe import HEADS_SHARE, adaptation_recipe, fresh_heads, heads_recipe
from spanwise.adapt.record import AdaptationRecord, Check, Measurement, figure_of
from spanwise.adapt.report import NAMES, card_facts, counted_in
from spanwise.adapt.settled import Settled, hash_of_files
from spanwise.adapt.texts import (
    BEFORE,
    FOLDER,
    GENERAL,
    HEADS,
    HELD_OUT,
    OWN,
    SourceText,
    SplitText,
    characters_per_token,
    write_stores,
)
from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError, DataError
from spanwise.interop.convert import rewrite
from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.ready import Ready
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.pretraining.run import pretrain, save_pretrained, settled
from spanwise.pretraining.system import continue_model
from spanwise.runtime.device import choose_device
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import BEST_NAME, FINAL_NAME, JsonObject, refuse_edited
from spanwise.runtime.progress import RunLog
from spanwise.text.extend import extend_tokenizer
from spanwise.text.tokenizers import Tokenizer
from spanwise.training.loop import TrainingResult
from spanwise.training.plan import LENGTHS
from spanwise.weights.learned_from import LEARNED_FROM, as_record, learned_by

HEADS_FOLDER = "heads"
MEASURING_SHARE = 0.2  # of the time, for all checks together
FEWEST_MEASURED, MOST_MEASURED = 2_048, 32_768  # tokens of each held-out text


@dataclass(eq=False)
class Job:
    """One adaptation: its parts in the order in which `adapt` calls them."""

    start: str | Path
    own: SourceText
    general: SourceText
    out: Path
    options: AdaptationOptions
    overrides: Sequence[str] = ()
    device: str | None = None
    notes: Sequence[str] = ()
    labels: Labels | None = None
    unproven: bool = False
    proof: Proof | None = None  # once there is one

    def check(self, *, allow_edited: bool) -> None:
        """Read the start and make the recipes. Raises: CheckpointError, ConfigError for what cannot work."""
        self.checkpoint = read_folder(self.start)
        self.checkpoint.check_native("an adaptation")
        refuse_edited(self.checkpoint.folder, is_allowed=allow_edited, say=lambda _: None)
        self.allow_edited = allow_edited
        check_tasks(self.checkpoint, str(self.start))
        self.objective = choose_objective(self.options.objective, self.checkpoint)
        self.tokenizer = tokenizer_for(self.objective, self.checkpoint)
        if self.options.new_pieces:
            if SELECTION in HEADS_OF[self.objective]:
                raise ConfigError(
                    "new pieces compare two vocabularies by the letters of hidden words, and objective "
                    f"{self.objective!r} has questions in their place; leave --new-pieces out, or learn "
                    "--objective spans."
                )
            check_takes_pieces(self.tokenizer, str(self.start))
        length = self.options.length
        asked = {assignment.partition("=")[0].strip() for assignment in self.overrides}
        if other := sorted(asked & {f"training.{name}" for name in LENGTHS}):
            raise ConfigError(
                f"an adaptation is as long as --budget or --steps says, and {other[0]} would be another length; leave "
                "it out."
            )
        self.fresh = fresh_heads(self._recipe(length), self.checkpoint)
        self.heads_length = length.part(HEADS_SHARE)
        recipe = self._recipe(length.part(1 - HEADS_SHARE) if self.fresh else length)
        self.recipe = settled(recipe, overrides=self.overrides)
        self.is_unjudged = not NAMES.keys() & self.checkpoint.heads.keys()
        if self.is_unjudged and self.labels is None and not self.unproven:
            raise ConfigError(
                f"{self.start} has no head for {' or '.join(NAMES[name] for name in self.fresh)}, so the loss that is "
                "measured here can't tell whether it becomes better or worse at what it was made for; All-MiniLM-L6 "
                "became worse at finding names. Give labels of your task, by which start and result are compared "
                "(--proof TASK TRAIN DEV), or take the result as it comes (--unproven)."
            )

    def _recipe(self, length: Length) -> PretrainingRecipe:
        whole_words = self.options.new_pieces > 0
        return adaptation_recipe(
            self.checkpoint, self.objective, seed=self.options.seed, length=length, whole_words=whole_words
        )

    def asked(self) -> JsonObject:
        """The call, for a run that goes on. Raises: DataError for text that is not there."""
        return {
            "start": str(self.start),
            "own_text": hash_of_files(self.own.files),
            "general_text": hash_of_files(self.general.files),
            "options": asdict(self.options),
            "corpus": asdict(self.own.corpus),
        }

    def prepare(self, asked: JsonObject, own: SplitText, general: SplitText, log: RunLog) -> Settled:
        """Choose new pieces, decide how much is measured, and write the stores."""
        folder = self.out / FOLDER
        if folder.exists():  # of a call that was stopped here: how much is measured may come out otherwise now
            DISK.remove_tree(folder)
        pieces: tuple[str, ...] = ()
        grown: Tokenizer = self.tokenizer
        if self.options.new_pieces:
            documents = own.split.training(own.source.documents())
            pieces = choose_pieces(documents, self.tokenizer, self.options.new_pieces)
            grown = extend_tokenizer(self.tokenizer, pieces).tokenizer if pieces else grown
            log.say(f"{len(pieces)} words of your text are to become pieces of the vocabulary.")
        before = self.tokenizer if pieces else None
        tokens = self.measured_tokens()
        facts = []
        for text, other in ((own, general), (general, own)):
            characters = int(tokens * characters_per_token(text, self.tokenizer))
            facts.append(write_stores(folder, text, other.split, grown, before, characters))
            log.say(
                f"{text.source.name[0].upper()}{text.source.name[1:]}: {facts[-1].num_tokens:,} tokens to learn "
                f"from, {facts[-1].held_out_documents} documents kept out and measured."
            )
        if pieces and self.fresh:  # heads are taught before the vocabulary grows
            prepare(general.training(own.split), self.tokenizer, folder / f"{GENERAL}-{HEADS}")
        origins = (self.own.said_origin, self.general.said_origin)
        known = Settled(asked=asked, new_pieces=pieces, own=facts[0], general=facts[1], origins=origins)
        self._check_measured(known, grown)
        known.write(self.out)
        return known

    def _check_measured(self, known: Settled, words: Tokenizer) -> None:
        """Refuse texts on which no head could be measured. Raises: DataError, and leaves no store behind."""
        texts = {OWN: self.own, GENERAL: self.general}
        for name, text in self._held_out_texts(self.recipe, known, words).items():
            if not any(map(sum, text.targets.values())):
                DISK.remove_tree(self.out / FOLDER)
                raise DataError(
                    f"no span recurs in what is kept out of {texts[name].name}, so nothing could be measured there. "
                    "Give more or longer documents, raise masking.frequent_share (a word that is a larger share of "
                    "the text says too little for a question), or learn --objective spans."
                )

    def _held_out_texts(self, recipe: PretrainingRecipe, known: Settled, words: Tokenizer) -> dict[str, HeldOutText]:
        """What is measured, in the run's vocabulary. Which words say too little is counted where they are learned."""
        clusters = {OWN: known.own.clusters, GENERAL: known.general.clusters}
        found = {}
        for name in clusters:
            learned, kept_out = (
                TokenStore.open(self.out / FOLDER / place, words) for place in (name, f"{name}-{HELD_OUT}")
            )
            found[name] = HeldOutText(recipe, kept_out, clusters[name], counted=learned.vocabulary)
        return found

    def measured_tokens(self) -> int:
        """How many tokens of each held-out text are measured, so that all checks take a fifth of the time."""
        length, share = self.options.length, MEASURING_SHARE / (2 * (2 * NUM_CHECKS + 1))
        if length.steps is not None:
            tokens = share * length.steps * self.recipe.batch.tokens_per_step / FORWARD_SHARE
        else:
            tokens = share * (length.seconds or 0.0) / forward_seconds(self.checkpoint, self.device)
        return int(min(max(tokens, FEWEST_MEASURED), MOST_MEASURED))

    def teach_heads(self, known: Settled, log: Callable[[Path], RunLog], *, resume: bool, resume_command: str) -> float:
        """Teach the heads that the start does not bring, the encoder still; return the seconds that it took."""
        self.begin: str | Path = self.start
        if not self.fresh:
            return 0.0
        out = self.out / HEADS_FOLDER
        store = self.out / FOLDER / (f"{GENERAL}-{HEADS}" if known.new_pieces else GENERAL)
        with log(out) as heads_log:
            heads_log.say(f"Teaching {' and '.join(self.fresh)} on general text, with the encoder still.")
            result = pretrain(
                heads_recipe(self.recipe, self.fresh, self.heads_length),
                out=out,
                data=store,
                init=self.begin,
                origins=[self.general.said_origin],
                keeps_tasks=True,
                allow_edited=self.allow_edited,
                resume=resume,
                log=heads_log,
                device=self.device,
                resume_command=resume_command,
            )
        self.begin = result.final
        return result.seconds

    def train(self, known: Settled, log: RunLog, *, resume: bool, resume_command: str) -> tuple[TrainingResult, Judge]:
        """Train on own and general text under the judge; no step is made where the time is too short for any."""
        judges: list[Judge] = []

        def judge_of(ready: Ready) -> Judge:
            judges.append(self._judge(ready, known))
            return judges[-1]

        own, general, share = self.out / FOLDER / OWN, self.out / FOLDER / GENERAL, self.options.replay_share
        try:
            result = pretrain(
                self.recipe,
                out=self.out,
                data={own: 1 - share, general: share} if share else own,
                init=self.begin,
                origins=[text.said_origin for text in ((self.own, self.general) if share else (self.own,))],
                add_tokens=known.new_pieces or None,
                keeps_tasks=True,
                allow_edited=self.allow_edited,
                resume=resume,
                log=log,
                device=self.device,
                resume_command=resume_command,
                evaluate=judge_of,
            )
        except TooShort as reason:
            self.notes = [*self.notes, f"{reason} Give a longer --budget, in a new folder; `adapt` also takes --steps."]
            result = TrainingResult(
                steps=0,
                tokens=0,
                seconds=reason.used,
                losses={},
                evaluation={},
                first_evaluation={},
                final=self.out / FINAL_NAME,
            )
        return result, judges[-1]

    def _judge(self, ready: Ready, known: Settled) -> Judge:
        def before() -> Measured:
            model, _ = continue_model(ready.recipe, read_folder(self.begin))
            model.to(choose_device(self.device))
            losses = {}
            for name, facts in ((OWN, known.own), (GENERAL, known.general)):
                store = TokenStore.open(self.out / FOLDER / f"{name}-{BEFORE}", self.tokenizer)
                text = HeldOutText(ready.recipe, store, facts.clusters)
                losses[name] = text.losses(model, self.device, ready.recipe.training.precision)
            return losses

        def save(folder: Path, check: Check | None) -> None:
            means = {name: losses.mean(self.unit(known)) for name, losses in judge.before.items()}
            per = counted_in(self.objective, self.unit(known))
            texts = [str(text) for text in self.own.texts]
            facts = card_facts(str(self.start), texts, means, per, check, self.proof)
            record: JsonObject = {"start": str(self.start), "objective": self.objective, "before": means}
            record["after"] = means if check is None else asdict(check)
            extra: JsonObject = {"adaptation": record}
            if check is None:
                begin = read_folder(self.begin)
                extra[LEARNED_FROM] = as_record(learned_by(begin.record, str(self.start)))
                rewrite(begin, folder, facts=facts, extra=extra)
                keep_tasks(self.checkpoint, folder)
            else:
                save_pretrained(folder, ready, facts=facts, extra=extra)
                carry_tasks(self.checkpoint, folder, str(self.start))

        options = ready.recipe.training
        limit = None
        if options.budget is not None:
            limit = TimeLimit(
                seconds=options.budget, began=ready.began, tokens_per_step=ready.recipe.batch.tokens_per_step
            )
        judge = Judge(
            ready,
            self._held_out_texts(ready.recipe, known, ready.tokenizer),
            self.out / BEST_NAME,
            unit=self.unit(known),
            bound=self.options.general_bound,
            device=self.device,
            before=before if known.new_pieces else None,
            save=save,
            limit=limit,
        )
        return judge

    def unit(self, known: Settled) -> Unit:
        """Losses are per token, unless two vocabularies are compared."""
        return "character" if known.new_pieces else "token"

    def record(self, known: Settled, result: TrainingResult, judge: Judge, heads_seconds: float) -> AdaptationRecord:
        """All figures of the adaptation."""
        unit, checks = self.unit(known), [Check(**check) for check in judge.memory["checks"]]
        is_refuted = self.proof is not None and not self.proof.is_won
        before, after = (
            Measurement(own=figure_of(losses[OWN], unit), general=figure_of(losses[GENERAL], unit))
            for losses in (judge.before, judge.before if is_refuted else judge.after)
        )
        kept = [] if is_refuted else [check.step for check in checks if check.is_kept]
        options = self.options
        return AdaptationRecord(
            outcome="adapted" if kept else "unchanged",
            start=str(self.start),
            texts=[str(text) for text in self.own.texts],
            general_text=self.general.name,
            objective=self.objective,
            fresh_heads=list(self.fresh),
            unit=unit,
            before=before,
            after=after,
            checks=checks,
            kept_step=kept[-1] if kept else 0,
            num_steps=result.steps,
            num_tokens=result.tokens,
            seconds=result.seconds,
            heads_seconds=heads_seconds,
            learning_rate=self.recipe.training.peak_rate,
            replay_share=options.replay_share,
            general_bound=options.general_bound,
            new_pieces=list(known.new_pieces),
            seed=options.seed,
            own_text=known.own,
            general_facts=known.general,
            final=str(result.final),
            tasks=list(self.checkpoint.tasks),
            notes=list(self.notes),
            proof=self.proof,
            is_unjudged=self.is_unjudged,
        )
