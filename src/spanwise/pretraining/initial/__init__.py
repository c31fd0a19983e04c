"""The beginning of a run's weights: what a recipe may ask of them, and what the text itself can say before the first
step."""
