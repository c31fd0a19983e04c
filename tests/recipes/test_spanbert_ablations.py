"""Each ablation changes what its row of table 6 or 7 says, and nothing else."""

import pytest

from spanwise import recipes
from spanwise.config import difference
from spanwise.pretraining.masking import GeometricSpans, SubwordTokens, TaggedPhrases, WholeWords

TABLE_6 = {
    "subword-tokens": SubwordTokens,
    "whole-words": WholeWords,
    "named-entities": TaggedPhrases,
    "noun-phrases": TaggedPhrases,
    "geometric-spans": GeometricSpans,
}


@pytest.mark.parametrize("name", TABLE_6)
def test_the_rows_of_table_6_differ_in_masking_alone(name):
    row, last = recipes.find(f"spanbert-ablation-{name}"), recipes.spanbert_ablation_geometric_spans()
    assert isinstance(row.masking, TABLE_6[name]) and row.masking.ratio == 0.15
    changed = {path.split(".")[0] for path, _, _ in difference(row, last)}
    assert changed <= {"name", "masking", "replacement", "differences"}
    assert set(row.objectives) == {"mlm", "nsp"} and row.training.max_steps == 1_200_000


def test_half_of_the_phrase_schemes_are_whole_words():
    entities, nouns = recipes.spanbert_ablation_named_entities(), recipes.spanbert_ablation_noun_phrases()
    assert (entities.masking.tags, nouns.masking.tags) == ("entities", "noun-phrases")
    assert entities.masking.phrase_share == nouns.masking.phrase_share == 0.5


def test_the_rows_of_table_7_add_one_thing_each():
    pairs = recipes.spanbert_ablation_geometric_spans()
    single = recipes.spanbert_ablation_single_sequence()
    boundary = recipes.spanbert_ablation_single_sequence_sbo()
    assert [set(r.objectives) for r in (pairs, single, boundary)] == [{"mlm", "nsp"}, {"mlm"}, {"mlm", "sbo"}]
    assert pairs.masking == single.masking == boundary.masking
    assert {path.split(".")[0] for path, _, _ in difference(single, boundary)} == {"name", "objectives", "differences"}
    changed = {path.split(".")[0] for path, _, _ in difference(pairs, single)}
    assert changed == {"name", "format", "encoder", "objectives"}


def test_the_single_sequence_control_of_section_4_3_has_neither_spans_nor_pairs():
    control = recipes.spanbert_ablation_bert_single_sequence()
    assert isinstance(control.masking, SubwordTokens) and set(control.objectives) == {"mlm"}
