"""People log in by OpenID Connect by way of nginx, with the dashboard below a path."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.app_pages.conftest import browser
from tests.app_pages.door.test_login import log_in, provider
from tests.release.composed import PEOPLE, Deployed
from tests.support.dashboard import Reader
from tests.support.machine import free_port, wait_until
from tests.support.stores import environment_in

__all__ = ["browser"]

HERE = "prazo.localhost"
"""A name that browsers know to be this machine."""
REST = re.compile(r"\n *# With PRAZO_LOGIN=oidc leave out the rest\.\n.*?(?=\n    \})", re.DOTALL)


def for_oidc(text: str) -> str:
    """nginx's file as its words say, with the dashboard below a path."""
    changed, found = REST.subn("", text)
    assert found == 1
    return changed.replace(PEOPLE, HERE).replace(
        "location / {\n        proxy_pass           http://dashboard",
        "location /prazo/ {\n        proxy_pass           http://dashboard",
    )


@pytest.mark.timeout(300)
def test_people_log_in_at_their_provider_by_way_of_nginx_below_a_path(
    tmp_path: Path, browser: Browser
) -> None:
    shape = Deployed.make(tmp_path / "deploy")
    shape.ports["dashboard"] = port = free_port()
    ana = {"sub": "u-1", "email": "ana@market.example", "email_verified": True}
    with provider(ana) as issuer, shape.nginx(for_oidc):
        url = f"https://{HERE}:{shape.ports['https']}/prazo"
        (tmp_path / "roles").write_text("officer:email:ana@market.example\n")
        (tmp_path / "auth.toml").write_text(
            f'[auth]\nredirect_uri = "{url}/oauth2callback"\n'
            f'cookie_secret = "{os.urandom(24).hex()}"\n'
            'client_id = "prazo"\nclient_secret = "any"\n'
            f'server_metadata_url = "{issuer}/.well-known/openid-configuration"\n'
        )
        settings = {
            "PRAZO_LOGIN": "oidc",
            "PRAZO_OIDC_FILE": str(tmp_path / "auth.toml"),
            "PRAZO_ROLES_FILE": str(tmp_path / "roles"),
            "PRAZO_API_TOKENS_FILE": str(shape.folder / "prazo" / "tokens"),
            "PRAZO_DASHBOARD_PORT": str(port),
            "STREAMLIT_SERVER_BASE_URL_PATH": "prazo",
        }
        running = subprocess.Popen(
            [sys.executable, "-m", "pipeline.cli", "dashboard"],
            cwd=tmp_path,
            env=os.environ | environment_in(tmp_path) | settings,
        )
        try:
            wait_until(lambda: shape.ask(HERE, "/prazo/_stcore/health", "-k") == 200)
            page = browser.new_page(locale="en-GB", ignore_https_errors=True)
            reader = Reader(page, url).open("/watchlist")
            assert reader.page.get_by_role("button", name="Log in").is_visible()
            log_in(reader, "u-1")
            assert reader.menu("ana@market.example").is_visible()
            assert reader.settled().title() == "Watchlist"
            reader.menu("ana@market.example").click()
            reader.page.get_by_role("button", name="Log out").click()
            reader.page.wait_for_url(f"{issuer}/**")
        finally:
            running.send_signal(signal.SIGTERM)
            running.wait(60)
