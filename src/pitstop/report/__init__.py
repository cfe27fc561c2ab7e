"""Documents turned into text, tables, plots and pages; returns strings, prints nothing."""
