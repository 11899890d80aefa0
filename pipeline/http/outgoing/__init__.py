"""What we ask of others: bounded in time and size."""
