"""Who comes in: codes sent apart, browsers that have a session, and whoever knocks in vain."""
