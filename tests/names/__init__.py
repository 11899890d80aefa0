"""Names of people and tokens: which look alike, and which are our own."""
