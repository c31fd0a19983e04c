"""What the quickstart tells a person to paste runs as it stands."""

import os
import shlex
import signal
from types import SimpleNamespace

import pytest

from spanwise.errors import InterruptedAndSaved
from spanwise.quickstart.commands import next_commands, resume_command
from spanwise.quickstart.learning import quickstart_recipe
from spanwise.quickstart.run import quickstart
from spanwise.weights.learned_from import Origin


def test_there_are_three_commands_to_try_next_for_both_kinds_of_text(tmp_path):
    for own in (True, False):
        commands = next_commands(tmp_path, tmp_path / "m", tmp_path / "q", own)
        assert len(commands) == 3 and all(command and words for command, words in commands)


def test_the_commands_to_try_next_can_be_pasted_where_paths_have_spaces(tmp_path):
    folder = tmp_path / "my results"
    model = folder / "pretraining" / "final"
    for own in (True, False):
        words = [shlex.split(command) for command, _ in next_commands(folder, model, folder / "qa", own)]
        assert words[1][-2:] == ["--model", str(model)] and words[2][-3] == str(folder / "qa")
    own_text = shlex.split(next_commands(folder, model, folder / "qa", True)[0][0])
    assert str(folder / "store") in own_text and own_text[-1] == f"{folder}-longer"


def test_the_commands_for_korean_text_say_its_language(tmp_path):
    commands = next_commands(tmp_path, tmp_path / "m", tmp_path / "q", False, "ko")
    assert "--language ko" in commands[0][0] and "다리" in commands[1][0]


def test_what_was_made_from_scratch_is_made_so_of_another_text_too(tmp_path):
    ((command, _), *_) = next_commands(tmp_path, tmp_path / "m", tmp_path / "q", False)
    assert "--from-scratch" in shlex.split(command)


def test_the_command_that_goes_on_states_the_origin_of_the_text_where_it_is_known(tmp_path):
    stores = SimpleNamespace(train=SimpleNamespace(path=tmp_path / "a"), valid=SimpleNamespace(path=tmp_path / "b"))

    def words(origin):
        return shlex.split(resume_command(quickstart_recipe(None), stores, tmp_path, 60, None, origin))

    said = words(Origin(licence="CC BY-SA 3.0", source="A wiki", file="wiki.txt"))
    assert said[said.index("--licence") + 1] == "CC BY-SA 3.0" and said[said.index("--source") + 1] == "A wiki"
    said = words(Origin().named(["mine.txt"]))  # the run itself would call it by the name of its store
    assert "--licence" not in said and said[said.index("--source") + 1] == "mine.txt"
    assert not {"--licence", "--source"} & set(words(Origin()))


@pytest.mark.slow
@pytest.mark.parametrize("with_init", [False, True])
def test_a_stopped_quickstart_is_gone_on_with_by_the_command_it_told(tmp_path, monkeypatch, with_init):
    """Another start changes the recipe, and the folders have blanks in their names."""
    from spanwise.cli.main import main
    from spanwise.training.loop import _Loop

    text = tmp_path / "my text.txt"
    lines = [f"The town of Moss built bridge number {n} in {1700 + n}. The river is near the town." for n in range(400)]
    text.write_text("\n\n".join(lines))
    init = None
    if with_init:
        small = ["encoder.hidden_size=16", "encoder.intermediate_size=32", "encoder.max_positions=64"]
        small += [
            "format.max_length=64",
            "training.max_steps=1",
            "training.eval_every=null",
            "tokenizer.vocab_size=300",
        ]
        sets = [word for change in small for word in ("--set", change)]
        init = tmp_path / "my init"
        assert main(["pretrain", "spanbert-tiny", "--text", str(text), "--out", str(init), *sets]) == 0
        init = init / "final"
    one_step = _Loop._one_step

    def interrupted(self, packs):
        one_step(self, packs)
        if self.state.step == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(_Loop, "_one_step", interrupted)
    with pytest.raises(InterruptedAndSaved) as told:
        quickstart([text], out=tmp_path / "my out", budget=12.4, from_scratch=True, init=init)
    command = shlex.split(str(told.value).split("Go on with:")[1])

    assert main(command[command.index("pretrain") :]) == 0
    assert (tmp_path / "my out" / "pretraining" / "final" / "model.safetensors").is_file()
