"""Relation extraction: how two mentions of a sentence are related."""
