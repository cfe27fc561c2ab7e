"""What is known of each engine's memory: from its command, its checkpoint, its log, and the boots of this box."""
