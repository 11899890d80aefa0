"""Settings that a slip would make dangerous are refused, and what may be secret is not repeated."""

import os
from pathlib import Path

import pytest

from pipeline.cli.doctor import stores
from pipeline.errors import SettingsError
from pipeline.hosts import forward_proxy
from pipeline.settings import Settings
from tests.support.stores import settings_in


@pytest.mark.parametrize(
    "location",
    [
        "postgres//prazo:s3cret@db.example/prazo",
        "postgresql:/prazo:s3cret@db.example/prazo",
        "postgresql:prazo:s3cret@db.example/prazo",
        "Postgresql://prazo:s3cret@db.example/prazo",
        "posgresql://prazo:s3cret@db.example/prazo",
        " postgresql://prazo:s3cret@db.example/prazo",
        "prazo:s3cret@db.example/prazo",
        "//prazo:s3cret@db.example/prazo",
        "host=db.example user=prazo password=s3cret",
        "dbname = prazo password = s3cret",
        "mysql://prazo:s3cret@db.example/prazo",
        "sqlite:///var/lib/prazo/inbox.db",
        "prazo/s3cret@db.example:5432/prazo",
        "postgresql://prazo:p@s3cret@db.example/prazo",
        "postgresql://prazo:s3cret/pw@db.example/prazo",
        "postgresql://prazo:s3cret?pw@db.example/prazo",
        "postgresql://prazo:5/s3cret@db.example/prazo",
        "postgresql://prazo:s3cret",
        "postgresql://db.example,prazo:s3cret/prazo",
        "postgresql:///prazo:s3cret@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/prazo:s3cret@db",
    ],
)
def test_a_mistyped_address_of_an_inbox_is_refused_and_not_made_a_folder(location: str) -> None:
    """It was a path like any other: the folder's name was the password, and so were messages. Or
    a part of the password was taken for the host, the port or the database, which are shown."""
    with pytest.raises(SettingsError, match="PRAZO_INBOX") as refused:
        Settings.load(inbox=location)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "location",
    [
        "inbox.db",
        "data/inbox.db",
        "/srv/2026-11-22T10:00/inbox.db",
        "postgresql://prazo:s3cret@db.example/prazo",
        "postgres://db.example/prazo?password=s3cret",
        "postgresql://prazo:s3%40cret#:,[x]@db.example:5432,[::1]:5433,c/prazo",
        "postgresql://prazo@/prazo?host=/run/postgresql",
        "postgresql:///prazo",
        "postgresql://%2Frun%2Fpostgresql/prazo",
    ],
)
def test_paths_and_addresses_of_databases_are_taken(location: str) -> None:
    assert Settings.load(inbox=location).inbox == location


def test_an_inbox_that_is_a_folder_is_refused_in_words(tmp_path: Path) -> None:
    """SQLite could not open it, and the remedy was to make room on the disk."""
    with pytest.raises(SettingsError) as refused:
        Settings.load(inbox=str(tmp_path))
    assert f"{tmp_path} is a folder: name a file in it, such as" in refused.value.why


@pytest.mark.parametrize("name", ["platform_url", "keeper_url", "timestamp_url"])
@pytest.mark.parametrize(
    "url", ["https://", "https://a:s3cret", "ana:s3cret@a.example", "https://[s3"]
)
def test_what_is_not_a_url_is_refused_without_repeating_it(name: str, url: str) -> None:
    with pytest.raises(SettingsError, match=f"PRAZO_{name.upper()}") as refused:
        Settings.load(**{name: url})
    assert "s3" not in str(refused.value)


def test_credentials_of_platform_and_keeper_do_not_belong_into_an_address() -> None:
    for name in ("platform_url", "keeper_url"):
        with pytest.raises(SettingsError, match="holds credentials") as refused:
            Settings.load(**{name: "https://ana:s3cret@a.example/"})
        assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("name", ["receiver_host", "dashboard_host", "journey_host"])
def test_an_address_that_other_machines_reach_is_refused_by_the_name_of_its_setting(
    name: str,
) -> None:
    """Only the address was named: with one for the receiver and one for the dashboard, nobody knew
    which of the two settings to correct."""
    with pytest.raises(SettingsError) as refused:
        Settings.load(**{name: "10.0.0.7"})
    assert f"PRAZO_{name.upper()} is 10.0.0.7, which other machines reach" in refused.value.why


def test_the_seller_s_page_is_at_the_root_of_its_host() -> None:
    """With a path the settings were taken, and no link that was made of them led to the page."""
    taken = Settings.load(journey_url="https://cadastro.loja.example/")
    assert taken.journey_url == "https://cadastro.loja.example"
    with pytest.raises(SettingsError, match="holds a path"):
        Settings.load(journey_url="https://loja.example/cadastro")


def test_an_address_that_paths_are_put_behind_ends_with_its_own_path() -> None:
    for name, url in (
        ("platform_url", "https://a.example/b"),
        ("keeper_url", "https://a.example/b"),
        ("journey_url", "https://a.example"),
    ):
        assert getattr(Settings.load(**{name: url}), name) == url
        for beyond in ("?", "?tenant=1", "/#top", "/a b"):
            with pytest.raises(SettingsError, match=f"PRAZO_{name.upper()}: holds a"):
                Settings.load(**{name: f"https://a.example{beyond}"})


@pytest.mark.parametrize("name", ["inbox", "ledger", "artifacts", "head_file", "forward_file"])
def test_a_path_that_is_empty_is_refused_and_not_taken_for_the_present_folder(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a variable that is not set leaves it: there was a traceback, or nothing was recorded."""
    monkeypatch.setenv(f"PRAZO_{name.upper()}", "")
    with pytest.raises(SettingsError, match=f"PRAZO_{name.upper()}.*leave it out"):
        Settings.load()


@pytest.mark.parametrize("name", ["inbox", "ledger", "signing_key_file"])
@pytest.mark.parametrize("path", ["/", ".", " "])
def test_a_path_of_a_file_names_one(name: str, path: str) -> None:
    with pytest.raises(SettingsError, match="names no file"):
        Settings.load(**{name: path})


@pytest.mark.parametrize(
    ("name", "other", "path"),
    [
        ("inbox", "head_file", "data/inbox.db"),
        ("inbox", "ledger", "one.db"),
        ("inbox", "alerts_file", "data/../data/inbox.db-wal"),
        ("head_file", "signing_key_file", "data/ledger.duckdb.head"),
        ("signing_key_file", "taxpayer_key_file", "link"),
        ("artifacts", "head_file", "data/artifacts"),
    ],
)
def test_what_is_written_has_a_place_that_no_other_setting_names(
    name: str, other: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The inbox was read as a head, and people were told to look at that file, without which
    nothing tells of older copies; with one key for both, whoever may compare tax ids could sign."""
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("data/keys/signing.key")
    both = {"inbox": path, "ledger": path} if path == "one.db" else {other: path}
    with pytest.raises(SettingsError, match=f"PRAZO_{name.upper()} and PRAZO_{other.upper()} name"):
        Settings.load(**both)
    Settings.load(client_cert_file="our.pem", client_key_file="our.pem")  # both are only read
    Settings.load(head_file="data/ledger.duckdb.head")  # where it is without that setting


def test_a_file_of_settings_that_is_not_utf_8_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_bytes("PRAZO_AUDIT_CONTACT=João".encode("latin-1"))
    with pytest.raises(SettingsError, match=r"\.env file cannot be read: line 1 is not UTF-8"):
        Settings.load()


def test_a_file_of_settings_that_cannot_be_read_leaves_no_default_in_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that was not like the others was left out, and deliveries went unauthenticated."""
    monkeypatch.chdir(tmp_path)
    env = Path(".env")
    for wrong in ("PRAZO_WEBHOOK_AUTH: hmac", "PRAZO-WEBHOOK-AUTH=hmac", 'PRAZO_INBOX="s3cret'):
        env.write_text(f"OTHER: 1\n{wrong}\nPRAZO_RECEIVER_PORT=9001\n")
        with pytest.raises(SettingsError, match=r"line 2 of the \.env file is not like") as refused:
            Settings.load()
        assert "s3cret" not in str(refused.value)
    env.write_bytes(b"\xef\xbb\xbfPRAZO_RECEIVER_PORT='9001'\r\nOTHER: 1\r\n")
    assert Settings.load().receiver_port == 9001
    env.unlink()
    env.mkdir()
    with pytest.raises(SettingsError, match=r"the \.env file cannot be read: Is a directory"):
        Settings.load()


def test_a_pipe_in_the_place_of_a_dotenv_file_is_waited_for_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(".env")
    with pytest.raises(SettingsError, match="file cannot be read: it is not a plain file"):
        Settings.load()


def test_a_variable_stands_over_the_file_whatever_its_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text(
        "# ours\n"
        "export PRAZO_INBOX='in file.db'\n"
        "prazo_journey_name=Feira da Praça  # as sellers know it\n"
        "PRAZO_RECEIVER_PORT=9001\n"
        "PRAZO_MARKETPLACE_ID\n"
        "OTHER=1\nPRAZO_UNKNOWN=2\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("prazo_receiver_port", "9002")
    settings = Settings.load(allow_remote=None)
    assert settings.inbox == "in file.db"
    assert settings.journey_name == "Feira da Praça"
    assert settings.receiver_port == 9002
    assert settings.marketplace_id is None
    assert settings.allow_remote is False
    assert Settings.load(receiver_port=9003).receiver_port == 9003


def test_settings_that_a_program_gives_are_all_that_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text("PRAZO_RECEIVER_PORT=9001\n", encoding="utf-8")
    monkeypatch.setenv("PRAZO_DASHBOARD_PORT", "9002")
    settings = Settings(inbox="inbox.db")
    assert (settings.receiver_port, settings.dashboard_port) == (8400, 8501)


@pytest.mark.parametrize("name", ["webhook_header", "proxy_user_header", "proxy_groups_header"])
@pytest.mark.parametrize("value", ["", " ", "X-Secret:", "X Secret", "X-Geheimnißß"])
def test_a_header_has_a_name_that_a_request_can_have(name: str, value: str) -> None:
    """With an empty one every delivery of the platform was answered 401."""
    with pytest.raises(SettingsError, match=f"PRAZO_{name.upper()}: .* cannot be a header's name"):
        Settings.load(**{name: value})


NO_SECRETS = {
    *("artifacts", "head_file", "timestamp_chain_file", "witnesses_file", "roles_file"),
    *("alerts_file", "notices_file", "assign_file", "forward_file", "platform_ca_file"),
    *("client_cert_file",),
    *("revenue_bands_file", "journey_logo_file", "journey_browser"),
    "api_tokens_file",  # digests of long random tokens
    "journey_code_secret_file",  # the seller's page looks at its own
}


def test_every_setting_that_names_a_secret_is_looked_at(tmp_path: Path) -> None:
    """Files of passwords or tokens were found by the word `secret` in their names: others were not
    looked at."""
    fields = Settings.model_fields.items()
    names = {name for name, it in fields if "Path" in str(it.annotation)} - NO_SECRETS
    files = {name: tmp_path / name for name in names}
    for file in files.values():
        file.touch(mode=0o644)
        file.chmod(0o644)
    settings = settings_in(tmp_path).model_copy(update=files)  # whatever they need besides
    found = {it.remedy for it in stores.secrets(settings)}
    assert {f"chmod 600 {file}" for file in files.values()} <= found, (
        "name each in `secrets` of pipeline/cli/doctor/stores.py; in NO_SECRETS if it holds none"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*",
        ".",
        "a b",
        "not/an/addr",
        "http://127.0.0.1",
        "127.0.0.1:8400",
        "[::1",
        "[::1]:8400",
        "[127.0.0.1]",
        "999.1.1.1",
        f"{'a' * 64}.example",
        "café.example",
    ],
)
@pytest.mark.parametrize("name", ["receiver_host", "dashboard_host", "journey_host"])
def test_what_is_not_an_address_is_named_as_that(name: str, text: str) -> None:
    """It was said to be reachable from other machines, and to need tokens; with all of that it was
    a name that is not known, or a traceback."""
    with pytest.raises(SettingsError) as refused:
        Settings.load(**{name: text})
    assert f"PRAZO_{name.upper()}: is neither an IP address nor a name" in str(refused.value)
    assert "reachable" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["127.0.0.1", "::1", "0.0.0.0", "::", "localhost", "db_1.example", "a.example."]
)
def test_an_address_or_a_name_of_a_host_is_taken(text: str) -> None:
    assert Settings(journey_host=text, allow_remote=True).journey_host == text


def test_brackets_around_an_ipv6_address_are_taken_away() -> None:
    """URLs have them, and listeners do not take them. They were refused."""
    assert Settings.load(receiver_host="[::1]").receiver_host == "::1"
    assert Settings.load(proxy_addresses="[::1],fd00::/8").proxy_addresses
    zoned = Settings(journey_host="[fe80::1%eth0]", allow_remote=True)
    assert zoned.journey_host == "fe80::1%eth0"


@pytest.mark.parametrize(
    ("name", "like"), [("ledger", "ledger.duckdb"), ("head_file", "ledger.head")]
)
def test_a_folder_in_place_of_a_file_that_we_write_is_refused(
    tmp_path: Path, name: str, like: str
) -> None:
    """A ledger was built to its end, could not be put there, and was built again at each start."""
    with pytest.raises(SettingsError) as refused:
        Settings.load(**{name: tmp_path})
    assert refused.value.why == (
        f"PRAZO_{name.upper()}: {tmp_path} is a folder: name a file in it, such as"
        f" {tmp_path / like}"
    )


def test_a_file_in_place_of_the_folder_of_artifacts_is_refused(tmp_path: Path) -> None:
    """All was well, said `prazo doctor`, until a collection came."""
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match=r"PRAZO_ARTIFACTS: .*/file is a file: name a folder"):
        Settings.load(artifacts=tmp_path / "file")


@pytest.mark.parametrize("name", ["platform_url", "keeper_url", "timestamp_url", "journey_url"])
def test_a_host_with_letters_outside_ascii_is_known_by_the_name_that_is_asked_for(
    name: str,
) -> None:
    """`loja-são.example` was taken at the start, and failed at each call. By hand, of RFC 3492."""
    settings = Settings.load(**{name: "https://Bücher.example:8443"})
    assert getattr(settings, name) == "https://xn--bcher-kva.example:8443"
    with pytest.raises(SettingsError, match="write its form in ASCII"):
        Settings.load(**{name: "https://b\N{SNOWMAN}cher.example"})


def test_a_proxy_and_a_database_with_letters_outside_ascii_in_their_hosts() -> None:
    assert forward_proxy("http://bücher.example").host == "xn--bcher-kva.example"
    with pytest.raises(SettingsError, match=r"write its host as xn--bcher-kva\.example"):
        Settings.load(inbox="postgresql://ana:s3cret@bücher.example/prazo")
