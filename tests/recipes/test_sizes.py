from spanwise.nn.encoder import Encoder
from spanwise.recipes import sizes


def test_base_has_bert_bases_parameters():
    """Layers of BERT-base: 85,054,464 parameters."""
    config = sizes.BASE.for_vocabulary(300)
    layers = sum(parameter.numel() for parameter in Encoder(config).layers.parameters())
    assert layers == 12 * (4 * (768 * 768 + 768) + 2 * 768 * 3072 + 3072 + 768 + 4 * 768)
