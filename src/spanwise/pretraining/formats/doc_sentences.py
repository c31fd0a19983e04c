"""RoBERTa's DOC-SENTENCES: whole sentences of one document, [CLS] text [SEP].

Source: Liu et al. 2019 (RoBERTa), section 4.2 and Table 2.
"""

from __future__ import annotations

from spanwise.config import part
from spanwise.pretraining.formats.single_segment import SingleSegment


@part("doc_sentences")
class DocSentences(SingleSegment):
    """`SingleSegment` under the name that RoBERTa's comparison of formats gives it.

    Blocks at the end of a document are short. The paper enlarges the batch there to keep its number of tokens; here
    packs are filled by tokens, so that comes by itself.
    """
