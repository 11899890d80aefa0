"""One receiver for all tests of a module; every test has a seller and a process of its own."""

from tests.support.gateway import gateway, marketplace, served

__all__ = ["gateway", "marketplace", "served"]
