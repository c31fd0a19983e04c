"""Coreference: CoNLL F1 and the F1 of mentions after a short fine-tuning."""

from spanwise.studies.probes import CoreferenceProbe
from spanwise.studies.probes.coreference import coreference_files


def test_a_short_fine_tuning_has_both_scores(context_of):
    probe = CoreferenceProbe(num_epochs=1, head_size=8)
    found = probe.measure(context_of(probe))
    assert set(found) == {"conll_f1", "mentions_f1"} and all(0 <= value <= 100 for value in found.values())


def test_both_parts_of_a_corpus_are_asked_for_with_their_source():
    files = coreference_files("litbank")
    assert files["dev"].patterns[0] == "coref/litbank/dev*" and "dbamman/litbank" in files["train"].how
    assert "amir-zeldes/gum" in coreference_files("ontogum")["dev"].how
