"""Errors, units, configuration, documents and durable files: what every other room stands on."""
