"""Models over a whole corpus: one file of answers, names, clusters and relations, with their places in the text."""
