"""Losses that heads share, and the sum that every head gives."""
