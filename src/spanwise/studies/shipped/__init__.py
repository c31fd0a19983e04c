"""The studies that come with the package: one question per file."""
