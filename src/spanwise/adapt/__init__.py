"""Going on with an encoder that exists, on a person's own text: what is kept is better there, or the start."""
