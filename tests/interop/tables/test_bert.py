import pytest
from tests.interop.oracle import ORACLES
from tests.nn.toy import toy_config

from spanwise.interop.tables import bert


@pytest.mark.parametrize("name", [name for name in bert.BERT.architectures if name != "BertModel"])
def test_every_parameter_of_a_stock_class_has_exactly_one_line(name):
    ORACLES["bert"].assert_lines_are_the_parameters(bert.BERT, name, toy_config(pooler=True))


def test_names_of_the_original_span_boundary_head_are_known():
    names = {line.theirs[0] for line in bert.BERT.heads["sbo"]}
    assert "cls.pair_target_predictions.mlp_layer_norm.layer_norm1.gamma" in names and len(names) == 10
