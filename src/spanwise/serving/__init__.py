"""Models where other programs ask for them: an HTTP server and the page that it shows, and components for spaCy."""
