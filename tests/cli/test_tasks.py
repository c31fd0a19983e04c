"""Names of tasks."""

import pytest

from spanwise.cli.tasks import check_task
from spanwise.errors import ConfigError


def test_question_answering_is_a_task():
    check_task("qa")


@pytest.mark.parametrize(("name", "words"), [("coref", "qa"), ("squad", "Did you mean 'qa'"), ("QA", "Did you mean")])
def test_another_name_is_answered_with_the_tasks_there_are(name, words):
    with pytest.raises(ConfigError, match=words) as told:
        check_task(name)
    assert repr(name) in str(told.value)
