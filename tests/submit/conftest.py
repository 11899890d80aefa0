"""A marketplace before a running sandbox, over real mutual TLS."""

from tests.support.marketplace import _sandbox, marketplace, platform

__all__ = ["_sandbox", "marketplace", "platform"]
