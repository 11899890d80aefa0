"""Prazo's pipeline: from the platform's webhook to a row on a page, and from a payload to a PUT.

Inwards, step by step:

1. `receiver.py` takes `POST /webhooks`; `authenticity.py` says whether the caller may.
2. `contract.py` reads the bytes, which decides only what kind of entry they become.
3. `inbox.py` makes the entry durable in one group commit; only then is 200 answered.
   `occurrences.py` gives the entry its canonical leaf.
4. `ledger.py` follows the inbox into the DuckDB log, the typed facts that `facts.py` reads out
   of each entry, and the Merkle tree of `tree.py`: one transaction a batch.
5. `views.py` runs the SQL under `queries/`, where every rule of state and date lives.
6. `api.py`, `cli.py` and the pages show the rows; `service.py` keeps the one ledger of a process.

Outwards (a submission): `rules.py` checks the payload against the process and its evidence,
`submission.py` logs the start, sends the PUT over mTLS, and logs the end.
"""
