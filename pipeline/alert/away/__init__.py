"""What whoever sends does while the inbox or the ledger is away."""
