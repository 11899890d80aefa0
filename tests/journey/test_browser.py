"""The page in a real browser, as wide as a phone: with and without scripts, and by keys."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext
from playwright.sync_api import Page as Tab

from pipeline.journey.screens import TEMPLATES
from tests import depth
from tests.journey.served import ACP, OF_BUSINESS, Page
from tests.support.dashboard import AXE, WCAG_22_AA, chromium

PHONE = {"width": 390, "height": 844}
KINDS = {
    "ACI": (["revenue", "address.city"], "ACI", "individual"),
    "ACP of an individual": (ACP, "ACP", "individual"),
    "ACP of a business": (OF_BUSINESS, "ACP", "business"),
    "a path that the contract does not show": (["tax.regime"], "ACI", "individual"),
}
TYPED = {
    "CEP": "01310-100",
    "Rua e número": "Rua das Flores, 123",
    "Bairro": "Centro",
    "Cidade": "São Paulo",
    "De R$": "1000",
    "até R$": "5000",
    "tax.regime": "simples",
}
CHOSEN = {"Estado": "SP", "País": "BR"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def phone(browser: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    context = browser.new_context(
        viewport=PHONE, locale="pt-BR", has_touch=True, java_script_enabled=request.param
    )
    yield context
    context.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    context = browser.new_context(viewport=PHONE, locale="pt-BR")
    yield context.new_page()
    context.close()


def fill_in(tab: Tab) -> None:
    """Answers what stands on the screen, found by what a screen reader calls it."""
    for label, text in TYPED.items():
        field = tab.get_by_role("textbox", name=label, exact=True)
        if field.count():
            field.fill(text)
    individual = tab.get_by_role("radio", name="Como pessoa física (CPF)")
    if individual.count():
        individual.check()
    for label, code in CHOSEN.items():
        field = tab.get_by_role("combobox", name=label, exact=True)
        if field.count():
            field.select_option(code)


def fits(tab: Tab) -> None:
    """At 200 % as well."""
    for zoom in (2, 1):
        width = PHONE["width"] // zoom
        tab.set_viewport_size({"width": width, "height": PHONE["height"]})
        wide = tab.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, (tab.url, zoom)


def answer_all(tab: Tab) -> int:
    """Up to the review; how many screens there were."""
    screens = 0
    while not tab.url.endswith("/review"):
        fill_in(tab)
        tab.get_by_role("button", name="Continuar").click()
        screens += 1
        assert screens < 30, tab.url
    return screens


@pytest.mark.parametrize(
    ("kind", "phone"),
    depth.few([(kind, has_scripts) for has_scripts in (False, True) for kind in KINDS], 8),
    indirect=["phone"],
)
def test_each_kind_of_process_is_answered_on_a_phone(
    page: Page, phone: BrowserContext, kind: str
) -> None:
    fields, review_type, seller_type = KINDS[kind]
    process = page.review(fields, kind=review_type, seller_type=seller_type)
    tab = phone.new_page()
    tab.goto(page.mint(process).url)
    check = tab.get_by_role("link", name="Esta página é verdadeira?").bounding_box()
    assert check is not None
    assert check["y"] + check["height"] <= PHONE["height"]  # seen without scrolling
    tab.get_by_role("button", name="Começar").click()
    answer_all(tab)
    tab.get_by_role("checkbox").check()
    tab.get_by_role("button", name="Confirmar").click()
    assert tab.locator("h1").inner_text() == "Recebemos as suas respostas"
    assert page.steps(process)[-1] == "confirmed"


def test_every_screen_keeps_to_wcag_and_to_its_own_host_and_fits_the_phone(
    page: Page, tab: Tab
) -> None:
    elsewhere: list[str] = []
    complaints: list[str] = []
    tab.on("request", lambda asked: elsewhere.append(asked.url))
    tab.on("console", lambda said: complaints.append(f"{said.type}: {said.text}"))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    found: list[tuple[str, str, str]] = []

    def look() -> None:
        tab.evaluate(AXE)
        options = {
            "runOnly": {"type": "tag", "values": WCAG_22_AA},
            "resultTypes": ["violations"],
            "preload": False,  # of media, of which our pages have none
        }
        for broken in tab.evaluate("it => axe.run(document, it)", options)["violations"]:
            found.extend((tab.url, broken["id"], it["html"]) for it in broken["nodes"])
        fits(tab)

    process = page.review(OF_BUSINESS, kind="ACP", seller_type="business")
    tab.goto(page.mint(process).url)
    look()
    tab.get_by_role("button", name="Começar").click()
    look()
    tab.get_by_role("button", name="Continuar").click()
    look()  # with a fault
    screens = 0
    while not tab.url.endswith("/review"):
        fill_in(tab)
        if depth.is_whole() or screens % 2 == 0:  # most ask for a line of text alike
            look()
        screens += 1
        tab.get_by_role("button", name="Continuar").click()
    look()
    column = "[...new Set([...document.querySelectorAll('dt + dd')].map((it) => it.offsetLeft))]"
    assert len(tab.evaluate(column)) == 1  # "Complemento" stood out of its column
    tab.get_by_role("checkbox").check()
    tab.get_by_role("button", name="Confirmar").click()
    look()
    tab.goto(f"{page.base}/j/{'A' * 43}")
    look()
    assert found == []
    assert [it for it in elsewhere if not it.startswith(page.base)] == []
    errors = [it for it in complaints if it.startswith("error") and "status of 4" not in it]
    assert errors == []


def test_a_name_of_the_platforms_own_fits_the_phone_however_long(page: Page, tab: Tab) -> None:
    """It is one word to a browser, and stood out of the screen."""
    name = "owner.additional_information.declared_income_of_the_last_twelve_months"
    process = page.review([name])

    tab.goto(page.mint(process).url)
    tab.get_by_role("button", name="Começar").click()
    tab.wait_for_url("**/other-1")
    fits(tab)
    tab.get_by_role("button", name="Continuar").click()
    tab.get_by_role("alert").wait_for()
    fits(tab)
    tab.get_by_role("textbox", name=name).fill("R$ 90.000")
    tab.get_by_role("button", name="Continuar").click()
    tab.wait_for_url("**/review")
    fits(tab)
    tab.get_by_role("checkbox").check()
    tab.get_by_role("button", name="Confirmar").click()
    tab.wait_for_url("**/receipt")
    page.refuse(process, name)
    tab.reload()
    assert name in tab.locator(".note").inner_text()
    fits(tab)


def test_the_keyboard_alone_is_enough_and_the_focus_can_be_seen(page: Page, tab: Tab) -> None:
    process = page.review(["address.state", "revenue"])
    tab.goto(page.mint(process).url)

    def tab_to(name: str) -> None:
        for _ in range(12):
            tab.keyboard.press("Tab")
            focused = tab.evaluate(
                "(document.activeElement.labels?.[0] ?? document.activeElement).innerText"
            )
            if focused.strip() == name:
                outline = tab.evaluate("getComputedStyle(document.activeElement).outlineWidth")
                assert outline == "3px"
                return
        raise AssertionError(f"{name} cannot be reached")

    tab_to("Começar")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/revenue")
    tab_to("De R$")
    tab.keyboard.type("1000")
    tab_to("até R$")
    tab.keyboard.type("5000")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/city")
    tab_to("Estado")
    tab.keyboard.type("Pern")
    tab_to("Continuar")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/review")
    for _ in range(12):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.id") == "declared":
            break
    tab.keyboard.press("Space")
    tab_to("Confirmar")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/receipt")
    *_, (_, whole), _ = page.collections(process)
    assert whole["fields"] == {"revenue": "1000_to_5000", "address.state": "PE"}


def test_a_fault_is_announced_and_leads_to_its_field(page: Page, tab: Tab) -> None:
    """However slowly one clicks: what was said of the input that was left moved the button away
    under the finger, and the click was lost."""
    process = page.review(["address.postal_code"])
    tab.goto(page.mint(process).url)
    tab.get_by_role("button", name="Começar").click()
    tab.get_by_role("textbox", name="CEP").fill("123")
    tab.get_by_role("button", name="Continuar").click(delay=400)
    alert = tab.get_by_role("alert")
    assert "O CEP tem 8 números" in alert.inner_text()
    alert.get_by_role("link").click()
    field = tab.get_by_role("textbox", name="CEP")
    assert field.evaluate("it => it === document.activeElement")
    assert field.get_attribute("aria-invalid") == "true"
    described = field.get_attribute("aria-describedby") or ""
    said = [tab.locator(f"#{it}").inner_text() for it in described.split()]
    assert said == [
        "8 números, por exemplo 01310-100",
        "O CEP tem 8 números, por exemplo 01310-100.",
    ]


def test_a_fault_goes_as_soon_as_it_is_corrected(page: Page, tab: Tab) -> None:
    process = page.review(["address.postal_code"])
    tab.goto(page.mint(process).url)
    tab.get_by_role("button", name="Começar").click()
    tab.get_by_role("button", name="Continuar").click()
    tab.get_by_role("alert").wait_for()
    field = tab.get_by_role("textbox", name="CEP")
    with tab.expect_response("**/check"):
        field.press_sequentially("01310100")
    tab.wait_for_function("!document.querySelector('.faults, [aria-invalid]')")
    assert tab.locator(".fault").inner_text() == ""


def test_what_is_pasted_with_blanks_around_it_is_not_cut(page: Page, tab: Tab) -> None:
    """The last digits went, and the page said that there are too few."""
    process = page.review(["address.postal_code"])
    tab.goto(page.mint(process).url)
    tab.get_by_role("button", name="Começar").click()
    field = tab.get_by_role("textbox", name="CEP")
    field.fill("CEP: 01.310-100")
    tab.get_by_role("button", name="Continuar").click()
    tab.get_by_role("alert").wait_for()
    assert field.input_value() == "CEP: 01.310-100"  # so that they see what is too much
    field.fill("     01.310-100     ")
    tab.get_by_role("button", name="Continuar").click()
    tab.wait_for_url("**/review")
    assert "01310-100" in tab.locator("dl").inner_text()


def test_what_was_typed_survives_a_lost_line(page: Page, tab: Tab) -> None:
    process = page.review(["address.line1"])
    tab.goto(page.mint(process).url)
    tab.get_by_role("button", name="Começar").click()
    tab.get_by_role("textbox", name="Rua e número").fill("Rua das Flores, 123")
    tab.context.set_offline(True)
    tab.get_by_role("button", name="Continuar").click()
    tab.get_by_role("status").filter(has_text="Sem conexão").wait_for()
    tab.context.set_offline(False)
    tab.reload()
    field = tab.get_by_role("textbox", name="Rua e número")
    assert field.input_value() == "Rua das Flores, 123"
    field.fill("")
    tab.get_by_role("button", name="Continuar").click()
    tab.get_by_role("alert").wait_for()
    field.fill("Rua das Flores, 124")  # a screen with faults has other values than the next
    tab.reload()
    assert field.input_value() == "Rua das Flores, 124"
    tab.get_by_role("button", name="Continuar").click()
    tab.wait_for_url("**/review")


def test_what_was_typed_stands_in_no_other_question_that_takes_its_place(
    page: Page, tab: Tab
) -> None:
    """It was found by the screen's address alone: a field that nobody had answered was filled."""
    process = page.review(["tax.regime", "tax.office"])
    tab.goto(page.mint(process).url)
    tab.get_by_role("button", name="Começar").click()
    tab.get_by_role("textbox", name="tax.regime").fill("simples")
    page.review(["tax.office"], process_id=process, seller_type=None)
    tab.reload()
    assert tab.get_by_role("textbox", name="tax.office").input_value() == ""


def test_what_another_tab_has_answered_is_shown_and_not_what_was_typed_before_it(
    page: Page, tab: Tab
) -> None:
    process = page.review(["address.line3", "address.city"])
    tab.goto(page.mint(process).url)
    tab.get_by_role("button", name="Começar").click()
    tab.wait_for_url("**/line3")
    other = tab.context.new_page()
    other.goto(tab.url)
    for each, typed in ((tab, "Centro"), (other, "Boa Vista")):
        each.get_by_role("textbox", name="Bairro").fill(typed)
        each.get_by_role("button", name="Continuar").click()
        if each is other:  # the screen has changed meanwhile, and is shown first
            each.get_by_role("alert").wait_for()
            each.get_by_role("button", name="Continuar").click()
        each.wait_for_url("**/city")
    tab.get_by_role("link", name="Voltar").click()
    assert tab.get_by_role("textbox", name="Bairro").input_value() == "Boa Vista"


def test_a_declaration_is_for_what_stands_there_and_nothing_typed_outlives_the_receipt(
    page: Page, tab: Tab
) -> None:
    process = page.review(["address.city"])
    tab.goto(page.mint(process).url)
    tab.get_by_role("button", name="Começar").click()
    tab.get_by_role("textbox", name="Cidade").fill("Recife")
    tab.get_by_role("button", name="Continuar").click()
    tab.get_by_role("checkbox").check()
    tab.get_by_role("link", name="Alterar").click()
    tab.get_by_role("textbox", name="Cidade").fill("Olinda")
    tab.get_by_role("button", name="Continuar").click()
    tab.wait_for_url("**/review")
    assert "Olinda" in tab.locator("dl").inner_text()
    assert not tab.get_by_role("checkbox").is_checked()
    assert "Olinda" in tab.evaluate("JSON.stringify(sessionStorage)")
    tab.get_by_role("checkbox").check()
    tab.get_by_role("button", name="Confirmar").click()
    tab.wait_for_url("**/receipt")
    tab.wait_for_function("sessionStorage.length === 0")  # the next may be a stranger's turn
    # Playwright's browser keeps no page whole; where one does, it asks for it again.
    with tab.expect_navigation():
        tab.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    tab.get_by_role("button", name="Sair").click()
    tab.get_by_role("heading", name="Você saiu").wait_for()
    tab.go_back()
    tab.wait_for_url("**/receipt")
    tab.get_by_role("heading", name="Você saiu").wait_for()


def test_the_browser_s_way_back_shows_what_was_answered(page: Page, tab: Tab) -> None:
    """Also where something was wrong first: that screen answered a POST, and the browser showed
    an error of its own in its place."""
    process = page.review(["revenue", "address.city"])
    tab.goto(page.mint(process).url)
    tab.get_by_role("button", name="Começar").click()
    tab.get_by_role("button", name="Continuar").click()
    tab.get_by_role("alert").wait_for()
    fill_in(tab)
    tab.get_by_role("button", name="Continuar").click()
    tab.wait_for_url("**/city")
    tab.go_back()
    assert tab.get_by_role("textbox", name="De R$").input_value() == "1000"


def test_no_page_shows_it_in_a_frame(page: Page, tab: Tab) -> None:
    minted = page.mint(page.review())
    tab.goto("about:blank")
    tab.set_content(f'<iframe src="{minted.url}"></iframe>')
    frame = tab.frames[-1]
    frame.wait_for_url("chrome-error://**")
    assert "Confirme seus dados" not in frame.content()


def test_what_is_wrong_is_said_as_soon_as_an_input_is_left(page: Page, tab: Tab) -> None:
    """By the server's own rules and words, in a region that a screen reader reads out."""
    process = page.review(["revenue", "address.postal_code"])
    tab.goto(page.mint(process).url)
    tab.get_by_role("button", name="Começar").click()
    tab.wait_for_url("**/revenue")
    group = tab.get_by_role("group")
    said = tab.locator("#f0-live")
    assert said.get_attribute("aria-live") == "polite"
    tab.get_by_role("textbox", name="De R$").fill("5000")
    tab.keyboard.press("Tab")
    tab.get_by_role("textbox", name="até R$").fill("1000")
    with tab.expect_response("**/check"):
        tab.keyboard.press("Tab")
    said.filter(has_text="deve ser menor que o segundo").wait_for()
    assert group.get_attribute("aria-invalid") == "true"
    assert "f0-live" in (group.get_attribute("aria-describedby") or "")
    tab.evaluate(AXE)
    options = {"runOnly": {"type": "tag", "values": WCAG_22_AA}}
    assert tab.evaluate("it => axe.run(document, it)", options)["violations"] == []
    tab.get_by_role("textbox", name="até R$").fill("9000")
    said.filter(has_not_text="menor").wait_for(state="attached")
    tab.wait_for_function("!document.querySelector('fieldset').hasAttribute('aria-invalid')")
    assert page.steps(process) == ["invited", "opened"]  # a check records nothing
    tab.get_by_role("button", name="Continuar").click()
    tab.wait_for_url("**/postal-code")


def test_without_scripts_the_browser_itself_holds_back_what_cannot_be_right(
    page: Page, browser: Browser
) -> None:
    process = page.review(["address.postal_code"])
    context = browser.new_context(viewport=PHONE, locale="pt-BR", java_script_enabled=False)
    tab = context.new_page()
    tab.goto(page.mint(process).url)
    tab.get_by_role("button", name="Começar").click()
    field = tab.get_by_role("textbox", name="CEP")
    for typed in ("", "1310-10"):
        field.fill(typed)
        tab.get_by_role("button", name="Continuar").click()
        assert tab.locator("input:invalid").count() == 1
        assert tab.url.endswith("/postal-code")
    assert field.get_attribute("title") == "O CEP tem 8 números, por exemplo 01310-100."
    field.fill(" 01.310-100")
    tab.get_by_role("button", name="Continuar").click()
    tab.wait_for_url("**/review")
    context.close()


@pytest.mark.long
def test_buttons_and_the_bar_have_edges_where_the_readers_system_sets_all_colours(
    browser: Browser,
) -> None:
    """In a contrast theme of Windows a button was text without an edge, and the bar was gone."""
    context = browser.new_context(forced_colors="active")
    tab = context.new_page()
    style = TEMPLATES.joinpath("journey.css").read_text().replace("COLOUR", "#123456")
    bar = '<div class="bar"><div style="width:50%"></div></div>'
    tab.set_content(f"<style>{style}</style><button>Enviar</button>{bar}")
    drawn = "(at, what) => getComputedStyle(document.querySelector(at))[what]"
    edges, ground = (
        [tab.evaluate(f"([at, what]) => ({drawn})(at, what)", pair) for pair in pairs]
        for pairs in (
            [["button", "borderTopWidth"], [".bar", "borderTopWidth"]],
            [[".bar", "backgroundColor"], [".bar div", "backgroundColor"]],
        )
    )
    context.close()
    assert edges == ["2px", "1px"]
    assert ground[0] != ground[1]
