"""Compiled loops in place of chains of torch operators on a CPU, each equal to its plain form within rounding."""
