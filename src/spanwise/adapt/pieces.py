"""New pieces for a vocabulary: words of a person's own text that it cuts into many pieces.

A new piece is a whole word, and its row of the word table (which is input and output at once) and its biases begin at
the mean of its old pieces. `interop/grow.py` makes the rows; here the words are chosen. A word is worth what it saves:
how often it stands in the text, times the pieces that it had beyond the first.

Only WordPiece vocabularies take whole words as pieces like any other, in files that `AutoTokenizer` reads with equal
ids. In byte-level BPE, BPE and unigram vocabularies a new word would be an added token of the library: the blank before
it would stay a token of its own, and no inflected form would be served; such vocabularies are refused by name.

Source: Hewitt 2021 (rows at a mean of old ones); Dobler and de Melo 2023 (FOCUS) and others choose new pieces by the
text as well.
"""

from collections import Counter
from collections.abc import Iterable

from spanwise.errors import CheckpointError
from spanwise.text.corpus import Document
from spanwise.text.extend import MAX_CHARACTERS, takes_pieces, word_splitter
from spanwise.text.tokenizers import Tokenizer

MANY_PIECES = 3  # of one word, at least
FEWEST_TIMES = 5  # that a word stands in the text
MOST_WORDS = 1_000_000  # counted at once


def check_takes_pieces(tokenizer: Tokenizer, start: str) -> None:
    """Refuse a vocabulary that takes no whole words. Raises: CheckpointError naming its kind."""
    if tokenizer.kind != "wordpiece":
        raise CheckpointError(
            f"new pieces need a WordPiece vocabulary, and that of {start} is {tokenizer.kind}: a word added to it "
            "would stay apart from the blank before it. Leave --new-pieces out."
        )
    if not takes_pieces(tokenizer):
        raise CheckpointError(
            f"the WordPiece vocabulary of {start} has added tokens behind its pieces, so new pieces have no place "
            "there. Leave --new-pieces out."
        )


def choose_pieces(documents: Iterable[Document], tokenizer: Tokenizer, most: int) -> tuple[str, ...]:
    """Return at most so many words of the text, those that save most pieces first.

    A word has a letter, is cut into three pieces or more and stands five times or more in the text. A tie goes to the
    word that comes first by its letters, so the choice depends on the text alone.
    """
    words_of = word_splitter(tokenizer)
    counts: Counter[str] = Counter()
    for document in documents:
        for sentence in document.sentences:
            counts.update(word for word in words_of(sentence) if len(word) <= MAX_CHARACTERS)
        if len(counts) > MOST_WORDS:  # words that are rare in a million different ones are rare in all of them
            counts = Counter({word: count for word, count in counts.items() if count > 1})
    frequent = sorted(word for word, count in counts.items() if count >= FEWEST_TIMES and _has_letter(word))
    if not frequent:
        return ()
    saved = {}
    for word, encoding in zip(frequent, tokenizer.encode_batch(frequent), strict=True):
        if len(encoding.ids) >= MANY_PIECES and tokenizer.unk_id not in encoding.ids:
            saved[word] = counts[word] * (len(encoding.ids) - 1)
    return tuple(sorted(saved, key=lambda word: (-saved[word], word))[:most])


def _has_letter(word: str) -> bool:
    return any(character.isalpha() for character in word)
