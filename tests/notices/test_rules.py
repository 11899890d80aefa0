"""Whatever `notices.toml` gets wrong is named, and our words are in force without it."""

from pathlib import Path

import pytest

from pipeline import instants
from pipeline.errors import SettingsError
from pipeline.files import reread
from pipeline.notices import rules, texts
from pipeline.notices.rules import NoticeRules, NoticesFile
from pipeline.notices.texts import Asked, Sender
from pipeline.settings import Settings

WHOLE = """
language = "en"
contact = "Write to help@market.example, or call 0800 123 456."
genuine = "https://market.example/review"

[channels.whatsapp]
url = "https://bridge.market.example/whatsapp"
secret_file = "secret"
address = true

[templates.first]
version = 3
[templates.first.pt-BR]
subject = "{name}: até {deadline}"
text = "Oi!\\n{reviews}\\n{contact}"
"""
DEADLINE = instants.parse("2026-06-05T02:00:00Z")


def sender(of: NoticeRules) -> Sender:
    return Sender("Loja do Zé", "https://answer.market.example", of, Settings().zone)


def test_a_file_says_who_writes_by_what_and_in_which_words(tmp_path: Path) -> None:
    file = tmp_path / "notices.toml"
    file.write_text(WHOLE)
    read = rules.load(file)
    assert read.ways(has_mail=True) == ("email", "whatsapp")
    assert read.ways(has_mail=False) == ("whatsapp",)
    assert texts.templates(read) == {"first": 3, "reminder": 1, "correct": 1, "moved": 1}
    asked = [Asked("ACP", DEADLINE, is_late=False, missing=["revenue"])]
    own = texts.written("first", asked, "pt-BR", sender(read))
    assert own.subject == "Loja do Zé: até 4 de junho de 2026, 23h00 (horário de Brasília)"
    assert own.text.startswith("Oi!\nAtualização periódica do seu cadastro: a plataforma")
    assert own.text.endswith("Dúvidas? Write to help@market.example, or call 0800 123 456.")
    same = texts.written("first", asked, "pt-BR", sender(read), code_comes_along=True)
    assert same.text.endswith("ele chega a este mesmo endereço. Não passe o código a ninguém.")
    ours = texts.written("first", asked, "en", sender(read))
    assert "You can check it here: https://market.example/review" in ours.text


def test_each_fault_of_a_file_is_named_at_once(tmp_path: Path) -> None:
    file = tmp_path / "notices.toml"
    file.write_text(
        'langage = "en"\n'
        "[channels.phone]\nurl = 'https://x.example'\nsecret_file = 's'\n"
        "[templates.first.en]\nsubject = '{seller}'\ntext = 'hello'\n"
        "[templates.second]\nversion = 0\n"
        "[templates.third.en]\nsubject = 'a'\ntext = '{reviews} {name.x}'\n"
    )
    with pytest.raises(SettingsError) as raised:
        rules.load(file)
    said = raised.value.why
    for fault in (
        "langage: there is no such setting: is it language?",
        "'phone' is not one of in_app, web_form, email, push, sms, chat, whatsapp",
        "nothing fills in {seller}: known are {code}, {contact}, {deadline}",
        "templates.second.version",
        "nothing fills in {name.x}",
    ):
        assert fault in said
    assert "docs/notices.md" in raised.value.remedy


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ('text = "Oi!\\n{reviews}\\n{contact}"', 'text = "Oi!"'),
        ("address = true", "addres = true"),
        ("[channels.whatsapp]", "[channels.push]"),
        ('subject = "{name}: até {deadline}"', 'subject = "{reviews}"'),
        ("[templates.first]", "[templates.'a b']"),
        ("{contact}", "{contact"),
    ],
)
def test_what_would_send_nonsense_is_refused(tmp_path: Path, changed: str, fault: str) -> None:
    file = tmp_path / "notices.toml"
    file.write_text(WHOLE.replace(changed, fault))
    with pytest.raises(SettingsError, match=r"The seller notices' settings in .* cannot be used"):
        rules.load(file)


def test_a_slip_leaves_in_force_what_was_read_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reread, "RECHECK_SECONDS", 0.0)
    file = tmp_path / "notices.toml"
    file.write_text(WHOLE)
    notices = NoticesFile(file)
    assert notices.get().language == "en"
    file.write_text("language = 7")
    assert notices.get().language == "en"
    assert notices.fault() is not None
    assert NoticesFile(None).get().language == "pt-BR"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            Asked("ACI", DEADLINE, is_late=True, missing=["owner.address.city"]),
            "Correction of your registration: the payment platform asked you to bring your"
            " registration up to date by 4 June 2026, 23:00 (Brasilia Time), and that"
            " time has passed. You can still answer, and should do so today. We still need: the"
            " owner's address (City).\n"
            "It takes a few minutes: [link]",
        ),
        (
            Asked(None, None, is_late=False, missing=[], is_begun=True, link="https://x.example/j"),
            "Review of your registration: the payment platform asks you to bring your registration"
            " up to date by now. We still need: your confirmation of the answers.\n"
            "Part of your answers has arrived.\nIt takes a few minutes: https://x.example/j",
        ),
    ],
)
def test_a_review_is_said_as_it_stands(asked: Asked, said: str) -> None:
    assert texts.review(asked, "en", Settings().zone) == said


def test_the_first_of_a_month_is_written_as_brazilians_do() -> None:
    zone = Settings().zone
    first, eleventh = (instants.parse(f"2026-12-{day}T15:00:00Z") for day in ("01", "11"))
    noon = "12h00 (horário de Brasília)"
    assert texts.clock(first, "pt-BR", zone) == f"1º de dezembro de 2026, {noon}"
    assert texts.clock(eleventh, "pt-BR", zone) == f"11 de dezembro de 2026, {noon}"
    assert texts.clock(first, "en", zone) == "1 December 2026, 12:00 (Brasilia Time)"


def test_a_link_is_known_by_how_the_page_of_this_seller_begins() -> None:
    """Where the page is `http:`, as in a trial, the message promised `https:`."""
    asked = [Asked("ACP", DEADLINE, is_late=False, missing=["revenue"])]
    trial = sender(NoticeRules())._replace(page="http://127.0.0.1:8402")
    assert "begins with http://127.0.0.1:8402," in texts.written("first", asked, "en", trial).text


def test_our_own_message_says_all_that_a_seller_must_know() -> None:
    asked = [
        Asked("ACI", DEADLINE, is_late=True, missing=["revenue"]),
        Asked("ACP", DEADLINE, is_late=False, missing=["address.city"]),
    ]
    for language, words in (
        ("en", ("Loja do Zé collects", "We still need", "block money", "genuine", "Questions?")),
        ("pt-BR", ("Loja do Zé recolhe", "Ainda precisamos", "bloquear", "verdadeira", "Dúvidas?")),
    ):
        message = texts.written("first", asked, language, sender(rules.load(None)))
        assert [it for it in words if it not in message.text] == []
        assert message.text.count("[link]") == 2
    late = texts.written("reminder", asked[:1], "en", sender(rules.load(None)))
    assert late.subject == "Loja do Zé: your registration data are late, and you can still answer"
    # It named the far deadline alone, as if nothing was late.
    both = texts.written("reminder", asked[::-1], "en", sender(rules.load(None)))
    assert both.subject == (
        "Loja do Zé: part of your registration data is late, and part is due by 4 June 2026, 23:00"
        " (Brasilia Time)"
    )
    with pytest.raises(KeyError):
        texts.written("third", asked, "en", sender(rules.load(None)))
