"""What the shipped weights learned from, by names that others know."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.weights.learned_from import Learned


@dataclass(frozen=True)
class Learners:
    """The text of a language's encoder, where and by what it was made, the labels of each task, and the licence."""

    text: tuple[Learned, ...]
    made: str
    share_alike: str  # the version of CC BY-SA: the latest of those of text and labels
    tasks: dict[str, tuple[Learned, ...]]


TEXT_LICENCE = "CC BY-SA 3.0 and GFDL 1.3 or later"
ENGLISH_TEXT = Learned(
    file="English Wikipedia, dump of spring 2015",
    what="text",
    source="WikiExtractor text of jason-feng/wikiVisual (folder text/, commit 1c0fac92f29f)",
    licence=TEXT_LICENCE,
    count=264_677_460,
    unit="characters",
)
KOREAN_TEXT = Learned(
    file="Korean Wikipedia",
    what="text",
    source="WikiExtractor text of 97danielj/WordEmbedding (folder text/, commit 2e427337521c)",
    licence=TEXT_LICENCE,
    count=20_516_781,
    unit="characters",
)
NEW_WIKI = Learned(
    file="qa-train.json.xz",
    what="qa",
    source="SQuADShifts (new Wikipedia), Miller, Krauth, Recht and Schmidt 2020; bundled; paragraphs of SQuAD left out",
    licence="CC BY 4.0; paragraphs CC BY-SA 3.0",
    count=6_812,
    unit="questions",
)
QAMR = Learned(
    file="qamr_wiki.json",
    what="qa",
    source="QAMR, Michael et al. 2018 (uwnlp/qamr, commit 956b0eb2d585), four fifths of it, in passages; paragraphs of "
    "SQuAD left out",
    licence="CC BY-SA 3.0 (Wikipedia) and CC BY 2.5 (Wikinews) paragraphs; questions MIT",
    count=26_577,
    unit="questions",
)
UNANSWERED = Learned(
    file="mixed.json",
    what="qa",
    source="questions of the two above put to another passage of their article",
    licence="CC BY-SA 3.0; questions CC BY 4.0 and MIT",
    count=5_707,
    unit="questions",
)
WIKIANN = Learned(
    file="WikiANN, English training part",
    what="tagging",
    source="Pan et al. 2017, Rahimi et al. 2019 (davidsbatista/NER-datasets, commit db7ff3ca4ba1); labels by rule",
    licence="CC BY-SA 3.0 sentences; labels ODC-BY",
    count=20_000,
    unit="examples",
)
WNUT = Learned(
    file="wnut17train.conll",
    what="tagging",
    source="WNUT-17, Derczynski et al. 2017 (leondz/emerging_entities_17, commit e52a2d2a71ac)",
    licence="CC BY 4.0",
    count=3_394,
    unit="examples",
)
WEB_TREEBANK = Learned(
    file="English Web Treebank, training part",
    what="tagging",
    source="Silveira et al. 2014 (UniversalDependencies/UD_English-EWT, commit 15d613d8447b): its proper nouns; kinds "
    "told by a reader of the two above",
    licence="CC BY-SA 4.0",
    count=12_297,
    unit="examples",
)
ONTOGUM = Learned(
    file="OntoGUM training part without textbooks",
    what="coref",
    source="Zhu et al. 2021 (amir-zeldes/gum, commit 72ce5ac14978)",
    licence="CC BY 4.0 labels; texts CC BY, CC BY-SA or public by genre",
    count=95,
    unit="documents",
)
LITBANK = Learned(
    file="LitBank training part",
    what="coref",
    source="Bamman et al. 2020 (dbamman/litbank, commit 3e50db0ffc03)",
    licence="CC BY 4.0",
    count=80,
    unit="documents",
)


def made_of(text: Learned, count: int) -> Learned:
    """Return questions that `make-questions` made of a text."""
    source = f"made by rule from the {text.file}"
    return Learned(file="made.json", what="qa", source=source, licence="CC BY-SA 3.0", count=count, unit="questions")


ENGLISH = Learners(
    text=(ENGLISH_TEXT,),
    made="(the encoder on one GPU, its tasks on CPU cores) by `records/shipped-weights/english.sh`",
    share_alike="4.0",
    tasks={
        "qa": (NEW_WIKI, QAMR, UNANSWERED),
        "tagging": (WIKIANN, WNUT, WEB_TREEBANK),
        "coref": (ONTOGUM, LITBANK),
    },
)
KOREAN = Learners(
    text=(KOREAN_TEXT,),
    made="on two CPU cores by `records/spanwise-nano/run.sh`, then `records/shipped-weights/korean.sh`",
    share_alike="3.0",
    tasks={"qa": (made_of(KOREAN_TEXT, 80_000),)},
)
