"""`spanwise_ner`: names in `doc.ents`, by a model fine-tuned for tagging."""

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from spanwise.serving.spacy.component import Alignment, Component, span_of


class Ner(Component):
    """Sets `doc.ents`, and the probability of each in `ent._.score`."""

    pipeline_name = "token-classification"

    def __init__(
        self, name: str, model: str, precision: str, batch_size: int, *, overwrite: bool, alignment: Alignment
    ) -> None:
        super().__init__(name, model, precision, batch_size)
        self.overwrite, self.alignment = overwrite, alignment

    def _annotate(self, docs: list[Doc]) -> None:
        for doc, found in zip(docs, self.pipeline([doc.text for doc in docs]), strict=True):
            taken = set() if self.overwrite else {token.i for ent in doc.ents for token in ent}
            spans = []
            for one in found["spans"]:
                span = span_of(doc, one["start"], one["end"], self.alignment, one["label"])
                if span is not None and taken.isdisjoint(range(span.start, span.end)):
                    span._.score = one["score"]
                    spans.append(span)
            kept = [] if self.overwrite else list(doc.ents)
            doc.set_ents([*kept, *filter_spans(spans)], default="outside")


@Language.factory(
    "spanwise_ner",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type", "span._.score"],
    default_config={
        "model": "spanwise-mini",
        "precision": "auto",
        "batch_size": 32,
        "overwrite": True,
        "alignment": "expand",
    },
)
def make_ner(
    nlp: Language, name: str, model: str, precision: str, batch_size: int, overwrite: bool, alignment: Alignment
) -> Ner:
    """Return the component. overwrite: whether names that are there already are dropped; else they stay, and others
    come where they leave room. alignment: of names whose borders are inside a token of spaCy."""
    if not Span.has_extension("score"):
        Span.set_extension("score", default=None)
    return Ner(name, model, precision, batch_size, overwrite=overwrite, alignment=alignment)
