"""The long-running jobs: trial, bench, guard, watchdog, demo."""
