"""Documents as lines of text, each with its place: one file per format."""
