"""Components for spaCy: `nlp.add_pipe("spanwise_coref")`; spaCy finds them by entry points of this package."""
