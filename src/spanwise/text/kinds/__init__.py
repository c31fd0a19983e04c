"""One kind of tokenizer a file: its pipeline as the family's authors have it, and how a vocabulary of it is learned."""
