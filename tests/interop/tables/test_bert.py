from tests.nn.toy import toy_config
from transformers import BertConfig, BertForPreTraining, BertForQuestionAnswering

from spanwise.interop.tables import bert

SHAPE = dict(vocab_size=99, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64)


def test_every_parameter_of_the_stock_classes_has_exactly_one_line():
    key_map = bert.key_map(toy_config())
    lines = [*key_map.encoder, *key_map.pooler]
    for head in ("mlm", "nsp", "qa"):
        lines += key_map.heads[head]
    names = [theirs for line in lines for theirs in line.theirs]
    stock = {
        name
        for cls in (BertForPreTraining, BertForQuestionAnswering)
        for name, _ in cls(BertConfig(**SHAPE)).named_parameters()
    }
    assert len(names) == len(set(names))
    assert set(names) == stock - set(key_map.copies)
