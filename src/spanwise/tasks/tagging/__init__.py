"""Tagging: entities, chunks and word classes."""
