"""How an engine is started and stopped: process, docker, script, compose, systemd."""
