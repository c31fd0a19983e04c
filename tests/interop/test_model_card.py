from huggingface_hub import ModelCard
from tests.nn.toy import toy_config

from spanwise.interop.model_card import write_model_card


def test_the_card_is_one_that_hubs_read_and_names_heads_and_shape(tmp_path):
    write_model_card(tmp_path / "README.md", toy_config(), "BertForMaskedLM", ["mlm", "sbo"], has_tokenizer=False)
    card = ModelCard.load(tmp_path / "README.md")
    assert card.data.library_name == "transformers" and card.data.pipeline_tag == "fill-mask"
    assert "spanbert" in card.data.tags
    for words in ("span boundary objective", "3 layers", "vocabulary 99", "AutoModelForMaskedLM", "no tokenizer"):
        assert words in card.text
