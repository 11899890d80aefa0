"""A marketplace before a running sandbox, and a receiver of ours in between."""

from tests.gateway.client import gateway
from tests.marketplace import _sandbox, marketplace, platform

__all__ = ["_sandbox", "gateway", "marketplace", "platform"]
