"""The world around the platform: a simulated marketplace, its sellers and their history."""
