"""Objectives, one per file: each says what is learned from a pack."""

from spanwise.pretraining.objectives.causal_lm import CausalLM, CausalLMTargets
from spanwise.pretraining.objectives.masked_lm import MaskedLM, MaskedLMTargets
from spanwise.pretraining.objectives.pair_label import NextSentence, PairTargets, SentenceOrder
from spanwise.pretraining.objectives.replaced_token import ReplacedToken, ReplacedTokenTargets
from spanwise.pretraining.objectives.span_boundary import SpanBoundary, SpanBoundaryTargets
from spanwise.pretraining.objectives.span_selection import SpanSelection, SpanSelectionTargets
