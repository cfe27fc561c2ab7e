"""The box itself: what is wrong with it, the files that put it right, and how they are taken back."""
