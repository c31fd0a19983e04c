"""Hidden states of the loaded encoder against those of transformers, on real paragraphs of many lengths.

usage: equal.py MINILM_FOLDER TEXT_FILE OUT_JSON
"""

import json
import sys
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

import spanwise

folder, text, out = map(Path, sys.argv[1:])
paragraphs = [line for line in text.read_text(encoding="utf-8").splitlines() if line.strip()][:48]
ours = spanwise.load(folder)
theirs, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)

largest, total, tokens, lengths = 0.0, 0.0, 0, []
with torch.inference_mode():
    for first in range(0, len(paragraphs), 8):
        batch = tokenizer(
            paragraphs[first : first + 8], padding=True, truncation=True, max_length=512, return_tensors="pt"
        )
        real = batch["attention_mask"].bool()
        expected = theirs(**batch).last_hidden_state[real]
        found = ours(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])[real]
        difference = (found - expected).abs()
        largest, total = max(largest, float(difference.max())), total + float(difference.mean()) * len(expected)
        tokens += len(expected)
        lengths += real.sum(dim=1).tolist()

record = {
    "paragraphs": len(paragraphs),
    "tokens": tokens,
    "longest": max(lengths),
    "max_abs_difference": largest,
    "mean_abs_difference": total / tokens,
    "missing": list(ours.report.missing),
    "unexpected": list(ours.report.unexpected),
}
assert largest < 1e-5, record
out.write_text(json.dumps(record, indent=1) + "\n")
print(record)
