"""The unattended A/B test: production down, variants up in turn, verdict, production back."""
