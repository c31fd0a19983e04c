from huggingface_hub import ModelCard
from tests.nn.toy import toy_config

from spanwise.interop.architectures import Choice
from spanwise.interop.model_card import write_model_card
from spanwise.interop.tables import BY_CLASS


def write(path, name, heads, **options):
    choice = Choice(family=BY_CLASS[name], name=name)
    write_model_card(path / "README.md", toy_config(), choice, heads, has_tokenizer=False, **options)
    return ModelCard.load(path / "README.md")


def test_the_card_is_one_that_hubs_read_and_names_heads_and_shape(tmp_path):
    card = write(tmp_path, "BertForMaskedLM", {"mlm": "masked language model", "sbo": "span boundary objective"})
    assert card.data.library_name == "transformers" and card.data.pipeline_tag == "fill-mask"
    assert card.data.tags == ["spanwise", "bert", "spanbert"]
    for words in ("span boundary objective", "3 layers", "vocabulary 99", "AutoModelForMaskedLM", "no tokenizer"):
        assert words in card.text


def test_the_card_lists_what_the_weights_learned_from_below_the_code(tmp_path):
    card = write(tmp_path, "BertForMaskedLM", {}, learned=["- a.txt (text).", "- b.json (qa)."])
    assert card.text.endswith("```\n\n## What it learned from\n\n- a.txt (text).\n- b.json (qa).\n")
    assert "learned from" not in write(tmp_path, "BertForMaskedLM", {}).text


def test_the_card_of_an_encoder_that_no_stock_class_computes_offers_none(tmp_path):
    card = write(tmp_path, "SpanwiseEncoder", {}, notes=["No class of Hugging Face computes this."])
    assert card.data.library_name == "spanwise" and card.data.tags == ["spanwise"]
    assert "No class of Hugging Face computes this." in card.text and "transformers" not in card.text
    assert 'spanwise.load("path/to/this/folder")' in card.text and "spanwise.pipeline" not in card.text
    answering = write(tmp_path, "SpanwiseEncoder", {}, pipeline="coreference")
    assert 'spanwise.pipeline("coreference", model="path/to/this/folder")' in answering.text
