"""`spanwise_relation`: how the names of a document are related, in `doc._.relations`."""

from itertools import permutations

from spacy.language import Language
from spacy.tokens import Doc, Span

from spanwise.serving.spacy.component import Component
from spanwise.tasks.relation.task import NEGATIVES


class Relation(Component):
    """Sets `doc._.relations`: a list of `{"subject", "object", "label", "score"}` over ordered pairs of `doc.ents`.

    A mention is `[first token, one past the last]`: plain numbers, so that a document can be saved with them.
    """

    pipeline_name = "relation-extraction"

    def __init__(
        self, name: str, model: str | None, precision: str, batch_size: int, *, max_distance: int, left_out: list[str]
    ) -> None:
        super().__init__(name, model, precision, batch_size)
        self.max_distance, self.left_out = max_distance, frozenset(left_out)

    def _annotate(self, docs: list[Doc]) -> None:
        asked = [(doc, *pair) for doc in docs for pair in permutations(doc.ents, 2) if self._is_near(*pair)]
        inputs = [{"text": doc.text, "subject": _named(one), "object": _named(other)} for doc, one, other in asked]
        for doc in docs:
            doc._.relations = []
        for (doc, one, other), found in zip(asked, self.pipeline(inputs) if inputs else [], strict=True):
            if found["label"] not in self.left_out:
                doc._.relations.append(
                    {
                        "subject": [one.start, one.end],
                        "object": [other.start, other.end],
                        "label": found["label"],
                        "score": found["score"],
                    }
                )

    def _is_near(self, one: Span, other: Span) -> bool:
        return max(one.start, other.start) - min(one.end, other.end) <= self.max_distance


def _named(span: Span) -> dict[str, object]:
    return {"start": span.start_char, "end": span.end_char, "type": span.label_}


@Language.factory(
    "spanwise_relation",
    requires=["doc.ents"],
    assigns=["doc._.relations"],
    default_config={
        "model": None,
        "precision": "auto",
        "batch_size": 32,
        "max_distance": 100,
        "left_out": list(NEGATIVES),
    },
)
def make_relation(
    nlp: Language, name: str, model: str | None, precision: str, batch_size: int, max_distance: int, left_out: list[str]
) -> Relation:
    """Return the component. max_distance: tokens between two names of which a relation is asked. left_out: labels that
    say that there is none."""
    if not Doc.has_extension("relations"):
        Doc.set_extension("relations", default=None)
    return Relation(name, model, precision, batch_size, max_distance=max_distance, left_out=left_out)
