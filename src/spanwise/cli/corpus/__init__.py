"""Commands that read a whole corpus with fine-tuned models."""
