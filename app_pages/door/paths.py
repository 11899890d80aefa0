"""Knows the address under which a proxy may serve the dashboard (`server.baseUrlPath`), so that
nothing else compares paths as they came."""

from streamlit import config


def base() -> str:
    """`/prazo`, or nothing where the dashboard has a host of its own."""
    told = (config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{told}" if told else ""


def within(path: str) -> str:
    """A request's path below the dashboard's address; one beside it stays as it is."""
    address = base()
    if address and path.startswith(f"{address}/"):
        return path.removeprefix(address)
    return path
