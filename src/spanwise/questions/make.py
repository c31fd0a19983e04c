"""Questions from text without labels: text in, a file of the SQuAD shape out.

Source: Lewis et al. 2019 (clozes made into questions) and Fabbri et al. 2020 (a question from another sentence that
holds the answer). Differs: rules over lists of words and, for Korean, over morphemes take the place of a parser, a
tagger of names and a translation model, so any text of the two languages gives questions.
"""

from __future__ import annotations

import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from spanwise.errors import ConfigError, DataError
from spanwise.questions.answered import AnswerFilter, Questions
from spanwise.questions.document import Maker
from spanwise.questions.english import EnglishRules
from spanwise.questions.korean import KoreanRules
from spanwise.questions.parts import FORMS, KINDS, Form, Kind, Rules
from spanwise.questions.passages import passages, running_text
from spanwise.questions.squad_file import SquadWriter
from spanwise.runtime.files import refuse_to_write_over
from spanwise.runtime.seed import derive_key
from spanwise.runtime.wording import counted
from spanwise.tasks.qa.forbidden import paragraph_runs
from spanwise.text.corpus import CorpusOptions, Document, corpus_files, read_documents, read_texts
from spanwise.text.word_runs import WordRuns

Language = Literal["en", "ko"]
SAME_SENTENCE: dict[Language, float] = {"en": 0.0, "ko": 0.8}
RULES: dict[Language, Callable[[], Rules]] = {"en": EnglishRules, "ko": KoreanRules}


@dataclass(frozen=True, kw_only=True)
class MakeReport:
    """What was made. `num_left_out` lines that were read ended like no sentence; `num_refused` documents, or parts of
    one longer than `MAX_DOCUMENT_CHARACTERS`, shared eight words in a row with a file of `not_from`."""

    num_questions: int
    num_impossible: int
    num_documents: int
    num_left_out: int
    num_refused: int
    num_dropped: int  # by the model that had to find their answers
    kinds: dict[str, int]
    forms: dict[str, int]
    seconds: float


def make_questions(
    texts: Sequence[str | Path],
    out: str | Path,
    *,
    language: Language = "en",
    max_questions: int | None = None,
    seed: int = 0,
    kinds: Sequence[Kind] = KINDS,
    forms: Sequence[Form] = FORMS,
    impossible: float = 0.0,
    same_sentence: float | None = None,
    not_from: Sequence[str | Path] = (),
    keep: AnswerFilter | None = None,
    options: CorpusOptions | None = None,
    watch: Callable[[Iterator[Document]], Iterator[Document]] = iter,
) -> MakeReport:
    """Write questions made from text files and folders to `out`; equal text, seed and options give equal bytes.

    `same_sentence` is the share of questions put, in other words, to the passage that holds their own sentence; None: 0
    in English, 0.8 in Korean. Memory holds one document, the ids of all questions, and the runs of words of `not_from`.
    Reading ends with the document that brings `max_questions`. `keep` leaves out questions whose answer its model does
    not find. `watch` is given the documents and gives them on: it may count them. Lines are read whole, so
    `options.lines` says nothing here.
    Raises: ConfigError for an option, and for Korean without kiwipiepy; DataError as `read_documents`, for a damaged
    file of `not_from`, and where the text gives no question.
    """
    if language not in RULES:
        raise ConfigError(f"language={language!r}: there are rules for {' and '.join(RULES)}.")
    if max_questions is not None and max_questions < 1:
        raise ConfigError(f"max_questions={max_questions}: at least 1 was expected.")
    refuse_to_write_over(Path(out), [*corpus_files(texts), *map(Path, not_from)])
    begin = time.perf_counter()
    maker = Maker(
        rules=RULES[language](),
        kinds=kinds,
        forms=forms,
        impossible=impossible,
        same_sentence=SAME_SENTENCE[language] if same_sentence is None else same_sentence,
    )
    documents = _documents(corpus_files(texts), options or CorpusOptions(language=language))
    counts: Counter[str] = Counter()
    made: Iterable[Questions] = _made(watch(documents), maker, paragraph_runs(not_from), language, seed, counts)
    with SquadWriter(Path(out), with_impossible=impossible > 0) as file:
        for document, questions in made if keep is None else keep.kept(made):
            left = None if max_questions is None else max_questions - counts["questions"]
            written = questions[:left]
            file.write(document, written)
            counts.update(questions=len(written), documents=1, impossible=sum(q.start < 0 for q in written))
            counts.update(word for question in written for word in (question.kind, question.form))
            if counts["questions"] == max_questions:
                break
        if not counts["questions"] and keep is not None and keep.num_dropped:
            raise DataError(
                f"Every question that was made ({keep.num_dropped:,}) is left out: {keep.model} finds none of the "
                f"answers with an F1 of {keep.min_f1:g} or more. Give a lower bound (--filter-f1), or another "
                "model (--filter)."
            )
        if not counts["questions"] and counts["documents left out"]:
            raise DataError(
                f"No question could be made: {counted(counts['documents left out'], 'document')} of the text "
                f"{'is' if counts['documents left out'] == 1 else 'are'} left out, because eight words in a row stand "
                "in a file of --not-from too, and what is left gives none. Give other text, or files that it was not "
                "taken from. (In a text file a blank line ends a document.)"
            )
        if not counts["questions"]:
            raise DataError(
                "No question could be made: no name, number, date or noun of whole sentences of the text stands in two "
                f"of its passages, and {counted(counts['lines left out'], 'line')} without the end of a sentence "
                f"{'is' if counts['lines left out'] == 1 else 'are'} left out. Give longer documents (a blank line "
                f"ends one) whose lines end with their sentences, or look at --language ({language})."
            )
    return MakeReport(
        num_questions=counts["questions"],
        num_impossible=counts["impossible"],
        num_documents=counts["documents"],
        num_left_out=counts["lines left out"],
        num_refused=counts["documents left out"],
        num_dropped=0 if keep is None else keep.num_dropped,
        kinds={kind: counts[kind] for kind in kinds},
        forms={form: counts[form] for form in forms},
        seconds=time.perf_counter() - begin,
    )


def _documents(files: Sequence[Path], options: CorpusOptions) -> Iterator[Document]:
    """Give documents with whole lines in place of sentences: `passages` needs the end of a line to tell text from
    headings, and cuts long ones itself. Raises: DataError as `read_documents`."""
    is_empty = True
    for text in read_texts(files, options):
        given = unicodedata.normalize("NFC", text.text) if options.unicode_form == "NFC" else text.text
        lines = [line for line in given.split("\n") if line.strip()]
        if lines:
            is_empty = False
            yield Document(text.source, text.line, lines, text.ends)
    if is_empty:
        yield from read_documents(files, options)  # raises, and names the files


def _made(
    documents: Iterable[Document],
    maker: Maker,
    forbidden: WordRuns,
    language: Language,
    seed: int,
    counts: Counter[str],
) -> Iterator[Questions]:
    for number, document in enumerate(documents):
        lines = running_text(document.sentences)
        if any(forbidden.shares("\n".join(text)) for text in (document.sentences, lines)):
            counts["documents left out"] += 1
            continue
        counts["lines left out"] += len(document.sentences) - len(lines)
        made = maker.questions(passages(lines, language), derive_key(seed, "questions", number))
        # a question puts the words of its sentence in another order, and so may have a run that the document has not
        yield document, [question for question in made if not forbidden.shares(question.question)]
