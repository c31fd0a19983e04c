"""Labelled files as text, as JSON and as tables, and which task a file looks like."""
