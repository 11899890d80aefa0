"""Four eyes: acts that wait for a second person, where the settings ask for it."""
