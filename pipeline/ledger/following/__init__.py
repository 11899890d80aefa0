"""Following: carries entries from the inbox into the ledger, and recovers one from the other."""
