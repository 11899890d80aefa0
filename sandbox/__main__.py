"""`python -m sandbox`: runs the simulated platform alone, until it is stopped.

    python -m sandbox --folder /tmp/sandbox --webhooks-to http://127.0.0.1:8400/webhooks --live 30
    python -m sandbox --folder /tmp/sandbox --history /tmp/history.ndjson --live 30

It prints one line of JSON with the addresses and the files a client needs.
"""

import argparse
import json
import signal
import threading
from contextlib import ExitStack
from pathlib import Path

from sandbox.clock import wall_clock
from sandbox.market.endpoint import listening
from sandbox.market.history import Past
from sandbox.market.live import LIFELIKE
from sandbox.market.stories import MIN_DAYS, SCRIPTED
from sandbox.platform.webhooks import (
    Authentication,
    Basic,
    HeaderSecret,
    NoAuthentication,
    Signature,
)
from sandbox.server import Handle, running


def main() -> None:
    parser = _parser()
    terms = parser.parse_args()
    folder: Path = terms.folder
    folder.mkdir(parents=True, exist_ok=True)
    try:
        past = Past(
            wall_clock(),
            days=terms.days,
            sellers=terms.sellers,
            seed=terms.seed,
            artifacts=terms.artifacts,
        )
    except ValueError as error:
        parser.error(str(error))
    occurrences = past.occurrences()
    if terms.history:
        with terms.history.open("w", encoding="utf-8") as file:
            for occurrence in occurrences:
                file.write(json.dumps(occurrence, ensure_ascii=False) + "\n")
    else:
        for _ in occurrences:  # the run is needed anyway: live traffic needs its sellers
            pass

    stopped = threading.Event()
    is_kept = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # by nohup
    for name in (signal.SIGINT, signal.SIGTERM, *([] if is_kept else [signal.SIGHUP])):
        signal.signal(name, lambda *_: stopped.set())
    with running(
        folder=folder,
        platform=past.platform,
        webhooks_to=terms.webhooks_to,
        authentication=_authentication(terms.webhook_auth, terms.webhook_secret_file),
        manner=LIFELIKE,
        bad_certificates=terms.bad_certificates,
        port=terms.port,
        control_port=terms.control_port,
    ) as platform:
        if terms.live:
            token = terms.token_file.read_text().strip() if terms.token_file else None
            platform.go_live(
                past, events_per_minute=terms.live, receiver_url=terms.receiver, token=token
            )
        known = _what_a_client_needs(platform, folder)
        with ExitStack() as endpoints:
            if terms.endpoint_secret_file:
                secret = terms.endpoint_secret_file.read_text(encoding="ascii").strip()
                systems = endpoints.enter_context(listening(secret, folder))
                known["endpoint"] = systems.url
                known["mail_port"] = str(systems.mail_port)
                known["mail_authority"] = str(systems.mail_authority)
            print(json.dumps(known), flush=True)
            stopped.wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sandbox",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--folder", type=Path, required=True, help="for certificates and credentials")
    add("--port", type=int, default=0, help="of the platform's API (default: any)")
    add("--control-port", type=int, default=0, help="of the control endpoint (default: any)")
    add(
        "--bad-certificates",
        choices=("alert", "401"),
        default="alert",
        help="how a client without a good certificate is refused",
    )
    add("--webhooks-to", help="URL that events are delivered to")
    add(
        "--webhook-auth",
        choices=("none", "header", "basic", "hmac"),
        default="none",
        help="how deliveries are authenticated",
    )
    add(
        "--webhook-secret-file",
        type=Path,
        help="header: the secret; basic: user:password; hmac: whsec_...",
    )
    add("--history", type=Path, help="write the history there, one occurrence per line")
    add("--artifacts", type=Path, help="write the history's screens and logs into this folder")
    add(
        "--days",
        type=int,
        default=120,
        help=f"how far the history reaches back, {MIN_DAYS} at least",
    )
    add(
        "--sellers",
        type=int,
        default=400,
        help=f"how many sellers it has, {len(SCRIPTED)} at least",
    )
    add("--seed", type=int, default=7, help="the same seed gives the same history")
    add("--live", type=float, metavar="EVENTS", help="go on with so many events a minute")
    add("--receiver", help="base URL to which collections and submissions go while live")
    add("--token-file", type=Path, help="API token for the receiver")
    add(
        "--endpoint-secret-file",
        type=Path,
        help="whsec_...: listen as the marketplace's own systems, which take events and alerts",
    )
    return parser


def _authentication(form: str, secret_file: Path | None) -> Authentication:
    if form == "none":
        return NoAuthentication()
    if secret_file is None:
        raise SystemExit(f"--webhook-auth {form} needs --webhook-secret-file")
    secret = secret_file.read_text(encoding="utf-8").strip()
    if form == "header":
        return HeaderSecret(secret)
    if form == "hmac":
        return Signature(secret)
    username, _, password = secret.partition(":")
    return Basic(username, password)


def _what_a_client_needs(platform: Handle, folder: Path) -> dict[str, str]:
    """Writes secrets to files that only their owner can read, not to the screen."""
    secrets = {
        "basic_file": ("basic", f"{platform.credentials.username}:{platform.credentials.password}"),
        "bearer_file": ("bearer", platform.credentials.token),
    }
    files = {}
    for key, (name, secret) in secrets.items():
        path = folder / name
        path.touch(mode=0o600)
        path.chmod(0o600)
        path.write_text(secret + "\n", encoding="utf-8")
        files[key] = str(path)
    return {
        "url": platform.url,
        "control_url": platform.control_url,
        "marketplace_id": platform.marketplace_id,
        "authority": str(platform.certificates.authority),
        "client_certificate": str(platform.certificates.client.certificate),
        "client_key": str(platform.certificates.client.key),
        **files,
    }


if __name__ == "__main__":
    main()
