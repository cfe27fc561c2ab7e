"""Plots as inline SVG: pure functions from samples to markup; no script, and colours only from the page's theme."""
