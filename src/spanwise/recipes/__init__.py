"""Every system as one readable function; `find("spanbert-base")` or `find("my_recipes.py:my_function")`."""

from spanwise.recipes.albert import (
    albert_base,
    albert_base_not_shared,
    albert_base_shared_attention,
    albert_base_shared_feed_forward,
    albert_large,
    albert_mini,
    albert_small,
    albert_xlarge,
    albert_xxlarge,
)
from spanwise.recipes.bert import (
    bert_base,
    bert_base_whole_word,
    bert_large,
    bert_large_whole_word,
    bert_mini,
    bert_small,
)
from spanwise.recipes.catalogue import families, find, names
from spanwise.recipes.crosses import albert_spans_mini, electra_spans_mini, spanbert_recurring_mini
from spanwise.recipes.electra import electra_base, electra_large, electra_mini, electra_small
from spanwise.recipes.gpt import gpt1, gpt1_mini, gpt1_small
from spanwise.recipes.roberta import (
    roberta_base,
    roberta_base_doc_sentences,
    roberta_base_segment_pair,
    roberta_base_sentence_pair,
    roberta_large,
    roberta_mini,
    roberta_small,
)
from spanwise.recipes.spanbert import (
    spanbert_base,
    spanbert_base_original,
    spanbert_large,
    spanbert_large_original,
    spanbert_mini,
    spanbert_nano,
    spanbert_quickstart,
    spanbert_small,
    spanbert_tiny,
)
from spanwise.recipes.spanbert_ablations import (
    spanbert_ablation_bert_single_sequence,
    spanbert_ablation_geometric_spans,
    spanbert_ablation_named_entities,
    spanbert_ablation_noun_phrases,
    spanbert_ablation_single_sequence,
    spanbert_ablation_single_sequence_sbo,
    spanbert_ablation_subword_tokens,
    spanbert_ablation_whole_words,
)
from spanwise.recipes.spanbert_ko import (
    spanbert_ko_base,
    spanbert_ko_mini,
    spanbert_ko_small,
    spanbert_ko_tiny,
    spanbert_nano_ko,
    spanbert_quickstart_ko,
)
from spanwise.recipes.spanbert_modern import spanbert_modern_base, spanbert_modern_mini, spanbert_modern_small
from spanwise.recipes.splinter import (
    spanbert_selection_mini,
    spanbert_selection_mixture_mini,
    spanbert_selection_small,
    splinter_base,
    splinter_base_original,
    splinter_ko_mini,
    splinter_mini,
    splinter_second_phase,
    splinter_small,
)
