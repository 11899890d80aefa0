"""What a process that sends alerts does while the inbox or the ledger is away."""
