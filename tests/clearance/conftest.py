"""A marketplace before a running sandbox, for overrides."""

from tests.support.marketplace import _sandbox, marketplace, platform

__all__ = ["_sandbox", "marketplace", "platform"]
