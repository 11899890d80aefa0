"""One receiver for all tests of a module; every test has a seller and a process of its own."""

from tests.support.gateway import gateway, marketplace, served
from tests.support.marketplace import _sandbox, platform

__all__ = ["_sandbox", "gateway", "marketplace", "platform", "served"]
