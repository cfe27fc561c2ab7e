"""The watchdog: asks production for one generated token, keeps strikes, saves evidence, restarts."""
