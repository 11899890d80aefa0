"""The log's records and their proof: entries, leaves, the Merkle tree and signed checkpoints."""
