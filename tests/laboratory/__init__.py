"""A laboratory: the whole system under faults that follow from a seed, and a journal of it.

    stable      starts the product's processes: forks that repeat no imports
    world       the parts: receivers, ledger, resumers, platform, networks, stores, machines
    faults      what can break, and how it is healed
    operations  what is asked of the system, and what it may answer
    journal     what was asked, what was answered, and when
    promises    what must be true of log, platform and views, whatever happened
    experiment  a run: operations and faults drawn from a seed, promises checked after each

`PRAZO_LAB_SEED=7 python -m tests.laboratory --engine postgres` repeats a run.
"""
