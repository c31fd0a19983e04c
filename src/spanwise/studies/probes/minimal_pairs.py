"""Minimal pairs: does the model hold the grammatical sentence of two for the likelier one? Chance is 50 %.

Source: Warstadt et al. 2020 (BLiMP); Salazar et al. 2020 (pseudo-log-likelihood).
"""

from collections.abc import Mapping
from typing import ClassVar

from spanwise.config import part
from spanwise.config.ranges import Count
from spanwise.interop.checkpoint import build_encoder, build_head
from spanwise.interop.huggingface import read_folder
from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.pretraining.minimal_pairs import judge_minimal_pairs, read_minimal_pairs
from spanwise.studies.probes.base import Context, Figure, Figures, Material, ProbeFile
from spanwise.tasks.checkpoint import open_tokenizer


@part("minimal_pairs_probe")
class MinimalPairs:
    """Share of pairs judged right, by pseudo-log-likelihood under the MLM head. Computed on the CPU."""

    max_pairs: Count = 3_500  # evenly chosen from the file, so that all paradigms have a part

    name: ClassVar[str] = "minimal-pairs"
    what: ClassVar[str] = "BLiMP: grammatical sentences held for likelier than ungrammatical ones"
    needs_valid: ClassVar[bool] = False
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure(key="right", label="minimal pairs judged right", unit="%", better="higher"),
    )
    files: ClassVar[Mapping[str, ProbeFile]] = {
        "pairs": ProbeFile(
            patterns=("probes/blimp*.jsonl*", "blimp*.jsonl*"),
            what="BLiMP's pairs, JSON lines with sentence_good, sentence_bad and UID",
            how="It is the data folder of the GitHub repository alexwarstadt/blimp, its files one after another.",
        )
    }

    def measure(self, context: Context) -> Figures:
        checkpoint = read_folder(context.model)
        if not checkpoint.heads.get("mlm"):
            return {}
        pairs = read_minimal_pairs(context.material.files["pairs"])
        chosen = pairs[:: max(1, -(-len(pairs) // self.max_pairs))]
        encoder = build_encoder(checkpoint)
        head = build_head(checkpoint, "mlm", encoder)
        if not isinstance(head, MaskedLMHead):
            return {}
        right = judge_minimal_pairs(chosen, encoder, head, open_tokenizer(checkpoint, None))
        return {"right": 100 * float(right.mean())}

    def baselines(self, material: Material) -> dict[str, Figures]:
        read_minimal_pairs(material.files["pairs"])
        return {"chance": {"right": 50.0}}
