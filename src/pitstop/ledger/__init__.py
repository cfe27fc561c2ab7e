"""The database of runs, trials, incidents, exposure and pins. `store.Ledger` is the door; see docs/design/ledger.md."""
