"""An HTTP server of fine-tuned models, and the page that it shows; `spanwise serve` starts it (extra `serve`)."""
