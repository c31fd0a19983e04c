"""The example's task goes the whole way from the command line, as the package's own tasks do."""

import json
import shutil
from pathlib import Path

import pytest

from spanwise.cli.main import main
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.studies.probes.finetuned import finetuned_scores
from spanwise.tasks.checkpoint import load_task_model
from spanwise.text.learn import learn_tokenizer

FILE = Path(__file__).parents[2] / "examples" / "my_task.py"
TASK = f"{FILE}:name_count"
NAMES = ["Ada", "Bob", "Eve", "Seoul", "Denver"]
CHANGES = ["batch_size=4", "training.learning_rate=1e-2", "training.warmup_steps=0", "training.precision=fp32"]


def sentences(number, first):
    for k in range(first, first + number):
        names = [NAMES[(k * 3 + n) % 5] for n in range(k % 4)]
        yield {"text": " ".join(["then", *names, "went there", str(k)]), "names": len(names)}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    for name, number, first in (("train", 48, 0), ("dev", 12, 50)):
        rows = (json.dumps(row) + "\n" for row in sentences(number, first))
        (folder / f"{name}.jsonl").write_text("".join(rows))
    rows = (json.dumps({"text": row["text"]}) + "\n" for row in sentences(5, 90))
    (folder / "new.jsonl").write_text("".join(rows))
    return folder


@pytest.fixture(scope="module")
def model(files, tmp_path_factory):
    (files / "text.txt").write_text("\n".join(row["text"] for row in sentences(200, 0)))
    words = learn_tokenizer([files / "text.txt"], vocab_size=120, min_frequency=1)
    config = EncoderConfig(
        vocab_size=words.vocab_size, hidden_size=16, num_layers=1, num_heads=2, intermediate_size=32, max_positions=32
    )
    encoder = Encoder(config)
    initialize(encoder, config, seed=1)
    folder = tmp_path_factory.mktemp("model") / "m"
    write_folder(folder, FolderContent(encoder, {}, words))
    return folder


def finetune(model, files, out, *more, steps=60):
    changes = [part for change in [*CHANGES, f"training.max_steps={steps}"] for part in ("--set", change)]
    data = ["--train", str(files / "train.jsonl"), "--dev", str(files / "dev.jsonl")]
    return main(["finetune", TASK, "--model", str(model), *data, "--out", str(out), *changes, *more])


@pytest.fixture(scope="module")
def run(model, files, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run"
    assert finetune(model, files, out) == 0
    return out


def test_it_learns_and_its_folder_says_what_it_is(run):
    assert json.loads((run / "dev_scores.json").read_text())["off_by_one"] == 100.0
    checkpoint = read_folder(run / "final")
    assert checkpoint.heads.keys() == {"name_count"} and checkpoint.is_labelled("name_count")
    assert checkpoint.record["task"] == {"part": "my_task:NameCount", "max_length": 128}
    assert checkpoint.record["finetuned"]["task"] == TASK
    assert main(["show", "model", str(run / "final")]) == 0


def test_evaluate_predict_and_score_know_it_by_the_same_name(run, files, tmp_path, capsys):
    dev, final = str(files / "dev.jsonl"), str(run / "final")
    assert main(["evaluate", TASK, "--model", final, "--data", dev, "--precision", "fp32", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores == json.loads((run / "dev_scores.json").read_text())
    output = ["--input", str(files / "new.jsonl"), "--output", str(tmp_path / "counts.json")]
    assert main(["predict", TASK, "--model", final, *output]) == 0
    assert json.loads((tmp_path / "counts.json").read_text()).keys() == set("01234")
    capsys.readouterr()
    predicted = str(run / "dev_predictions.json")
    assert main(["score", TASK, "--data", dev, "--predictions", predicted, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == scores
    assert load_task_model(final, TASK).is_recorded


def test_a_run_that_was_cut_short_goes_on_to_the_same_bits(run, model, files, tmp_path, monkeypatch):
    from spanwise.tasks.batches import EpochBatches

    make_step = EpochBatches.step

    def power_cut(self, index):
        if index == 40:
            raise RuntimeError("power cut")
        return make_step(self, index)

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="power cut"):
        patch.setattr(EpochBatches, "step", power_cut)
        finetune(model, files, tmp_path / "cut", "--set", "training.save_every=30")
    assert finetune(model, files, tmp_path / "cut", "--set", "training.save_every=30", "--resume") == 0
    for name in ("model.safetensors", "heads.safetensors"):
        assert (tmp_path / "cut" / "final" / name).read_bytes() == (run / "final" / name).read_bytes()


def test_training_goes_on_from_its_head_and_another_task_leaves_it_out(run, files, tmp_path, capsys):
    assert finetune(run / "final", files, tmp_path / "again", steps=1) == 0
    assert "training goes on from it" in capsys.readouterr().out
    texts = tmp_path / "t.tsv"
    texts.write_text("text\tlabel\nAda went\ta\nthen there\tb\n")
    data = ["--model", str(run / "final"), "--train", str(texts), "--out", str(tmp_path / "other")]
    assert main(["finetune", "classification", *data, "--set", "training.max_steps=1"]) == 0
    assert "'name_count' of earlier fine-tuning is left out" in capsys.readouterr().out
    assert "name_count" not in read_folder(tmp_path / "other" / "final").heads


def test_seeds_are_compared_and_a_probe_of_a_study_may_ask_for_it(model, files, tmp_path, capsys):
    assert finetune(model, files, tmp_path / "seeds", "--seeds", "2", "--json", steps=2) == 0
    assert len(json.loads(capsys.readouterr().out)["scores"]["right"]["values"]) == 2

    class Context:
        """What a probe is given."""

        out, seed, device, resume_command = tmp_path / "probe", 0, None, ""

        class log:
            say = staticmethod(print)

    Context.model = model
    asked = {"train": files / "train.jsonl", "dev": files / "dev.jsonl", "overrides": ["training.max_steps=2"]}
    assert finetuned_scores(Context, "names", TASK, **asked).keys() == {"right", "off_by_one"}


def test_what_it_lacks_is_said_before_a_file_is_read(tmp_path, capsys):
    text = FILE.read_text()
    broken = {
        "no_score": (text.replace("    def score(", "    def grade("), "score"),
        "no_head": (text.replace("    def build_head(", "    def make_head("), "no build_head"),
        "no_name": (text.replace('    head_name: ClassVar[str] = "name_count"\n', ""), "no head_name"),
        "no_record": (text.replace("@dataclass(frozen=True)\nclass NameCount", "class NameCount"), "no dataclass"),
        "no_task": (text.replace("return usual_recipe(NameCount())", "return 3"), "returned int"),
    }
    for name, (content, words) in broken.items():
        (tmp_path / f"{name}.py").write_text(content)
        asked = ["--model", "nowhere", "--train", "nowhere.jsonl", "--out", str(tmp_path / "run")]
        assert main(["finetune", f"{tmp_path}/{name}.py:name_count", *asked]) == 2
        assert words in capsys.readouterr().err, name
    assert not (tmp_path / "run").exists()


def test_a_folder_of_ones_own_works_as_a_file_does_and_the_part_alone_is_enough(run, files, tmp_path, capsys):
    folder = tmp_path / "counting"
    folder.mkdir()
    shutil.copy(FILE, folder / "my_task.py")
    (folder / "__init__.py").write_text("from .my_task import NameCount as make\n")
    asked = ["--model", str(run / "final"), "--data", str(files / "dev.jsonl")]
    assert main(["evaluate", f"{folder}/__init__.py:make", *asked]) == 4  # another class than the folder's
    assert "'my_task:NameCount', not for 'counting.my_task:NameCount'" in capsys.readouterr().err
