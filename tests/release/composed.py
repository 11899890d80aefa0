"""Brings up what deploy/compose.yaml says: each part in a container with its command, settings and
files, before a database and a proxy of this machine.

All share one network, so each listens on a port of its own: addresses such as `dashboard:8501` are
replaced in the files. Nothing else is.
"""

import contextlib
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from pipeline import instants
from pipeline.http import standard_webhooks
from tests.release.containers import done, running, wait_until_healthy
from tests.release.installed import ROOT
from tests.support.events import new_id
from tests.support.machine import free_port, wait_until

PEOPLE, HOOKS = "prazo.market.example", "hooks.market.example"
_VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


@dataclass(frozen=True)
class Deployed:
    """A copy of deploy/, with all that make-secrets made, and where the parts listen."""

    folder: Path
    said: str
    """What make-secrets printed."""
    ports: dict[str, int]

    @classmethod
    def make(cls, folder: Path) -> "Deployed":
        """Copies it, and makes its secrets."""
        shutil.copytree(ROOT / "deploy", folder, ignore=shutil.ignore_patterns(".env", "tls"))
        said = done(folder / "make-secrets")
        parts = ("receiver-1", "receiver-2", "dashboard")
        return cls(folder, said, {name: free_port() for name in parts})

    def said_of(self, what: str) -> str:
        """The secret that was printed behind these words."""
        return next(it for it in self.said.splitlines() if it.startswith(what)).split(": ")[1]

    def here(self, text: str) -> str:
        """The text with the addresses of this machine."""
        for name, port in self.ports.items():
            text = re.sub(rf"\b{name}:(8400|8501)\b", f"127.0.0.1:{port}", text)
        return text

    def services(self) -> dict[str, Any]:
        """What compose.yaml says, with its variables as `.env` has them."""
        lines = (self.folder / ".env").read_text(encoding="ascii").splitlines()
        variables = dict(line.split("=", 1) for line in lines)

        def value(found: re.Match[str]) -> str:
            name, kind, otherwise = found.groups()
            assert kind == "-" or name in variables, f"{name} is not set"
            return variables.get(name, otherwise)

        text = (self.folder / "compose.yaml").read_text(encoding="utf-8")
        services: dict[str, Any] = yaml.safe_load(self.here(_VARIABLE.sub(value, text)))["services"]
        return services

    @contextlib.contextmanager
    def part(self, name: str, database: str, **settings: str) -> Iterator[str]:
        """The container of a service, once it is healthy. `settings` are added to prazo.env."""
        said = self.services()[name]
        assert said["read_only"]
        environment = said["environment"] | settings
        inbox = urlsplit(environment["PRAZO_INBOX"])
        here = urlsplit(database)
        environment["PRAZO_INBOX"] = inbox._replace(
            netloc=inbox.netloc.replace("database:5432", f"127.0.0.1:{here.port}"), path=here.path
        ).geturl()
        if name in self.ports:
            which = "DASHBOARD" if name == "dashboard" else "RECEIVER"
            environment[f"PRAZO_{which}_PORT"] = str(self.ports[name])
        options = [f"--env={key}={it}" for key, it in environment.items()]
        options += [f"--cap-drop={it}" for it in said["cap_drop"]]
        options += [f"--security-opt={it.rstrip(':true')}" for it in said["security_opt"]]
        options += [f"--env-file={self.folder / said['env_file']}"]
        for volume in said["volumes"]:
            source, *rest = volume.split(":")
            if source.startswith("."):
                options.append(f"--volume={':'.join([str(self.folder / source), *rest])}")
        with running(*options, part=said["command"]) as container:
            wait_until_healthy(container)
            yield container

    @contextlib.contextmanager
    def nginx(self, change: Callable[[str], str] = lambda text: text) -> Iterator[None]:
        """nginx with our file, changed as said, and its folders where they were made."""
        etc = self.folder / "nginx"
        self._begin("nginx")
        site = change(self.here((etc / "prazo.conf").read_text(encoding="utf-8")))
        site = site.replace("/etc/nginx/", f"{etc}/")
        for port, name in (("443", "https"), ("80", "http")):
            site = re.sub(rf"(listen (?:\[::\]:)?){port}\b", rf"\g<1>{self.ports[name]}", site)
        whole = etc / "nginx.conf"
        whole.write_text(
            f"user root;\npid {etc}/pid;\nerror_log {etc}/error.log;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{site}\n}}\n",
            encoding="utf-8",
        )
        command = ["nginx", "-p", str(etc), "-c", str(whole), "-g", "daemon off;"]
        with self._proxy(command):
            yield

    @contextlib.contextmanager
    def caddy(self) -> Iterator[None]:
        """Caddy with our file and the certificate that was made: no authority knows these names."""
        etc = self.folder / "caddy"
        self._begin("caddy")
        (etc / "prazo").mkdir(parents=True, exist_ok=True)
        password = self.said_of("The password of ana")
        hashed = done("caddy", "hash-password", "--plaintext", password).strip()
        (etc / "prazo" / "people").write_text(f"ana {hashed}\n", encoding="ascii")
        secret = (self.folder / "prazo" / "proxy.secret").read_text(encoding="ascii").strip()
        (etc / "prazo" / "secret").write_text(f'header_up X-Proxy-Secret "{secret}"\n', "ascii")
        site = self.here((self.folder / "Caddyfile").read_text(encoding="utf-8"))
        site = site.replace("/etc/caddy/", f"{etc}/")
        for name in (PEOPLE, HOOKS):
            tls = self.folder / "nginx" / "tls" / "server"
            site = site.replace(
                f"\n{name} {{\n",
                f"\n{name}:{self.ports['https']} {{\n\ttls {tls}.pem {tls}.key\n",
            )
        options = f"{{\n\tadmin off\n\thttp_port {self.ports['http']}\n\tauto_https off\n}}\n"
        (etc / "Caddyfile").write_text(options + site, encoding="utf-8")
        with self._proxy(
            ["caddy", "run", "--config", str(etc / "Caddyfile"), "--adapter", "caddyfile"]
        ):
            yield

    def _begin(self, program: str) -> None:
        """Skips the test where there is no such proxy; chooses its ports, since an earlier one may
        still listen."""
        if shutil.which(program, path=self._environment["PATH"]) is None:
            pytest.skip(f"there is no {program} here")
        self.ports.update({name: free_port() for name in ("https", "http")})

    @contextlib.contextmanager
    def _proxy(self, command: list[str]) -> Iterator[None]:
        log = self.folder / "proxy.log"
        with log.open("ab") as said:
            process = subprocess.Popen(command, stdout=said, stderr=said, env=self._environment)
        try:
            wait_until(lambda: process.poll() is not None or self.ask(HOOKS, "/healthz") != 0)
            assert process.poll() is None, log.read_text()
            yield
        finally:
            process.terminate()
            process.wait(20)

    @property
    def _environment(self) -> dict[str, str]:
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.folder)}

    def settings(self) -> dict[str, str]:
        """What prazo.env says, for parts outside containers: files lie where they were made."""
        text = (self.folder / "prazo.env").read_text(encoding="utf-8")
        lines = text.replace("/etc/prazo", str(self.folder / "prazo")).splitlines()
        return dict(it.split("=", 1) for it in lines if it.startswith("PRAZO_"))

    def platform(self, files: str = "/etc/prazo") -> dict[str, str]:
        """The way to a platform that is away; its files are made, and seen in that folder."""
        made = self.folder / "prazo"
        (made / "platform").write_text("prazo:secret\n", encoding="ascii")
        (made / "platform").chmod(0o600)
        for name in ("server.pem", "server.key"):
            shutil.copy(self.folder / "nginx" / "tls" / name, made)
        done("chown", "-R", "1000:1000", made)
        return {
            "PRAZO_CLIENT_CERT_FILE": f"{files}/server.pem",
            "PRAZO_CLIENT_KEY_FILE": f"{files}/server.key",
            "PRAZO_PLATFORM_URL": "https://127.0.0.1:9",
            "PRAZO_PLATFORM_CREDENTIALS_FILE": f"{files}/platform",
            "PRAZO_MARKETPLACE_ID": "mkt_1",
        }

    def deliver(self, body: bytes, *options: str) -> int:
        """The status of a signed delivery by way of the proxy."""
        secret = (self.folder / "prazo" / "webhook.secret").read_text(encoding="ascii")
        secrets = standard_webhooks.secrets_in(secret, None)
        signed = standard_webhooks.signed(secrets, new_id().encode(), instants.now(), body)
        headers = [f"-H{name.decode()}: {it.decode()}" for name, it in signed]
        return self.ask(HOOKS, "/webhooks", *headers, "--data-binary", body.decode(), *options)

    def ask(self, host: str, path: str, *options: str) -> int:
        """The status that curl is answered by way of the proxy; 0 where there is none."""
        port = self.ports["https"]
        command = [
            *("curl", "-s", "--noproxy", "*", "-m", "40", "--resolve", f"{host}:{port}:127.0.0.1"),
            *("--cacert", str(self.folder / "nginx" / "tls" / "server.pem")),
            *("-o", "/dev/null", "-w", "%{http_code}", *options, f"https://{host}:{port}{path}"),
        ]
        return int(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
