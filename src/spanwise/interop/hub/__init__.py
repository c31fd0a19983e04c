"""Model folders from the hub and to the hub, by huggingface_hub, whose settings (HF_ENDPOINT, HF_HOME, HF_HUB_OFFLINE,
HF_TOKEN) are respected as they are."""
