"""`prazo demo`: the whole product against the simulated platform, in a folder of its own."""

import hashlib
import json
import os
import secrets
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from pipeline import memory
from pipeline.cli import ports
from pipeline.cli.supervisor import Supervisor, parts
from pipeline.errors import OperatorError
from pipeline.http import addresses
from pipeline.inbox import Inbox, Receipt, open_inbox
from pipeline.inbox.artifacts.taking import Taking
from pipeline.log.entries import Draft
from pipeline.receive import ingest
from pipeline.settings import Settings

Say = Callable[[str], None]


def run(
    folder: Path,
    *,
    receiver_port: int | None,
    dashboard_port: int | None,
    events_per_minute: float,
    say: Say,
) -> int:
    """Runs until SIGTERM or Ctrl-C; its exit code. The folder is emptied first.

    Ports that are not given are those of the settings. Raises `OperatorError` where one of them is
    taken, before anything is emptied: that may be another demo in the same folder.
    """
    given = Settings.load(receiver_port=receiver_port, dashboard_port=dashboard_port)
    ports.check(
        ports.Wanted("receiver", given.receiver_host, given.receiver_port, "--port"),
        ports.Wanted("dashboard", given.dashboard_host, given.dashboard_port, "--dashboard-port"),
    )
    journey_port = ports.free(
        given.journey_host, given.journey_port, [given.receiver_port, given.dashboard_port]
    )
    _empty(folder)
    environment = _first_files(folder, given, journey_port)
    endpoint_secret = _secret_file(folder / "endpoint.secret", f"whsec_{_random_base64()}")
    os.environ.update(environment)
    settings = Settings.load()

    say("Starting the simulated platform and living through its last four months ...")
    platform, known = _start_sandbox(folder, settings, events_per_minute)
    try:
        say(f"The platform answers at {known['url']} (mutual TLS).")
        forward_file = _endpoints_file(folder / "forward.toml", known["endpoint"], endpoint_secret)
        alerts_file = _alerts_file(folder / "alerts.toml", settings, known, endpoint_secret)
        notices_file = _notices_file(folder / "notices.toml", known, endpoint_secret)
        environment |= {
            **_platform_environment(known),
            "PRAZO_FORWARD_FILE": str(forward_file),
            "PRAZO_ALERTS_FILE": str(alerts_file),
            "PRAZO_NOTICES_FILE": str(notices_file),
            "PRAZO_JOURNEY_CODE_URL": known["endpoint"],
            "PRAZO_JOURNEY_CODE_SECRET_FILE": str(endpoint_secret),
        }
        os.environ.update(environment)
        settings = Settings.load()
        recorded = _record_past(settings, folder / "history.ndjson")
        say(f"{recorded} occurrences of its past are in the inbox.")
        supervisor = Supervisor()
        for part in parts(settings):
            supervisor.add(part[0], [sys.executable, *memory.MODULE, "pipeline.cli", *part])
        _say_where(folder, settings, known["endpoint"], environment, say)
        return supervisor.run()
    finally:
        platform.terminate()
        platform.wait()


def _first_files(folder: Path, given: Settings, journey_port: int) -> dict[str, str]:
    """Writes secrets and tokens into the folder; the environment that leads commands to them."""
    secret = _secret_file(folder / "webhook.secret", f"whsec_{_random_base64()}")
    marketplace, analyst = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    tokens = _secret_file(
        folder / "api.tokens",
        f"marketplace:collect,submit:{_digest(marketplace)}\nanalyst:read:{_digest(analyst)}",
    )
    _secret_file(folder / "marketplace.token", marketplace)
    _secret_file(folder / "analyst.token", analyst)
    return {
        "PRAZO_INBOX": str(folder / "inbox.db"),
        "PRAZO_LEDGER": str(folder / "ledger.duckdb"),
        "PRAZO_ARTIFACTS": str(folder / "artifacts"),
        "PRAZO_SIGNING_KEY_FILE": str(folder / "keys" / "signing.key"),
        "PRAZO_TAXPAYER_KEY_FILE": str(folder / "keys" / "taxpayer.key"),
        "PRAZO_WEBHOOK_AUTH": "hmac",
        "PRAZO_WEBHOOK_SECRET_FILE": str(secret),
        "PRAZO_API_TOKENS_FILE": str(tokens),
        "PRAZO_RECEIVER_PORT": str(given.receiver_port),
        "PRAZO_DASHBOARD_PORT": str(given.dashboard_port),
        "PRAZO_JOURNEY_PORT": str(journey_port),
        "PRAZO_JOURNEY_URL": addresses.local(given.journey_host, journey_port),
        "PRAZO_JOURNEY_NAME": "Praça",
        "PRAZO_JOURNEY_SUBMIT": "auto",
    }


def _say_where(
    folder: Path, settings: Settings, endpoint: str, environment: Mapping[str, str], say: Say
) -> None:
    """Says where everything is, and writes the settings down for commands beside the demo."""
    dashboard = addresses.at(settings.dashboard_host, settings.dashboard_port)
    say(f"\n  Dashboard  {dashboard}")
    say(f"  Receiver   {addresses.at(settings.receiver_host, settings.receiver_port)}/webhooks")
    say(f"  Sent       {endpoint} shows alerts and seller notices, and what was passed on")
    say("  Sellers    open a process, make a link, answer it, and watch it become FINISHED")
    say("  Notices    `prazo notices start --backlog --actor YOU` writes to them by itself")
    lines = "".join(f"{name}={shlex.quote(value)}\n" for name, value in environment.items())
    file = _secret_file(folder / "demo.env", lines.rstrip())
    say(f"  Commands   set -a; . {shlex.quote(str(file))}; set +a; {_prazo()} show")
    token = shlex.quote(str(folder / "analyst.token"))
    say(
        f'  API        curl -H "Authorization: Bearer $(cat {token})"'
        f" {shlex.quote(f'{dashboard}/api/views')}"
    )
    say(
        "\nFrom now on webhooks arrive, sellers answer, and their reviews are submitted through"
        "\nthe gateway, some into the platform's faults; a few wait for somebody to send them, on"
        "\nSubmissions. Ctrl-C stops everything."
    )


def _prazo() -> str:
    """What to type for `prazo`: its name where the shell finds it, else where it lies."""
    script = Path(sys.executable).with_name("prazo")
    found = shutil.which("prazo")
    if found and Path(found).resolve() == script.resolve():
        return "prazo"
    if script.exists():
        return shlex.quote(str(script))
    return f"{shlex.quote(sys.executable)} -m pipeline.cli"


def _record_past(settings: Settings, history: Path) -> int:
    """Puts the history into the inbox; how many occurrences it has."""
    with closing(open_inbox(settings.inbox)) as inbox:
        artifacts = Taking.of(settings, inbox)
        return ingest.ingest(history, _LivedThrough(inbox), lambda _: None, artifacts).recorded


class _LivedThrough:
    """Records each occurrence as if at its own time: entered today, all evidence would be late."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def append(self, drafts: Sequence[Draft]) -> list[Receipt]:
        receipts = []
        for draft in drafts:
            self._inbox.clock = partial(int, draft.dated)
            receipts += self._inbox.append([draft])
        return receipts


def _empty(folder: Path) -> None:
    """Only a folder that a demo made is ever emptied."""
    mark = folder / ".prazo-demo"
    if folder.exists() and any(folder.iterdir()) and not mark.exists():
        raise OperatorError(
            f"{folder} was not made by a demo", "it is not empty", "name another with --folder"
        )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    mark.touch()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _secret_file(path: Path, content: str) -> Path:
    path.touch(mode=0o600)
    path.write_text(content + "\n", encoding="utf-8")
    return path


def _endpoints_file(path: Path, url: str, secret: Path) -> Path:
    """Who gets what comes while the demo runs."""
    given = {"name": "marketplace", "url": url, "secret_file": str(secret)}
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in given.items()]
    path.write_text("".join(["[[endpoint]]\n", *lines]), encoding="utf-8")
    return path


def _notices_file(path: Path, known: dict[str, Any], secret: Path) -> Path:
    """How sellers are notified in the demo, at whatever hour it runs, once somebody starts it."""
    path.write_text(
        f"""\
contact = "help@market.example, 0800 123 4567"
genuine = "https://market.example/review"

[hours]
days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
start = "00:00"
end = "23:59"
holidays = ""

[channels.whatsapp]
url = {json.dumps(known["endpoint"] + "notices")}
secret_file = {json.dumps(str(secret))}
""",
        encoding="utf-8",
    )
    return path


def _alerts_file(path: Path, settings: Settings, known: dict[str, Any], secret: Path) -> Path:
    """Who is told in the demo, at whatever hour it runs: an officer and an engineer by e-mail, and
    a program by webhook."""
    dashboard = addresses.local(settings.dashboard_host, settings.dashboard_port)
    path.write_text(
        f"""\
dashboard_url = {json.dumps(dashboard)}

[hours]
days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
start = "00:00"
end = "23:59"
holidays = ""

[mail]
host = "127.0.0.1"
port = {known["mail_port"]}
sender = "prazo@market.example"
ca_file = {json.dumps(known["mail_authority"])}

[recipients.ana]
email = "ana@market.example"
digest_at = "00:00"

[recipients.eva]
email = "eva@market.example"
role = "admin"
language = "en"

[recipients.desk]
webhook = {json.dumps(known["endpoint"] + "alerts")}
webhook_secret_file = {json.dumps(str(secret))}

[[routes]]
to = ["ana"]
roles = ["officer"]

[[routes]]
to = ["eva"]
roles = ["admin"]

[[routes]]
to = ["desk"]
severities = ["breach", "risk"]
""",
        encoding="utf-8",
    )
    return path


def _random_base64() -> str:
    return secrets.token_bytes(32).hex()  # hex digits are base64 as well


def _start_sandbox(
    folder: Path, settings: Settings, events_per_minute: float
) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    """The simulated platform as a process of its own, and what it says a client needs."""
    receiver = addresses.local(settings.receiver_host, settings.receiver_port)
    process = subprocess.Popen(
        [
            *(sys.executable, *memory.MODULE, "sandbox"),
            *("--folder", str(folder / "platform")),
            *("--history", str(folder / "history.ndjson")),
            *("--artifacts", str(folder / "platform" / "artifacts")),
            *("--webhooks-to", f"{receiver}/webhooks"),
            *("--webhook-auth", "hmac"),
            *("--webhook-secret-file", str(settings.webhook_secret_file)),
            *("--live", str(events_per_minute)),
            *("--receiver", receiver),
            *("--token-file", str(folder / "marketplace.token")),
            *("--endpoint-secret-file", str(folder / "endpoint.secret")),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
    except BaseException:  # a signal ends the demo while the past is lived through
        process.terminate()
        raise
    if not line:
        raise OperatorError(
            "The simulated platform did not start", "it ended without a word", "see above"
        )
    known: dict[str, Any] = json.loads(line)
    return process, known


def _platform_environment(known: dict[str, Any]) -> dict[str, str]:
    """Settings by which the product reaches the simulated platform, as it would the real one."""
    return {
        "PRAZO_PLATFORM_URL": known["url"],
        "PRAZO_PLATFORM_CA_FILE": known["authority"],
        "PRAZO_CLIENT_CERT_FILE": known["client_certificate"],
        "PRAZO_CLIENT_KEY_FILE": known["client_key"],
        "PRAZO_PLATFORM_AUTH": "basic",
        "PRAZO_PLATFORM_CREDENTIALS_FILE": known["basic_file"],
        "PRAZO_MARKETPLACE_ID": known["marketplace_id"],
    }
