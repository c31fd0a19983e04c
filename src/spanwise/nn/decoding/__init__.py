"""A causal model that writes: keys and values of what it has read stay, and the next token is chosen."""
