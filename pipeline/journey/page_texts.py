"""What the seller's page says, in Portuguese and in English.

The version of the wording stands in every entry of a journey; it changes with any of these texts.
"""

import unicodedata
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Final, Literal

from babel import Locale, dates

from pipeline.journey.form import Field, Question

Language = Literal["pt-BR", "en"]
LANGUAGES: Final[tuple[Language, ...]] = ("pt-BR", "en")
_Both = tuple[str, str]  # Portuguese, English
_MINUTE: Final[_Both] = ("dd/MM/y HH:mm", "d MMM y, HH:mm")
"""As on the dashboard: in English, 03/02 is another day for every other reader."""

TEXTS: Final[Mapping[str, _Both]] = {
    "this_language": ("Português", "English"),
    "landing_title": ("Confirme seus dados de cadastro", "Confirm your registration data"),
    "landing_why": (
        "A plataforma de pagamentos que processa as suas vendas pediu uma revisão do seu cadastro."
        " {name} está coletando as respostas.",
        "The payment platform that processes your sales has asked for a review of your"
        " registration. {name} is collecting the answers.",
    ),
    "landing_count": (
        "São {n} perguntas curtas. Cada resposta é salva na hora.",
        "There are {n} short questions. Each answer is saved at once.",
    ),
    "landing_count_one": (
        "É uma pergunta curta. A resposta é salva na hora.",
        "There is one short question. The answer is saved at once.",
    ),
    "landing_count_range": (
        "São {n} perguntas curtas, ou {most} para uma empresa. Cada resposta é salva na hora.",
        "There are {n} short questions, or {most} for a business. Each answer is saved at once.",
    ),
    "landing_empty": (
        "Os campos vêm sempre vazios: as regras exigem que você informe os dados pessoalmente,"
        " agora.",
        "The fields are always empty: the rules require that you give the data yourself, now.",
    ),
    "landing_until": (
        "Este link funciona até {until}.",
        "This link works until {until}.",
    ),
    "landing_kept": (
        "Guardamos as telas, as respostas e os horários como prova.",
        "We keep the screens, the answers and the times as proof.",
    ),
    "landing_correct": (
        "A plataforma recusou parte das respostas. Só falta corrigir o que ela apontou.",
        "The platform refused part of the answers. All that is left is to correct what it named.",
    ),
    "start": ("Começar", "Start"),
    "go_on": ("Continuar", "Continue"),
    "back": ("Voltar", "Back"),
    "progress": ("Pergunta {n} de {total}", "Question {n} of {total}"),
    "of_owner": ("Representante legal", "Legal representative"),
    "of_business": ("Sua empresa", "Your business"),
    "optional": ("(opcional)", "(optional)"),
    "choose": ("Escolha uma opção", "Choose an option"),
    "faults_title": ("Há algo a corrigir", "Something needs correcting"),
    "error": ("Erro:", "Error:"),
    "changed": (
        "Esta página mudou enquanto você respondia. Confira e continue.",
        "This page changed while you were answering. Please check it and continue.",
    ),
    "offline": (
        "Sem conexão. O que você digitou continua aqui: tente de novo quando a conexão voltar.",
        "No connection. What you typed is still here: try again when you are back online.",
    ),
    "review_title": ("Confira as suas respostas", "Check your answers"),
    "change": ("Alterar", "Change"),
    "left_empty": ("(deixado em branco)", "(left empty)"),
    "declaration": (
        "Declaro que informei estes dados pessoalmente, agora, e que eles são verdadeiros. Autorizo"
        " {name} a enviá-los à plataforma de pagamentos.",
        "I declare that I have given these data myself, now, and that they are true. I authorise"
        " {name} to send them to the payment platform.",
    ),
    "declaration_missing": (
        "Marque a declaração para confirmar.",
        "Tick the declaration to confirm.",
    ),
    "confirm": ("Confirmar", "Confirm"),
    "receipt_title": ("Recebemos as suas respostas", "We have received your answers"),
    "receipt_number": ("Número do comprovante", "Receipt number"),
    "receipt_at": ("Confirmado em", "Confirmed on"),
    "receipt_save": ("Salvar o comprovante", "Save the receipt"),
    "receipt_keep": (
        "Guarde este número. Com ele, {name} encontra as suas respostas.",
        "Keep this number. With it, {name} finds your answers.",
    ),
    "receipt_waiting": (
        "{name} vai enviá-las à plataforma de pagamentos. Você não precisa fazer mais nada.",
        "{name} will send them to the payment platform. There is nothing more for you to do.",
    ),
    "receipt_sent": (
        "A plataforma de pagamentos aceitou as respostas. A revisão está concluída.",
        "The payment platform has accepted the answers. The review is complete.",
    ),
    "receipt_finished": (
        "A plataforma de pagamentos concluiu a revisão. Você não precisa fazer mais nada.",
        "The payment platform has finished the review. There is nothing more for you to do.",
    ),
    "receipt_refused": (
        "A plataforma de pagamentos recusou: {fields}. Corrija agora para concluir a revisão.",
        "The payment platform refused: {fields}. Correct it now to complete the review.",
    ),
    "correct": ("Corrigir agora", "Correct it now"),
    "leave": ("Sair", "Sign out"),
    "leave_why": (
        "Se outras pessoas usam este aparelho, saia para que não vejam as suas respostas.",
        "If other people use this device, sign out so that they do not see your answers.",
    ),
    "return": ("Voltar para {name}", "Back to {name}"),
    "invalid_title": ("Este link não funciona", "This link does not work"),
    "invalid": (
        "Se você já confirmou, recebemos as suas respostas. Senão, ele pode ter vencido, ter sido"
        " aberto em outro aparelho ou estar incompleto: peça um novo a {name}.",
        "If you have confirmed, we have received your answers. Otherwise it may have expired, have"
        " been opened on another device, or be incomplete: ask {name} for a new one.",
    ),
    "ended_title": ("A sessão terminou", "The session has ended"),
    "ended": (
        "Por segurança, ela termina depois de algum tempo. O que você respondeu está salvo. Se você"
        " ainda não confirmou, abra de novo o link que recebeu de {name}; se ele não abrir, peça um"
        " novo.",
        "For your safety it ends after some time. What you answered is saved. If you have not yet"
        " confirmed, open the link from {name} again; if it does not open, ask for a new one.",
    ),
    "left_title": ("Você saiu", "You have signed out"),
    "left": (
        "Recebemos as suas respostas. Neste aparelho, ninguém mais as vê por esta página.",
        "We have received your answers. On this device, nobody sees them on this page any more.",
    ),
    "limited_title": ("Muitas tentativas", "Too many attempts"),
    "limited": ("Espere alguns minutos e tente de novo.", "Wait a few minutes and try again."),
    "busy_title": ("Não conseguimos salvar agora", "We cannot save right now"),
    "busy": (
        "O que você já respondeu está salvo. Espere um momento e tente de novo.",
        "What you have answered already is saved. Wait a moment and try again.",
    ),
    "confirmed_title": ("A sua confirmação está salva", "Your confirmation is saved"),
    "confirmed": (
        "Recebemos as suas respostas. Só o comprovante não pode ser mostrado agora: espere um"
        " momento e tente de novo.",
        "We have received your answers. Only the receipt cannot be shown now: wait a moment and try"
        " again.",
    ),
    "again": ("Tentar de novo", "Try again"),
    "code_title": ("Confirme que é você", "Confirm that it is you"),
    "code_why": (
        "Este link já foi aberto em outro aparelho ou há algum tempo. Para continuar, é preciso um"
        " código, que chega a você por outro meio.",
        "This link was opened on another device or some time ago. To continue, you need a code,"
        " which comes to you by another way.",
    ),
    "code_send": ("Enviar o código", "Send the code"),
    "code_send_again": ("Enviar outro código", "Send another code"),
    "code_sent": (
        "Enviamos um código. Ele vale por 10 minutos.",
        "We have sent a code. It works for 10 minutes.",
    ),
    "code_label": ("Código de 6 dígitos", "6-digit code"),
    "code_wrong": (
        "O código não confere ou já venceu. Confira ou peça outro.",
        "The code is not right or has expired. Check it or ask for another.",
    ),
    "code_unsent": (
        "Não conseguimos enviar o código agora. Tente de novo em alguns minutos.",
        "We could not send the code now. Try again in a few minutes.",
    ),
    "code_used_up": (
        "Para este link não enviamos mais códigos. Peça um novo link a {name}.",
        "We send no more codes for this link. Ask {name} for a new link.",
    ),
    "code_check": ("Continuar", "Continue"),
    "mail_subject": ("Seu código: {code}", "Your code: {code}"),
    "mail": (
        "{code} é o seu código para continuar em {name}. Ele vale por 10 minutos. Não o passe a"
        " ninguém.",
        "{code} is your code to continue at {name}. It works for 10 minutes. Give it to nobody.",
    ),
}

_QUESTIONS: Final[Mapping[str, _Both]] = {
    "type": ("Como você vende?", "How do you sell?"),
    "revenue": ("Qual é a faixa do seu faturamento?", "What is your revenue band?"),
    "owner.revenue": (
        "Qual é a faixa de renda do representante legal?",
        "What is the income band of the legal representative?",
    ),
    "postal_code": ("Qual é o CEP do seu endereço?", "What is the postal code of your address?"),
    "owner.postal_code": (
        "Qual é o CEP do representante legal?",
        "What is the postal code of the legal representative?",
    ),
    "line1": ("Qual é o seu endereço?", "What is your address?"),
    "owner.line1": (
        "Qual é o endereço do representante legal?",
        "What is the address of the legal representative?",
    ),
    "line2": ("Qual é o complemento do endereço?", "What is the second line of the address?"),
    "line3": ("Em qual bairro fica?", "In which neighbourhood is it?"),
    "city": ("Em qual cidade e estado?", "In which city and state?"),
    "city alone": ("Em qual cidade?", "In which city?"),
    "state": ("Em qual estado?", "In which state?"),
    "country_code": ("Em qual país?", "In which country?"),
    "other": (
        "A plataforma de pagamentos pede mais uma informação",
        "The payment platform asks for one more thing",
    ),
}
_LABELS: Final[Mapping[str, _Both]] = {
    "type": ("Tipo de cadastro", "Kind of registration"),
    "revenue": ("Faturamento", "Revenue"),
    "owner.revenue": ("Renda", "Income"),
    "postal_code": ("CEP", "Postal code"),
    "line1": ("Rua e número", "Street and number"),
    "line2": ("Complemento", "Flat, floor or block"),
    "line3": ("Bairro", "Neighbourhood"),
    "city": ("Cidade", "City"),
    "state": ("Estado", "State"),
    "country_code": ("País", "Country"),
}
_HINTS: Final[Mapping[str, _Both]] = {
    "revenue": (
        "Escolha a faixa, não o valor exato.",
        "Choose the band, not the exact value.",
    ),
    "band": (
        "O menor e o maior valor da faixa, sem centavos: por exemplo, 5.000.",
        "The lowest and the highest value of the band, without cents: for example, 5000.",
    ),
    "postal_code": ("8 números, por exemplo 01310-100", "8 digits, for example 01310-100"),
    "other": ("Chamado pela plataforma de: {path}", "The platform calls it: {path}"),
}
CHOICES: Final[Mapping[str, _Both]] = {
    "individual": ("Como pessoa física (CPF)", "As an individual (CPF)"),
    "business": ("Como empresa (CNPJ)", "As a business (CNPJ)"),
    "from": ("De R$", "From R$"),
    "to": ("até R$", "to R$"),
    "band": ("De R$ {lower} até R$ {upper}", "From R$ {lower} to R$ {upper}"),
}
_FAULTS: Final[Mapping[str, _Both]] = {
    "missing": ("Preencha: {label}.", "Fill in: {label}."),
    "missing_choice": ("Escolha uma opção: {label}.", "Choose an option: {label}."),
    "postal_code": (
        "O CEP tem 8 números, por exemplo 01310-100.",
        "A postal code has 8 digits, for example 01310-100.",
    ),
    "long": (
        "{label}: use no máximo 200 caracteres.",
        "{label}: use at most 200 characters.",
    ),
    "characters": (
        "{label}: há um caractere que não pode ser enviado.",
        "{label}: it has a character that cannot be sent.",
    ),
    "amount": (
        "{label}: escreva só o valor, sem centavos. Por exemplo, 5.000.",
        "{label}: write the amount alone, without cents. For example, 5000.",
    ),
    "order": (
        "{label}: o primeiro valor deve ser menor que o segundo.",
        "{label}: the first value must be lower than the second.",
    ),
    "choice": ("Escolha uma das opções: {label}.", "Choose one of the options: {label}."),
}
_CHOSEN: Final = frozenset({"type", "bands", "state", "country"})


def text(code: str, language: Language, /, **values: str) -> str:
    """One text of the page."""
    return _said(TEXTS[code], language, **values)


def heading(question: Question, language: Language) -> str:
    """A screen's question."""
    first = question.fields[0]
    if first.kind == "other" or first.name not in _QUESTIONS:
        return _said(_QUESTIONS["other"], language)
    if first.name == "city" and len(question.fields) == 1:
        return _said(_QUESTIONS["city alone"], language)
    return _said(_of_person(_QUESTIONS, first), language)


def label(field: Field, language: Language) -> str:
    """An input's label; a path that the contract does not show stands for itself."""
    if field.kind == "other" or field.name not in _LABELS:
        return field.path
    return _said(_of_person(_LABELS, field), language)


def full_label(field: Field, language: Language) -> str:
    """An input's label where nothing around it says whose it is: a city of the business, or of its
    legal representative."""
    own = label(field, language)
    is_of_owner = field.kind != "other" and field.is_about_owner
    return f"{own} ({text('of_owner', language).lower()})" if is_of_owner else own


def hint(field: Field, language: Language) -> str:
    """A line beside an input; empty where it needs none."""
    code = {"other": "other", "band": "band", "bands": "revenue"}.get(field.kind, field.name)
    return _said(_HINTS[code], language, path=field.path) if code in _HINTS else ""


def fault(code: str, field: Field, language: Language) -> str:
    """What is wrong with an input, and what to do."""
    if code == "missing" and field.kind in _CHOSEN:
        code = "missing_choice"
    return _said(_FAULTS[code], language, label=label(field, language))


def value(field: Field, answered: object, language: Language) -> str:
    """An answer as the seller reads it."""
    known = str(answered)
    if not known:
        return text("left_empty", language)
    match field.kind:
        case "type":
            return _said(CHOICES[known], language)
        case "bands" | "band":
            return band(known, language)
        case "postal_code":
            return f"{known[:5]}-{known[5:]}"
        case "country":
            return countries(language).get(known, known)
        case _:
            return known


def band(known: str, language: Language) -> str:
    """A revenue band in words; one of another form stands for itself."""
    lower, separator, upper = known.partition("_to_")
    if not separator or not (lower.isdigit() and upper.isdigit()):
        return known
    ends = {
        "lower": _grouped(int(lower), language),
        "upper": _grouped(int(upper), language),
    }
    return _said(CHOICES["band"], language, **ends)


def choice(code: str, language: Language) -> str:
    """What stands beside a choice, or before one end of a band."""
    return _said(CHOICES[code], language)


def all_texts() -> list[Mapping[str, _Both]]:
    """Everything that is said, for its version."""
    return [TEXTS, _QUESTIONS, _LABELS, _HINTS, CHOICES, _FAULTS]


@cache
def countries(language: Language) -> Mapping[str, str]:
    """Code -> name of each country that a review may hold, Brazil first, then by name."""
    import pycountry

    names = Locale.parse(language, sep="-").territories
    known = {it.alpha_2: names.get(it.alpha_2, it.name) for it in pycountry.countries}
    brazil = known.pop("BR")
    return {"BR": brazil, **dict(sorted(known.items(), key=lambda pair: _without_accents(pair[1])))}


def minute(there: datetime, language: Language) -> str:
    """An instant on the marketplace's clock, with the clock's zone."""
    pattern, locale = _said(_MINUTE, language), Locale.parse(language, sep="-")
    return f"{dates.format_datetime(there, pattern, locale=locale)} ({there:%Z})"


def _of_person(texts: Mapping[str, _Both], field: Field) -> _Both:
    """The text of a field: one of its own, if there is one, where it is about a legal
    representative."""
    of_owner = f"owner.{field.name}"
    return texts[of_owner if field.is_about_owner and of_owner in texts else field.name]


def _without_accents(name: str) -> str:
    """By which names are put in order: else Áustria stands behind Zimbábue."""
    return "".join(it for it in unicodedata.normalize("NFD", name) if not unicodedata.combining(it))


def _grouped(number: int, language: Language) -> str:
    grouped = f"{number:,}"
    return grouped.replace(",", ".") if language == "pt-BR" else grouped


def _said(both: _Both, language: Language, /, **values: str) -> str:
    said = both[0] if language == "pt-BR" else both[1]
    return said.format(**values) if values else said
