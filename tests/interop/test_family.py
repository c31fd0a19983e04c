from tests.nn.toy import toy_config

from spanwise.interop.family import KINDS, refuse_unless
from spanwise.interop.heads import TITLES
from spanwise.interop.tables import BY_CLASS, FAMILIES


def test_every_head_of_every_class_has_names_a_title_and_a_form_where_it_reads_sequences():
    for family in FAMILIES:
        key_map = family.key_map(toy_config(), {})
        for architecture in family.architectures.values():
            assert set(architecture.heads) <= key_map.heads.keys() & TITLES.keys()
            assert architecture.kind in KINDS
        assert {"classification", "multiple_choice"} == family.forms.keys()


def test_no_class_belongs_to_two_families_and_each_family_has_one_bare_class():
    names = [name for family in FAMILIES for name in family.architectures]
    assert len(names) == len(set(names)) == len(BY_CLASS)
    for family in FAMILIES:
        assert [a.kind for a in family.architectures.values()].count("encoder") == 1


def test_the_first_value_that_differs_is_named():
    config = toy_config(causal=True, position_offset=2)
    assert refuse_unless(config, embedding_norm=True, causal=False, position_offset=0) == "causal = True"
    assert refuse_unless(config, causal=True) is None
