"""The commands, a file each; `cli` registers them. What they share is in `terminal`."""
