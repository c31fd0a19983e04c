"""Models where other programs ask for them."""
