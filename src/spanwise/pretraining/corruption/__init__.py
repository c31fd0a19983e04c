"""Corruptions, which stand between a batch and the encoder: none, or a generator that writes into the hidden places."""

from spanwise.pretraining.corruption.base import Corruption, Symbols
from spanwise.pretraining.corruption.generator import Generator
