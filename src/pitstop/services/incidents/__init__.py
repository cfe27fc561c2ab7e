"""Logs and states from files, incidents into the ledger, and the counts that tell whether something is fixed."""
