"""Streams requests: stamps times and keeps bytes on the way, parses afterwards."""
