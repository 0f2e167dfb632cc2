"""The commands, a file each, named as the command and its function. What they share is in `terminal`."""
