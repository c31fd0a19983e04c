"""Every error a user can cause, and the exit status of each.

An error says what came, what was expected and what to do. The command line prints the message alone and leaves
with `exit_status`; Python callers catch the class.
"""


class SpanwiseError(Exception):
    """Base of all errors that name a thing the user can change. Exit status 1."""

    exit_status = 1


class ConfigError(SpanwiseError):
    """A recipe, option or argument that can't work. Exit status 2."""

    exit_status = 2


class DataError(SpanwiseError):
    """Text, store or task data that is damaged, empty or contradicts itself. Exit status 3."""

    exit_status = 3


class CheckpointError(SpanwiseError):
    """A model folder that is damaged, foreign or does not fit. Exit status 4."""

    exit_status = 4


class NumericsError(SpanwiseError):
    """Not-a-number or infinite values met while training. Exit status 5."""

    exit_status = 5


class PeerLostError(SpanwiseError):
    """Another process of the same run died or stopped answering. Exit status 6."""

    exit_status = 6


class FolderInUseError(SpanwiseError):
    """An output folder that another run holds. Exit status 7."""

    exit_status = 7


class InterruptedAndSaved(SpanwiseError):
    """Training was asked to stop and has written a checkpoint. Exit status 75."""

    exit_status = 75
