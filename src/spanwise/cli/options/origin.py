"""Options that say where data comes from: `--licence` and `--source`, for the list that goes with the weights."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cyclopts import Parameter

from spanwise.errors import ConfigError

if TYPE_CHECKING:
    from spanwise.weights.learned_from import Origin


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class OriginOptions:
    """What the model's card and record say of the data beside its name; `spanwise show model` shows it."""

    licence: list[str] | None = None
    """Licence of the data, such as "CC BY 4.0": one for all files, or repeated, one for each in their order."""
    source: list[str] | None = None
    """Where the data comes from, in a few words: one for all files, or one for each."""

    def origins(self) -> "list[Origin]":
        """Return none, one for all files, or one for each. Raises: ConfigError where the two lists do not match."""
        from spanwise.weights.learned_from import NOT_STATED, Origin

        licences, sources = self.licence or [], self.source or []
        number = max(len(licences), len(sources))
        if any(len(given) not in (0, 1, number) for given in (licences, sources)):
            raise ConfigError(
                f"{len(licences)} licences and {len(sources)} sources do not match; give one of each for all files, or "
                "one for each file."
            )
        for_all = [given if len(given) == number else (given or [NOT_STATED]) * number for given in (licences, sources)]
        return [Origin(licence=licence, source=source) for licence, source in zip(*for_all, strict=True)]


NO_ORIGIN = OriginOptions()
