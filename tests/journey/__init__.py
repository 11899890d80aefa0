"""The seller's own page, asked as a browser and as an attacker asks it."""
