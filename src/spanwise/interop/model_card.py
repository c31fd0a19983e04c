"""The README.md of a model folder, in the form that model hubs read."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from spanwise.interop.architectures import Choice
from spanwise.nn.config import EncoderConfig
from spanwise.runtime.disk import DISK
from spanwise.weights.learned_from import HEADING


def write_model_card(
    path: Path,
    config: EncoderConfig,
    choice: Choice,
    heads: Mapping[str, str],
    *,
    has_tokenizer: bool,
    notes: Sequence[str] = (),
    pipeline: str | None = None,
    is_half: bool = False,
    learned: Sequence[str] = (),
) -> None:
    """Write a card that says what the folder holds and how to load it. It claims nothing about quality.

    heads: their titles by name. pipeline: the name of ours that answers with this model. is_half: the files hold bf16,
    which `transformers` would compute in as well. learned: lines of a list of what the weights learned from.
    """
    from huggingface_hub import ModelCard, ModelCardData  # heavy, and only saving needs it

    architecture, family = choice.architecture, choice.family
    data = ModelCardData(
        library_name="transformers" if family.is_stock else "spanwise",
        tags=list(dict.fromkeys(["spanwise", family.model_type, *(["spanbert"] if "sbo" in heads else [])])),
        pipeline_tag=architecture.pipeline,
    )
    shape = (
        f"{config.num_layers} layers, hidden size {config.hidden_size}, {config.num_heads} heads, "
        f"vocabulary {config.vocab_size}, at most {config.max_positions} tokens"
    )
    named = ", ".join(heads.values()) or "none"
    lines = [f"An encoder of the {family.label} type ({shape}). Heads: {named}.", *notes]
    if not has_tokenizer:
        lines.append("The folder holds no tokenizer.")
    loads = ["import spanwise", "", 'model = spanwise.load("path/to/this/folder")']
    if pipeline is not None:
        loads.append(f'answer = spanwise.pipeline("{pipeline}", model="path/to/this/folder")')
    blocks = ["```python\n" + "\n".join(loads) + "\n```"]
    if family.is_stock:
        auto = architecture.auto or choice.name
        options = ', dtype="float32"' if is_half else ""
        call = f'{auto}.from_pretrained("path/to/this/folder"{options})'
        loads = [f"from transformers import {auto}", "", f"model = {call}"]
        blocks.append("```python\n" + "\n".join(loads) + "\n```")
    if learned:
        blocks += [HEADING, "\n".join(learned)]
    content = "\n\n".join([f"---\n{data.to_yaml()}\n---", f"# {choice.name} made with spanwise", *lines, *blocks])
    DISK.write_by_name(path, ModelCard(content + "\n").save)


def add_tasks(path: Path, tasks: Mapping[str, Sequence[str]]) -> None:
    """Name the tasks of a combined folder in its card: lines for each, by the task's name."""
    heading, name = "## Tasks in this folder", next(iter(tasks))
    first = (
        f"Each is the encoder above with what fine-tuning changed of it, and a head, in `tasks/`: "
        f'`spanwise predict {name} --model FOLDER`, or `spanwise.load("path/to/this/folder", task="{name}")`.'
    )
    lines = "\n".join(f"- {lines[0]}" + "".join(f"\n{line}" for line in lines[1:]) for lines in tasks.values())
    text = path.read_text(encoding="utf-8").rstrip("\n")
    DISK.write_file(path, f"{text}\n\n{heading}\n\n{first}\n\n{lines}\n".encode())
