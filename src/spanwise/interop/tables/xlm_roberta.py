"""XLM-RoBERTa in Hugging Face folders: RoBERTa under another name, with a vocabulary of a hundred languages.

Source: Conneau et al. 2020, section 3.1; Hugging Face `XLMRobertaForMaskedLM` and the other `XLMRoberta...` classes,
whose tensors are called `roberta.*` too.
"""

from dataclasses import replace

from spanwise.interop.family import usual_classes
from spanwise.interop.tables import roberta

XLM_ROBERTA = replace(
    roberta.ROBERTA,
    model_type="xlm-roberta",
    label="XLM-RoBERTa",
    architectures=usual_classes("XLMRoberta", pooled=("multiple_choice",), only_gelu=True),
)
