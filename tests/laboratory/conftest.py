"""The simulated platform and the database server, shared by all runs."""

from tests.support.marketplace import _sandbox, platform
from tests.support.postgres import database, postgres

__all__ = ["_sandbox", "database", "platform", "postgres"]
