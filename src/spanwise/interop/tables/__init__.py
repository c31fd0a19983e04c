"""One file per family. The order is that in which a class is looked for where several can hold the same encoder."""

from spanwise.interop.family import Family
from spanwise.interop.tables import (
    albert,
    bert,
    electra,
    modernbert,
    openai_gpt,
    roberta,
    spanwise,
    splinter,
    xlm_roberta,
)

FAMILIES: tuple[Family, ...] = (
    bert.BERT,
    roberta.ROBERTA,
    xlm_roberta.XLM_ROBERTA,
    electra.ELECTRA,
    albert.ALBERT,
    openai_gpt.OPENAI_GPT,
    modernbert.MODERNBERT,
    splinter.SPLINTER,
    spanwise.SPANWISE,
)
BY_MODEL_TYPE = {family.model_type: family for family in FAMILIES}
BY_CLASS = {name: family for family in FAMILIES for name in family.architectures}
