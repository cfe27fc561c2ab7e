"""quality: 28 tasks whose right answers are computed, and the judging of what a model says to them."""
