"""Commands that make other folders of a model's folder, or hand it on."""
