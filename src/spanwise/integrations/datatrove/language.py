"""Keep the documents of one language, with a model that lies in a file: nothing is fetched while a pipeline runs."""

from pathlib import Path

from datatrove.data import Document
from datatrove.pipeline.filters.base_filter import BaseFilter

from spanwise.errors import ConfigError
from spanwise.integrations.languages import LanguageModel


class KeepLanguage(BaseFilter):
    """datatrove's `LanguageFilter` for a model in a file: a document stays if its language's score is above a limit."""

    name = "🌍 Language ID, model in a file"

    def __init__(self, language: str, model: str | Path, threshold: float = 0.65) -> None:
        """`model` is a fastText file that all workers see at this path; 0.65 is datatrove's limit.

        Raises: ConfigError where the model does not know `language` or `threshold` is not in [0, 1); DataError where
        the file is missing or no such model.
        """
        super().__init__()
        if not 0 <= threshold < 1:
            raise ConfigError(f"threshold={threshold}: expected at least 0 and below 1.")
        self.language, self.threshold = language, threshold
        self.model = LanguageModel(model)
        self.model.require(language)
        self.model_sha256 = self.model.sha256  # a plain setting: by it a restart knows the model again

    def filter(self, doc: Document) -> bool | tuple[bool, str]:
        scores = self.model.scores(doc.text)
        found = max(scores, key=lambda name: scores[name], default="")
        doc.metadata["language"], doc.metadata["language_score"] = found, scores.get(found, 0.0)
        if scores.get(self.language, 0.0) > self.threshold:
            return True
        return False, f"language_{found}"
