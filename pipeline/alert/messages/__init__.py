"""What people are told: the words and links of a message, and the channels that carry it."""
