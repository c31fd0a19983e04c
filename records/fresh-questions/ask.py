"""Ask the shipped models the fresh questions as a user would, and write every answer: ask.py

Writes answers-english.tsv and answers-korean.tsv beside this file: what `spanwise.pipeline("question-answering")` says
unasked (an empty answer means that the passage does not tell), its best guess where that is empty, and the answers that
count as right. Scores (0 to 1) are those of SQuAD 1.1: the best over the accepted answers.
"""

from __future__ import annotations

from pathlib import Path

import spanwise
from spanwise.runtime.files import write_text_atomic
from spanwise.tasks.qa.data import SquadData
from spanwise.tasks.qa.reader import read_questions
from spanwise.tasks.qa.score import raw_scores

HERE = Path(__file__).parent
MODELS = {"english": "spanwise-mini", "korean": "spanwise-nano-ko"}
COLUMNS = ("id", "question", "answer", "guess", "accepted", "exact", "f1", "f1_of_guess")


def main() -> None:
    for language, model in MODELS.items():
        data = read_questions(HERE / f"{language}.json")
        ask = spanwise.pipeline("question-answering", model=model)
        inputs = [{"question": one.text, "context": data.contexts[one.paragraph]} for one in data.questions]
        told = {one.id: found["answer"] for one, found in zip(data.questions, ask(inputs), strict=True)}
        guessed = ask(inputs, handle_impossible_answer=False)
        guesses = {one.id: found["answer"] for one, found in zip(data.questions, guessed, strict=True)}
        write_text_atomic(HERE / f"answers-{language}.tsv", table(data, told, guesses))


def table(data: SquadData, told: dict[str, str], guesses: dict[str, str]) -> str:
    """Return a line per question, and print the means."""
    scores, of_guesses = raw_scores(data, told), raw_scores(data, guesses)
    lines = ["\t".join(COLUMNS)]
    for one in data.questions:
        guess = guesses[one.id] if not told[one.id] else ""
        accepted = " | ".join(dict.fromkeys(answer.text for answer in one.answers))
        found = [one.id, one.text, told[one.id], guess, accepted, f"{scores.exact[one.id]:.0f}"]
        lines.append("\t".join([*found, f"{scores.f1[one.id]:.2f}", f"{of_guesses.f1[one.id]:.2f}"]))
    count, empty = len(data.questions), sum(not answer for answer in told.values())
    means = [100 * sum(values.values()) / count for values in (scores.f1, scores.exact, of_guesses.f1)]
    print(f"{data.source}: {count} questions, {empty} empty answers; F1 {means[0]:.1f}, exact {means[1]:.1f}; ", end="")
    print(f"F1 {means[2]:.1f} with a guess where the answer is empty")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
