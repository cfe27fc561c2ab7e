"""Two runs, one verdict per figure: pitstop's own, or both by the same other tool."""
