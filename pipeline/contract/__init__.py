"""What the platform sends and accepts: events, bodies, fields and paths of the contract. No I/O."""
