"""Benchmarks: ratios to a ceiling or a peer measured in the same run, since machines differ.

`make bench`, or `python -m tests.benchmarks [NAME...]`. Each module here that has a
`run() -> list[Row]` is one; its rounds alternate between the contestants, and medians count,
because other work on the machine comes and goes.
"""
