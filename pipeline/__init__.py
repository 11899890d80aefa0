"""Prazo's pipeline: from the platform's webhook to a row on a page, and from a payload to a PUT.

Inwards, step by step:

1. `receiver.py` takes `POST /webhooks`; `authenticity.py` says whether the caller may.
2. `contract.py` reads the bytes, which decides only what kind of entry they become.
3. `inbox/` makes the entry durable in one group commit; only then is 200 answered.
   `occurrences.py` gives the entry its canonical leaf.
4. `follower.py` drains the inbox into the DuckDB log of `ledger.py`, the facts that `facts.py`
   reads out of each entry, and the Merkle tree of `tree.py`: one transaction a batch.
5. `views.py` runs the SQL under `queries/`, where every rule of state and date lives.
6. `api.py`, `cli/` and the pages show the rows; `service.py` keeps the one ledger of a process.

Outwards, from a seller's answer to the platform's:

1. `collecting.py` takes occurrences of a collection; `artifacts.py` keeps what proves them.
2. A payload comes in by the command, by `sending.submit`, or by the platform's own path on the
   receiver (`gateway.py`). `casefile.py` runs the same SQL over that process's own entries.
3. `rules.py` checks the payload against process and evidence; `tries.py` and `submission.py` say
   whether an attempt may start now.
4. `submission.py` logs the start, `platform.py` sends the PUT over mTLS, and the end is logged.
   `sending.py` sends again what waits for a retry.

For an audit: `evidence.py` makes packages, `verify.py` judges them anywhere, `audit.py` judges the
stores themselves.
"""
