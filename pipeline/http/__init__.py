"""What all our HTTP listeners share: requests, servers, tokens, and the ledger holder's address."""
