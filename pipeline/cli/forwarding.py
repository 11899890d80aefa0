"""Commands of passing deliveries on to the marketplace's endpoints: forward."""

from pipeline.cli.group import main
from pipeline.errors import SettingsError
from pipeline.settings import Settings


@main.group()
def forward() -> None:
    """Pass deliveries on to the marketplace's own endpoints (docs/forwarding.md).

    Example: prazo forward run
    """


@forward.command()
def run() -> None:
    """Pass on until SIGTERM; `prazo serve` does it where PRAZO_FORWARD_FILE is set.

    Example: prazo forward run
    """
    from pipeline.forward import forwarder

    forwarder.run_for_ever(_settings())


def _settings() -> Settings:
    """Raises `SettingsError` where there are no endpoints."""
    settings = Settings.load()
    if settings.forward_file is None:
        raise SettingsError(
            "There is nobody to pass deliveries on to",
            "PRAZO_FORWARD_FILE is not set",
            "name the file of the endpoints with it; docs/forwarding.md says what stands in it",
        )
    return settings
