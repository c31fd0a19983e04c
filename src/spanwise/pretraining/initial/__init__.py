"""How fresh weights begin: what a recipe may ask of them, and what the text itself can say before the first step."""
