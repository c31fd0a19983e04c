"""Text files, JSON lines and parquet, packed or not, by the readers that training uses."""

from collections.abc import Iterator
from pathlib import Path

from spanwise.asking.documents import TextLine
from spanwise.text.corpus import JSON_ENDINGS, ending_of
from spanwise.text.readers import OnInvalid, read_json_rows, read_lines, read_parquet_rows


def plain_lines(path: Path, errors: OnInvalid, text_field: str) -> Iterator[TextLine]:
    """Yield the lines of a file, the pieces of an endless line under one number; a row of a table stands alone.

    Raises: DataError as the readers; ConfigError where parquet needs a package that is not installed.
    """
    ending = ending_of(path)
    if ending == ".parquet" or ending in JSON_ENDINGS:
        read_rows = read_parquet_rows if ending == ".parquet" else read_json_rows
        rows = read_rows(path, text_field, errors)
        for number, text in rows:
            yield TextLine(" ".join(text.split("\n")), number, is_alone=True)
        return
    for line in read_lines(path, errors):
        yield TextLine(line.text, line.number)
