"""A message that is longer than its service takes arrives all the same."""

import re
from pathlib import Path
from typing import Any

import apprise
import pytest

from pipeline.alert.messages import channels, limits
from pipeline.alert.messages.words import Text
from pipeline.alert_rules import AlertRules
from tests.alert.test_channels import MESSAGE, NOON

ALERT = (
    "Prazo de p{n} já passou & ninguém cuida\nProcesso: p{n}\nVendedor: s{n} \N{GRINNING FACE}\n"
)
PLAIN = "\n".join(ALERT.format(n=n) for n in range(90))
SERVICES = {  # of each service's documentation, by hand: (bytes or units of a body)
    "tgram://123456789:abcdefg_hijklmnop/12315544/": 4096,
    "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js": 2000,
    "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general": 35000,
}


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")  # of Apprise
@pytest.mark.parametrize("url", SERVICES)
def test_ninety_alerts_arrive_in_parts_that_the_service_takes(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50 alerts at once, or a digest of 90, are longer than Telegram takes: they never arrived."""
    sent: list[tuple[str, str]] = []

    def taken(self: object, *, title: str, body: str, **_: object) -> bool:
        sent.append((title, body))
        return True

    monkeypatch.setattr(apprise.Apprise, "notify", taken)
    (tmp_path / "channels").write_text(url)
    rules: Any = AlertRules.model_validate(
        {"recipients": {"ana": {"apprise_file": tmp_path / "channels"}}}
    )
    text = Text("[Prazo] 90 prazos", PLAIN, "")
    assert channels.send(MESSAGE._replace(via="apprise"), text, rules, NOON) is None
    most = SERVICES[url]
    for title, body in sent:
        assert len(f"{title}\r\n{body}".encode("utf-16-le")) // 2 <= most
        assert len(f"{title}\r\n{body}".encode()) <= most
    told = re.findall(r"Processo: (p[0-9]+)", "".join(body for _, body in sent))
    assert told == [f"p{n}" for n in range(len(told))]
    [*left] = re.findall(r"e mais ([0-9]+): veja no Prazo", sent[-1][1])
    assert len(told) + sum(map(int, left)) in (90, 91)  # an alert may stand on both sides of a cut
    assert len(sent) <= 5


def test_what_a_telephone_gets_is_one_short_message() -> None:
    [part] = limits.parts("[Prazo] 90 prazos", PLAIN, "en", 160, 0)
    assert len(f"{part.title}\r\n{part.body}".encode()) <= 160
    assert re.search(r"and [0-9]+ more: see them in Prazo", part.body)


@pytest.mark.parametrize("most", [160, 1024, 2000, 4096])
@pytest.mark.parametrize(
    "plain", ["é" * 30_000, "&" * 30_000, "\N{GRINNING FACE}" * 9000, "a\n" * 9000]
)
def test_no_part_is_longer_than_the_service_takes_whatever_is_in_it(most: int, plain: str) -> None:
    for most_title in (0, 250):
        for part in limits.parts("s" * 400, plain, "pt", most, most_title):
            together = f"{part.title}\r\n{part.body}" if most_title == 0 else part.body
            assert limits.size(together) <= most
            assert part.body.strip()


def test_what_fits_is_sent_as_it_is() -> None:
    assert limits.parts("subject", "one\ntwo\n", "en", 4096, 250) == [("subject", "one\ntwo\n")]
