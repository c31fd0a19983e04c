"""The description of a family of Hugging Face models. Each family is one file in `tables/`.

A family is data: how its `config.json` says what `EncoderConfig` says, how its tensors are named, which classes it has
and which heads each of them holds. Nothing outside `tables/` knows a family's name.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from torch import Tensor

from spanwise.interop.json_files import JsonObject, Settings
from spanwise.interop.key_map import KeyMap, Line
from spanwise.nn.config import Activation, EncoderConfig
from spanwise.nn.heads.kind import SequenceForm

Kind = Literal["task", "pretraining", "language_model", "encoder"]
KINDS: tuple[Kind, ...] = ("encoder", "language_model", "pretraining", "task")  # from the least to the most special


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One class: the heads whose tensors its files hold, beside embeddings and layers."""

    kind: Kind
    heads: tuple[str, ...] = ()
    pooler: bool = False
    auto: str | None = None  # the Auto class that finds it
    pipeline: str | None = None  # the task's name on model hubs
    only_gelu: bool = False  # its head has the error-function GELU, whatever the encoder has
    settings: Settings = field(default_factory=dict)  # of config.json, that its head is computed with


@dataclass(frozen=True, kw_only=True)
class EncoderLines:
    """The tensors of one encoder, without its pooler, under the names of a family."""

    lines: tuple[Line, ...]
    repeats: Mapping[str, str] = field(default_factory=dict)  # what files hold again because our layers share it
    fillers: Mapping[str, Tensor] = field(default_factory=dict)  # what files hold and our encoder does without
    buffers: frozenset[str] = frozenset()  # counted up, not learned


@dataclass(frozen=True, kw_only=True)
class Family:
    """One `model_type` of Hugging Face.

    A family computes the fields of `EncoderConfig` that `settings` and `computes` name. Every other field must have the
    value in `constants`, or else the default of `EncoderConfig`: a folder that asks for another is refused, and an
    encoder that has another is never written as one of its classes.
    """

    model_type: str
    label: str  # as people write it
    settings: Mapping[str, str]  # our field -> their key, for values that mean the same
    defaults: Settings  # our values where their key is absent; those not named here are required
    constants: Settings = field(default_factory=dict)  # our values that the family has no choice of
    computes: frozenset[str] = frozenset({"activation", "pooler", "causal", "sharing"})  # more of our fields
    activation_key: str = "hidden_act"
    activations: Mapping[str, Activation]  # their name -> ours; the first name of each is the one written
    only: Settings = field(default_factory=dict)  # their settings of which one value is supported
    read_settings: Callable[[Settings], JsonObject] = lambda settings: {}
    write_settings: Callable[[EncoderConfig, int | None], JsonObject] = lambda config, pad_id: {}
    misfit: Callable[[EncoderConfig, int | None], str | None] = lambda config, pad_id: None  # values that don't go
    # together here, in words; `refusal` asks for each field alone
    encoder: Callable[[EncoderConfig, Settings], EncoderLines]  # for an encoder and the content of config.json
    pooler: tuple[Line, ...] = ()
    heads: Mapping[str, tuple[Line, ...]]
    copies: Mapping[str, str] = field(default_factory=dict)  # tied tensors that some files carry -> what they repeat
    root: str  # prefix that a bare encoder class leaves out
    bare: tuple[str, ...]  # how names begin that have lost this prefix
    architectures: Mapping[str, Architecture]  # by class name, the most special first
    forms: Mapping[str, SequenceForm]  # of the heads that read whole sequences
    form_settings: Mapping[SequenceForm, Settings] = field(default_factory=dict)  # another form, and what
    # config.json says of it
    has_tensor: Callable[[EncoderConfig, str], bool] = lambda config, ours: True  # of encoder or head, by our name
    optional_prefixes: tuple[str, ...] = ("module.", "decoder.")  # that training code puts before everything
    has_sharing: bool = False  # whether its files hold shared layers once
    is_stock: bool = True  # whether Hugging Face has its classes
    names_borders: bool = False  # whether config.json has ids of the first and last token whose defaults may be wrong
    role_ids: Mapping[str, str] = field(default_factory=dict)  # role of a special token -> the key of its id

    def key_map(self, config: EncoderConfig, settings: Settings) -> KeyMap:
        """Return the names of all tensors of this encoder; `settings` is the content of config.json."""
        encoder = self.encoder(config, settings)

        def there(lines: Iterable[Line]) -> tuple[Line, ...]:
            return tuple(line for line in lines if self.has_tensor(config, line.ours))

        return KeyMap(
            encoder=there(encoder.lines),
            pooler=self.pooler,
            heads={name: there(lines) for name, lines in self.heads.items()},
            copies=self.copies,
            buffers=encoder.buffers,
            root=self.root,
            bare=self.bare,
            repeats=encoder.repeats,
            fillers=encoder.fillers,
            optional_prefixes=self.optional_prefixes,
        )

    def stated_forms(self, settings: Settings) -> dict[str, SequenceForm]:
        """Return the forms of heads that the content of config.json states, where they are not the usual ones."""
        for form, stated in self.form_settings.items():
            if all(settings.get(key) == value for key, value in stated.items()):
                return {name: form for name in ("classification", "multiple_choice")}
        return {}

    def refusal(self, config: EncoderConfig, pad_id: int | None) -> str | None:
        """Return a value of this encoder that no class of the family computes, in words; None where it computes all, as
        the folders of our own names do."""
        if not self.is_stock:
            return None
        computed = {*self.settings, *self.computes}
        for option in fields(config):
            value = getattr(config, option.name)
            if option.name == "embedding_size" and not config.is_factorised:
                value = None
            if option.name not in computed and value != self.constants.get(option.name, option.default):
                return f"{option.name} = {value}"
        if "activation" in computed and config.activation not in self.activations.values():
            return f"activation = {config.activation}"
        return self.misfit(config, pad_id)


def usual_classes(
    prefix: str, *, pooled: Collection[str] = ("classification", "multiple_choice"), only_gelu: bool = False
) -> dict[str, Architecture]:
    """Return the classes that most families have: four tasks, masked language model and bare encoder.

    `pooled` are the tasks whose class has a pooler; `only_gelu` is of the masked language model.
    """

    def task(head: str, auto: str, pipeline: str | None = None) -> Architecture:
        return Architecture(
            kind="task", heads=(head,), pooler=head in pooled, auto=f"AutoModelFor{auto}", pipeline=pipeline
        )

    return {
        f"{prefix}ForQuestionAnswering": task("qa", "QuestionAnswering", "question-answering"),
        f"{prefix}ForSequenceClassification": task("classification", "SequenceClassification", "text-classification"),
        f"{prefix}ForTokenClassification": task("tagging", "TokenClassification", "token-classification"),
        f"{prefix}ForMultipleChoice": task("multiple_choice", "MultipleChoice"),
        f"{prefix}ForMaskedLM": Architecture(
            kind="language_model",
            heads=("mlm",),
            auto="AutoModelForMaskedLM",
            pipeline="fill-mask",
            only_gelu=only_gelu,
        ),
        f"{prefix}Model": Architecture(kind="encoder", auto="AutoModel"),
    }
