"""What an ONNX file takes and gives, by name."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Port:
    """An input or an output: its name, what each axis counts (a number where it is fixed), and what it means."""

    name: str
    axes: tuple[str | int, ...]
    meaning: str
    type: Literal["int64", "float32"] = "int64"

    def as_json(self) -> dict[str, object]:
        """Return the entry of spanwise.json."""
        return {"name": self.name, "type": self.type, "shape": list(self.axes), "meaning": self.meaning}
