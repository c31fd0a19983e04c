"""`spanwise_coref`: clusters of mentions in `doc.spans`, named as in spaCy's experimental coreference."""

from spacy.language import Language
from spacy.tokens import Doc

from spanwise.serving.spacy.component import Alignment, Component, span_of


class Coref(Component):
    """Sets `doc.spans["coref_clusters_1"]` and so on, a group per cluster, and `doc._.coref_resolved`: the text with
    names in the place of later mentions."""

    pipeline_name = "coreference"

    def __init__(self, name: str, model: str, precision: str, batch_size: int, **settings: str) -> None:
        super().__init__(name, model, precision, batch_size)
        self.prefix, self.alignment, self.language = settings["prefix"], settings["alignment"], settings["language"]

    def annotate(self, docs: list[Doc]) -> None:
        """Add the clusters; a text without a word is its own resolved text."""
        for doc in docs:
            doc._.coref_resolved = doc.text
        super().annotate(docs)

    def _annotate(self, docs: list[Doc]) -> None:
        for doc, found in zip(docs, self.pipeline([doc.text for doc in docs], language=self.language), strict=True):
            for key in [key for key in doc.spans if key.startswith(f"{self.prefix}_")]:
                del doc.spans[key]
            clusters = (
                [span_of(doc, mention["start"], mention["end"], self.alignment) for mention in cluster]
                for cluster in found["clusters"]
            )
            kept = [[span for span in cluster if span is not None] for cluster in clusters]
            for number, cluster in enumerate((cluster for cluster in kept if cluster), start=1):
                doc.spans[f"{self.prefix}_{number}"] = cluster
            doc._.coref_resolved = found["resolved"]


@Language.factory(
    "spanwise_coref",
    assigns=["doc.spans", "doc._.coref_resolved"],
    default_config={
        "model": "spanwise-mini",
        "precision": "auto",
        "batch_size": 32,
        "prefix": "coref_clusters",
        "alignment": "expand",
    },
)
def make_coref(
    nlp: Language, name: str, model: str, precision: str, batch_size: int, prefix: str, alignment: Alignment
) -> Coref:
    """Return the component. prefix: how the names of the groups begin. alignment: of mentions whose borders are inside
    a token of spaCy, as in `Doc.char_span`."""
    if not Doc.has_extension("coref_resolved"):
        Doc.set_extension("coref_resolved", default=None)
    return Coref(name, model, precision, batch_size, prefix=prefix, alignment=alignment, language=nlp.lang or "en")
