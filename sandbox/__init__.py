"""A simulated payment platform: the other side of the contract, for the demo and the tests.

    people, clock -> records                 who sellers are, and what the platform keeps of them
    platform/  judge -> state_machine        how it decides, and what it does as time goes by
               onboarding, faults, webhooks  what else it does, and what it does wrong
               -> service                    all of that in one event loop
               -> api, control               over HTTP: what clients call, what tests steer it by
               certificates, credentials     for mutual TLS, and beside it
    market/    screens -> marketplace        sellers and their marketplace, who answer the platform
               stories -> history, live      a believable past, lived through, and its continuation
    server -> __main__                       both on real sockets

It imports nothing of the product, and signs and judges on its own: a bug that both shared would
cancel out and be seen by nobody.

    with sandbox.running(webhooks_to=url) as platform: ...
    python -m sandbox --help
"""

from sandbox.server import Handle, running

__all__ = ["Handle", "running"]
