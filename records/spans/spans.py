"""The shipped study `spans` with its probes cut, so that three seeds take two hours of two cores."""

from dataclasses import replace

from spanwise.studies.catalogue import find_study
from spanwise.studies.probes import Chunks, CoreferenceProbe, Questions
from spanwise.studies.study import Study


def spans() -> Study:
    """Coreference: 5 epochs, a head of 64. Questions: 1,024, asked 3,000 of SQuAD dev. Chunks: 100."""
    coreference = CoreferenceProbe(num_epochs=5, head_size=64)
    questions = Questions(sizes=(1_024,), max_dev_questions=3_000)
    chunks = Chunks(sizes=(100,))
    return replace(find_study("spans"), probes=("masked-tokens", "span-pairs", coreference, questions, chunks))
