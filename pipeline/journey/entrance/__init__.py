"""Who comes in: codes sent apart, browsers that have a session, and those that are refused."""
