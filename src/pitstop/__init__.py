"""Change the engine under a live LLM server: measured honestly, guarded, and always put back."""

__version__ = "0.1.0"
