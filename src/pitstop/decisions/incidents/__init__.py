"""What broke: from log lines, exit states, kernel lines and guard logs to one incident per failure. Pure."""
