"""How to fine-tune on questions: the files of known data sets by name, taught by the rule, and the papers' ways.

Source: Joshi et al. 2020 (SpanBERT), appendix B (README command: learning rate 2e-5, batch 32,
4 epochs, length 512) and 5.2; Liu et al. 2019 (RoBERTa), section 6.2; ALBERT and ELECTRA as released, 6.3 and 6.4;
Ram et al. 2021 (Splinter) as released (README command and the defaults of its script).
Differs: the same AdamW with bias correction in every precision; the last weights are kept, not the best of ten
evaluations an epoch.
"""

from collections.abc import Callable
from functools import partial

from spanwise.tasks.qa.task import QuestionAnswering
from spanwise.tasks.recipe import FinetuningRecipe, published_recipe, usual_recipe
from spanwise.training.plan import TrainingOptions


def question_answering() -> FinetuningRecipe:
    """SQuAD 1.1 and 2.0 and files in their format."""
    return _usual(QuestionAnswering(shared_words="auto"))


def _usual(task: QuestionAnswering) -> FinetuningRecipe:
    # with 32 per step the rule reads few questions so often that they are learned by heart (records/teaching-defaults)
    return usual_recipe(task, batch_size=16)


def splinter(*, few: bool = False) -> FinetuningRecipe:
    """Splinter's values: two epochs, or with a few questions 200 steps where ten epochs are fewer."""
    training = TrainingOptions(
        learning_rate=3e-5,
        warmup_steps=0.1,
        schedule="linear",
        weight_decay=0.0,
        adam_epsilon=1e-8,
        num_epochs=None if few else 2,
        max_steps=200 if few else None,
    )
    return FinetuningRecipe(task=_SPLINTER, training=training, batch_size=12)


_JOINT = QuestionAnswering(spans="joint", answerability="classifier", answerable_weight=0.5)
_SPLINTER = QuestionAnswering(head="span_selection", separators="unseen", max_length=384, max_answer_tokens=10)
_CLASSIFIER = QuestionAnswering(answerability="classifier")
RECIPES: dict[str, Callable[[], FinetuningRecipe]] = {
    "squad": question_answering,
    # NewsQA, TriviaQA, SearchQA, HotpotQA and NaturalQuestions as MRQA writes them
    "mrqa": question_answering,
    # scored by characters as its own script does
    "korquad": partial(_usual, QuestionAnswering(metric="korquad", shared_words="auto")),
    "spanbert": partial(published_recipe, QuestionAnswering()),
    # a classifier of its own tells where there is no answer, its loss added to that of the span
    "roberta": partial(published_recipe, _CLASSIFIER, 1.5e-5, batch_size=48, num_epochs=2, warmup_steps=0.06),
    "albert": partial(published_recipe, QuestionAnswering(max_length=384), 5e-5, batch_size=48, num_epochs=2),
    # the end is chosen given the start, and a classifier reads both
    "electra": partial(published_recipe, _JOINT, 1e-4, num_epochs=2, layer_decay=0.8),
    "electra-large": partial(published_recipe, _JOINT, 5e-5, num_epochs=2, layer_decay=0.9),
    # from the pointer that recurring spans taught
    "splinter": splinter,
    "splinter-few": partial(splinter, few=True),
}
