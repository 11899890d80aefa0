"""The seller's own page: a link, one question a screen, and every step in the log as it happens."""
