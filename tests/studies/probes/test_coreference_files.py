"""Both corpora are looked for by name, and each says where it comes from."""

from spanwise.studies.probes.coreference_files import coreference_files


def test_both_parts_of_a_corpus_are_asked_for_with_their_source():
    files = coreference_files("litbank")
    assert files["dev"].patterns[0] == "coref/litbank/dev*" and "dbamman/litbank" in files["train"].how
    assert "amir-zeldes/gum" in coreference_files("ontogum")["dev"].how
