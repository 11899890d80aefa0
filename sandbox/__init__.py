"""A simulated payment platform: the other side of the contract, for the demo and the tests.

    people, records -> judge -> platform            what the platform knows, and how it decides
    faults, webhooks, door, control -> service      the same in one event loop, over HTTP
    certificates -> server                          on real sockets, behind mutual TLS
    screens -> marketplace, stories -> history      a believable past, lived through
    live                                            and its continuation

It imports nothing of the product, and signs and judges on its own: a bug that both shared would
cancel out and be seen by nobody.

    with sandbox.running(webhooks_to=url) as platform: ...
    python -m sandbox --help
"""

from sandbox.server import Handle, running

__all__ = ["Handle", "running"]
