"""The OpenAI-compatible front: keys, aliases, defaults, fallback, the held door."""
