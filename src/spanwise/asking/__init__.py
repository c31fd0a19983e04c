"""Questions asked of a folder of text: an index finds passages, a reader finds answers in them."""
