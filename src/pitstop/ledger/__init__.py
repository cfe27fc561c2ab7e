"""The database of runs, trials, incidents, exposure and pins."""
