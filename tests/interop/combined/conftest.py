"""A base, and folders that are fine-tuned from it for two tasks."""

import pytest
from tests.tasks.conftest import pretrained_folder, tokenizer, vocabulary_folder  # noqa: F401
from tests.tasks.tuned import tuned_folder


@pytest.fixture(scope="session")
def tuned(pretrained_folder, tmp_path_factory):  # noqa: F811
    """Fine-tuned folders by their tasks; that of qa has the embeddings as they were."""
    folder = tmp_path_factory.mktemp("tuned")
    return {
        "qa": tuned_folder(pretrained_folder, folder / "qa", "qa"),
        "tagging": tuned_folder(pretrained_folder, folder / "tagging", "tagging", seed=1, changed=lambda name: True),
    }
