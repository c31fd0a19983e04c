"""Several stores in one run, each with its share of the tokens."""
