"""Acts that wait for a second person."""
