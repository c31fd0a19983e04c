"""Questions made from text by rules, without labels."""
