"""Tries the TLS handshake with the platform alone: no request, so nothing can change there."""

import socket
import ssl
from typing import Final
from urllib.parse import urlsplit

from pipeline.http.outgoing import proxies
from pipeline.submit.platform.certificate_asked import OurCertificate
from pipeline.submit.platform.connections import Connections

HTTPS_PORT: Final = 443
QUIET_SECONDS: Final = 1.0
"""How long a platform stays silent that has taken our certificate: it waits for our request."""


def refusal(connections: Connections, url: str, seconds: float) -> str | None:
    """Why the platform at an https URL refuses the handshake, or we do; None where neither does.

    Blocks for at most so many seconds, and `QUIET_SECONDS`. Raises `OSError` where no connection
    comes about. Some servers hang up without the alert that TLS asks of them: one that asked for
    our certificate, and does so before any request, has refused it.
    """
    address = urlsplit(url)
    host = address.hostname or ""
    port = address.port or HTTPS_PORT
    proxy = connections.proxy
    with (
        socket.create_connection((host, port), timeout=seconds)
        if proxy is None
        else proxies.tunnel(proxy, host, port, seconds)
    ) as raw:
        try:
            connection = connections.context.wrap_socket(
                raw, server_hostname=host, do_handshake_on_connect=False
            )
        except ConnectionError:  # it hung up before the handshake could begin
            return None
        with connection:
            try:
                connection.do_handshake()
                connection.settimeout(QUIET_SECONDS)
                if connection.recv(1):
                    return None
            except TimeoutError:
                return None
            except ssl.SSLError as error:
                return words(error)
            except ConnectionError:
                pass
            if connections.handshakes.of(connection) is OurCertificate.NOT_ASKED:
                return None
    return "the platform hung up before any request, as where it does not take our certificate"


def words(error: ssl.SSLError) -> str:
    """Why a handshake failed, for a person to read."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the platform's certificate is not trusted: {error.verify_message}"
    reason = (error.reason or str(error)).replace("_", " ").lower()
    if not is_alert(error):
        return f"the TLS handshake failed: {reason}"
    alert = reason.partition("alert ")[2]
    return f"the platform ended the TLS handshake: {alert}"


def is_alert(error: ssl.SSLError) -> bool:
    """Whether the other side said why it ends the connection."""
    return "ALERT" in (getattr(error, "reason", None) or "")
