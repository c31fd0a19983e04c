"""Going on with an encoder that exists, on a person's own text: better there, and never worse than it came."""
