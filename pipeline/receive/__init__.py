"""The incoming half: it turns webhooks, collections and files of occurrences into entries."""
