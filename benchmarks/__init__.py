"""Speed, as ratios against a reference in the same run. Nothing here is a test."""
