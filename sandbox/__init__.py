"""A simulated payment platform: the other side of the contract, for the demo and the tests.

    people -> records -> judge -> platform         what the platform knows, and how it decides
    certificates, faults, webhooks -> server       the same over real HTTP and mutual TLS
    marketplace -> history -> live                 a believable past, and its continuation

It imports nothing of the product, and signs and judges on its own: a bug that both shared would
cancel out and be seen by nobody.
"""

from sandbox.server import Handle, running

__all__ = ["Handle", "running"]
