"""Coreference: CoNLL F1 after a short fine-tuning on OntoGUM or LitBank.

Source: Joshi et al. 2019 (the model), Pradhan et al. 2014 (the score).
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

from spanwise.config import part
from spanwise.config.ranges import Count, Rate, Width
from spanwise.studies.probes.base import Context, Figure, Figures, Material, ProbeFile
from spanwise.studies.probes.finetuned import finetuned_scores
from spanwise.tasks.coref.reader import read_coreference

LONGEST = 384  # tokens of a segment
Corpus = Literal["ontogum", "litbank"]
SOURCES = {
    "ontogum": ("OntoGUM", "amir-zeldes/gum (coref/ontogum/conll)"),
    "litbank": ("LitBank", "dbamman/litbank (coref/conll)"),
}


def coreference_files(corpus: Corpus) -> dict[str, ProbeFile]:
    """Return the training and development documents of a corpus, in CoNLL columns or JSON lines."""
    title, repository = SOURCES[corpus]
    how = f"It is made from the GitHub repository {repository}, the documents of each part one after another."
    return {
        key: ProbeFile(
            patterns=(f"coref/{corpus}/{key}*", f"{corpus}/{key}*"),
            what=f"{title}, {words} documents with coreference in CoNLL columns",
            how=how,
        )
        for key, words in (("train", "training"), ("dev", "development"))
    }


@part("coreference_probe")
class CoreferenceProbe:
    """Fine-tune with the small head of `finetune coref` and score the development documents."""

    corpus: Corpus = "ontogum"
    num_epochs: Count = 10
    learning_rate: Rate | None = None  # of the encoder; None: by its width
    head_size: Width = 256

    name: ClassVar[str] = "coreference"
    what: ClassVar[str] = "coreference CoNLL F1 after a short fine-tuning"
    needs_valid: ClassVar[bool] = False
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure(key="conll_f1", label="coreference: CoNLL F1", unit="%", better="higher"),
        Figure(key="mentions_f1", label="coreference: F1 of mentions", unit="%", better="higher", main=False),
    )

    @property
    def files(self) -> Mapping[str, ProbeFile]:
        """The documents of the corpus."""
        return coreference_files(self.corpus)

    def measure(self, context: Context) -> Figures:
        """Return the scores of the development documents."""
        files = context.material.files
        scores = finetuned_scores(
            context,
            f"coreference-{self.corpus}",
            "coref",
            train=files["train"],
            dev=files["dev"],
            recipe="small",
            learning_rate=self.learning_rate,
            overrides=[
                f"task.max_segment_length={min(context.material.max_length, LONGEST)}",
                f"task.ffn_size={self.head_size}",
                f"training.num_epochs={self.num_epochs}",
            ],
        )
        return {figure.key: scores[figure.key] for figure in self.figures if figure.key in scores}

    def baselines(self, material: Material) -> dict[str, Figures]:
        """Read the documents, so that a damaged file is refused before training."""
        for path in material.files.values():
            read_coreference(path, purpose="score")
        return {}
