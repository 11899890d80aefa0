"""One receiver for all tests of a module; every test has a seller and a process of its own."""

from tests.gateway.conftest import _sandbox, gateway, marketplace, platform, served

__all__ = ["_sandbox", "gateway", "marketplace", "platform", "served"]
