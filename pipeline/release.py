"""Says which release of Prazo this is."""

import functools
from importlib import metadata


@functools.cache
def release() -> str:
    """Its version, such as 1.2.0, by which the changelog names it."""
    return metadata.version("prazo")
