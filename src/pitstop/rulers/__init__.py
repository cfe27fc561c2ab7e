"""One measuring procedure per module, each with one definition."""
