"""MLM and SBO losses on held-out text, every hidden token behind [MASK], beside counting baselines.

usage: held_out.py MINILM_FOLDER OUT_FOLDER
"""

import json
import sys
from pathlib import Path

from recipe import mlm_sbo

from spanwise.data.token_store import TokenStore
from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.baselines import NeighbourBaseline
from spanwise.pretraining.comparison import baseline_scores
from spanwise.pretraining.measure import facts_of, score_hidden
from spanwise.pretraining.system import continue_model, validation_source
from spanwise.training.statistics import clustered_mean

minilm, out = map(Path, sys.argv[1:])
packs = list(validation_source(mlm_sbo(), TokenStore.open(out / "valid")).epoch_masked())
facts = facts_of(packs)
baselines = baseline_scores(NeighbourBaseline.from_store(TokenStore.open(out / "store")), facts)
columns = {name: {"": scores} for name, scores in baselines.items()}
for name, folder in (
    ("as-it-came", minilm),
    ("trained-on", out / "trained-on" / "final"),
    ("trained-on-gently", out / "trained-on-gently" / "final"),
    ("trained-on-at-two-rates", out / "trained-on-at-two-rates" / "final"),
):
    columns[name] = score_hidden(continue_model(mlm_sbo(), read_folder(folder))[0], packs)

record = {"hidden_tokens": len(facts.original_ids), "sequences": len(set(facts.sequence.tolist()))}
for name, heads in columns.items():
    for head, scores in heads.items():
        for key, values in (("loss", scores.losses), ("accuracy", 100.0 * scores.correct)):
            mean = clustered_mean(values, facts.sequence)
            record[" ".join(filter(None, (name, head, key)))] = {"value": mean.value, "se": mean.standard_error}
(out / "held_out.json").write_text(json.dumps(record, indent=1) + "\n")
