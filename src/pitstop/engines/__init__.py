"""What an engine is once it runs: identity, readiness, counters, capabilities."""
