"""Objectives, one per file: each says what is learned from a pack."""

from spanwise.pretraining.objectives.causal_lm import CausalLM
from spanwise.pretraining.objectives.masked_lm import MaskedLM
from spanwise.pretraining.objectives.pair_label import NextSentence, SentenceOrder
from spanwise.pretraining.objectives.replaced_token import ReplacedToken
from spanwise.pretraining.objectives.span_boundary import SpanBoundary
from spanwise.pretraining.objectives.span_selection import SpanSelection
