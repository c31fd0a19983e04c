"""What a server takes from clients and how long it waits, so that no client can fill its memory or its time."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Lengths are in characters, times in seconds.

    A request holds at most `inputs` inputs, each with at most `documents` documents, `choices` choices and `pieces`
    words. One of its texts has at most `text` characters; all of them together, and the spans that are marked in them,
    have at most `request`. A request marks at most `spans` spans. Each of its blanks may be read in its own window,
    and joint filling reads it once for each beam; that makes at most `blank_windows`. Every guess for a blank repeats
    the text around it, `repeated` characters at most in a request.
    `body` is the largest body in bytes, and `buffered` that of all bodies under way together. At most `waiting`
    inputs wait, with `waiting_text` characters. `deadline` is the longest that a client waits for its answer, `sending`
    the longest that a client takes to send its header or body.
    """

    body: int = 2_000_000
    buffered: int = 24_000_000
    text: int = 100_000
    request: int = 500_000
    inputs: int = 64
    documents: int = 256
    pieces: int = 4_096
    choices: int = 32
    spans: int = 2_048
    blank_windows: int = 512
    repeated: int = 5_000_000
    waiting: int = 256
    waiting_text: int = 2_000_000
    deadline: float = 30.0
    sending: float = 10.0
