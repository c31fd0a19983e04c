"""Coreference: which mentions of a document speak of the same thing."""
