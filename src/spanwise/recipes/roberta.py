"""RoBERTa (Liu et al. 2019): full sentences, new masks at every presentation, MaskedLM alone.

Numbers: Liu et al. 2019, sections 3 to 5 and table 9.
"""

from dataclasses import replace

from spanwise.pretraining.formats import DocSentences, FullSentences, SegmentPair
from spanwise.pretraining.masking import Replacement, SubwordTokens
from spanwise.pretraining.objectives import MaskedLM, NextSentence
from spanwise.pretraining.recipe import LearnedTokenizer, PackedBatch, PretrainingRecipe
from spanwise.recipes import sizes
from spanwise.recipes.differences import ATTENTION_DROPOUT
from spanwise.recipes.one_machine import one_machine
from spanwise.training.plan import TrainingOptions

_PAPER = (
    ATTENTION_DROPOUT,
    "A sentence is cut only where it is longer than a block; the order of text is that of the files.",
)
_TABLE_2 = "As in Table 2 of the paper: BERT's 256 sequences a step, 1 M steps, peak rate 1e-4."


def roberta_base() -> PretrainingRecipe:
    """12 layers x 768, 500 k steps of 8192 x 512 tokens, peak rate 6e-4 (table 9)."""
    return PretrainingRecipe(
        name="roberta-base",
        tokenizer=LearnedTokenizer(kind="byte-bpe", vocab_size=50_265, cased=True),
        encoder=replace(sizes.BASE, num_token_types=1, position_offset=2, norm_eps=1e-5),
        format=FullSentences(max_length=512),
        masking=SubwordTokens(ratio=0.15),
        replacement=Replacement(mask=0.8, random=0.1, keep=0.1, unit="token", random_law="uniform"),
        objectives={"mlm": MaskedLM()},
        batch=PackedBatch(tokens_per_step=4_194_304, max_tokens=16_384),
        training=TrainingOptions(
            learning_rate=6e-4, warmup_steps=24_000, max_steps=500_000, adam_beta2=0.98, max_grad_norm=0.0
        ),
        differences=_PAPER,
    )


def roberta_large() -> PretrainingRecipe:
    """24 layers x 1024, peak rate 4e-4 after 30 k steps (table 9)."""
    base = roberta_base()
    shape = replace(sizes.LARGE, num_token_types=1, position_offset=2, norm_eps=1e-5)
    training = replace(base.training, learning_rate=4e-4, warmup_steps=30_000)
    return replace(base, name="roberta-large", encoder=shape, training=training)


def roberta_base_doc_sentences() -> PretrainingRecipe:
    """Blocks that end with their document (DOC-SENTENCES, table 2)."""
    return _table_2("roberta-base-doc-sentences", format=DocSentences(max_length=512))


def roberta_base_segment_pair() -> PretrainingRecipe:
    """BERT's pairs of segments, with NSP (SEGMENT-PAIR+NSP, table 2)."""
    return _pairs("roberta-base-segment-pair", SegmentPair(max_length=512))


def roberta_base_sentence_pair() -> PretrainingRecipe:
    """Pairs of single sentences, with NSP (SENTENCE-PAIR+NSP, table 2)."""
    return _pairs("roberta-base-sentence-pair", SegmentPair(max_length=512, sentences="one"))


def roberta_small() -> PretrainingRecipe:
    """4 layers x 512 for one machine."""
    return one_machine(roberta_base(), "roberta-small", sizes.SMALL, vocab_size=16_000, learning_rate=2e-3)


def roberta_mini() -> PretrainingRecipe:
    """4 layers x 256 for one machine."""
    return one_machine(roberta_base(), "roberta-mini", sizes.MINI, vocab_size=16_000, learning_rate=4e-3)


def _table_2(name: str, **parts) -> PretrainingRecipe:
    base = roberta_base()
    return replace(
        base,
        name=name,
        batch=PackedBatch(tokens_per_step=131_072, max_tokens=16_384),
        training=replace(base.training, learning_rate=1e-4, warmup_steps=10_000, max_steps=1_000_000),
        differences=(*base.differences, _TABLE_2),
        **parts,
    )


def _pairs(name: str, pairs: SegmentPair) -> PretrainingRecipe:
    shape = replace(roberta_base().encoder, pooler=True)
    return _table_2(name, format=pairs, encoder=shape, objectives={"mlm": MaskedLM(), "nsp": NextSentence()})
