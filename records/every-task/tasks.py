"""Every task, the real files that it is trained and scored on, and the few values that differ from its recipe."""

from __future__ import annotations

from dataclasses import dataclass

QA = ("task.max_length=256", "task.doc_stride=128")
COREF = ("training.learning_rate=3e-4", "training.head_learning_rate=1e-3")  # at 1e-3 for all, given weights are lost


@dataclass(frozen=True)
class Row:
    """One line of the table; `score` is the figure that decides, by its name in the task's scores."""

    name: str
    task: str
    train: str
    dev: str
    score: str
    recipe: str | None = None
    set: tuple[str, ...] = ()
    steps: int = 400
    language: str = "en"


ROWS = (
    Row(
        "questions", "qa", "qa/squadshifts/new_wiki_v1.0.json.xz", "qa/squad/dev-v1.1.json.xz", "f1", set=QA, steps=600
    ),
    Row(
        "relations, SemEval",
        "relation",
        "re/semeval2010_task8/TRAIN_FILE.TXT.xz",
        "re/semeval2010_task8/TEST_FILE_FULL.TXT.xz",
        "macro_f1",
        "semeval",
    ),
    Row(
        "relations, TACRED's form",
        "relation",
        "re/tacred_format/train.json.xz",
        "re/tacred_format/dev.json.xz",
        "f1",
        "tacred",
    ),
    Row("relations, SciERC", "relation", "re/scierc/train.jsonl.xz", "re/scierc/dev.jsonl", "micro_f1", "marked"),
    Row(
        "relations, ChemProt",
        "relation",
        "re/chemprot/train.jsonl.xz",
        "re/chemprot/dev.jsonl.xz",
        "micro_f1",
        "marked",
    ),
    Row("CoLA", "classification", "glue/CoLA/in_domain_train.tsv.xz", "glue/CoLA/in_domain_dev.tsv", "mcc", "cola"),
    Row("SST-2", "classification", "glue/SST-2/train.tsv.xz", "glue/SST-2/dev.tsv", "accuracy", "sst-2"),
    Row("MRPC", "classification", "glue/MRPC/msr-para-train.tsv.xz", "glue/MRPC/msr-para-val.tsv", "f1", "mrpc"),
    Row("STS-B", "classification", "glue/STS-B/sts-train.csv.xz", "glue/STS-B/sts-dev.csv.xz", "pearson", "sts-b"),
    Row("QNLI", "classification", "glue/QNLI/part_train.tsv.xz", "glue/QNLI/part_dev.tsv", "accuracy", "qnli"),
    Row("RTE", "classification", "glue/RTE/train.tsv.xz", "glue/RTE/dev.tsv", "accuracy", "rte"),
    Row("ConjNLI", "classification", "glue/ConjNLI/train.tsv.xz", "glue/ConjNLI/dev_auto.tsv.xz", "accuracy"),
    Row("chunks, CoNLL-2000", "tagging", "tagging/conll2000/train.txt.xz", "tagging/conll2000/test.txt.xz", "f1"),
    Row(
        "entities, WNUT-17", "tagging", "tagging/wnut17/wnut17train.conll.xz", "tagging/wnut17/emerging.dev.conll", "f1"
    ),
    Row("entities, WikiANN", "tagging", "tagging/wikiann_en/train.txt.xz", "tagging/wikiann_en/dev.txt.xz", "f1"),
    Row(
        "word classes, EWT",
        "tagging",
        "tagging/ud_en_ewt/train.conllu.xz",
        "tagging/ud_en_ewt/dev.conllu.xz",
        "accuracy",
    ),
    Row(
        "choices, CODAH", "multiple-choice", "mc/codah/fold0_train.tsv.xz", "mc/codah/fold0_dev.tsv", "accuracy", "swag"
    ),
    Row(
        "choices, DREAM",
        "multiple-choice",
        "mc/dream/train.json.xz",
        "mc/dream/dev.json.xz",
        "accuracy",
        "race",
        ("task.max_length=256",),
    ),
    Row(
        "coreference",
        "coref",
        "coref/ontogum/train.conll.xz",
        "coref/ontogum/dev.conll.xz",
        "conll_f1",
        "small",
        COREF,
        steps=200,
    ),
    Row(
        "coreference in novels",
        "coref",
        "coref/litbank/train.conll.xz",
        "coref/litbank/dev.conll.xz",
        "conll_f1",
        "small",
        COREF,
        steps=160,
    ),
    Row("NSMC", "classification", "ko/nsmc/train.tsv.xz", "ko/nsmc/dev.tsv.xz", "accuracy", "nsmc", language="ko"),
    Row(
        "KorSTS",
        "classification",
        "ko/korsts/sts-train.tsv.xz",
        "ko/korsts/sts-dev.tsv.xz",
        "spearman",
        "korsts",
        language="ko",
    ),
    Row(
        "KLUE-NLI",
        "classification",
        "ko/klue_nli/part_train.json.xz",
        "ko/klue_nli/part_dev.json.xz",
        "accuracy",
        "klue-nli",
        language="ko",
    ),
    Row("KLUE-NER", "tagging", "ko/klue_ner/part_train.tsv.xz", "ko/klue_ner/part_dev.tsv.xz", "f1", language="ko"),
    Row(
        "word classes, Korean",
        "tagging",
        "ko/ud_kaist/dev_use_as_train.conllu.xz",
        "ko/ud_gsd/dev.conllu.xz",
        "accuracy",
        language="ko",
    ),
)
