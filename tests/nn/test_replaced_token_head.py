import torch
from tests.nn.toy import toy_config
from transformers import ElectraConfig
from transformers.models.electra.modeling_electra import ElectraDiscriminatorPredictions

from spanwise.nn.replaced_token_head import ReplacedTokenHead


def test_scores_are_those_of_the_published_discriminator_head():
    config = toy_config()
    ours, theirs = ReplacedTokenHead(config), ElectraDiscriminatorPredictions(ElectraConfig(hidden_size=32))
    theirs.dense.load_state_dict(ours.dense.state_dict())
    theirs.dense_prediction.load_state_dict(ours.out.state_dict())
    hidden = torch.randn(7, 32, generator=torch.Generator().manual_seed(0))
    found = ours(hidden)
    assert found.shape == (7,) and found.dtype == torch.float32
    torch.testing.assert_close(found, theirs(hidden[None])[0], atol=1e-6, rtol=1e-5)
