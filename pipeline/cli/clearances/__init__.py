"""The commands of what waits for a second person."""
