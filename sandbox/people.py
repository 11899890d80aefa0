"""Synthetic Brazilian sellers: people and firms with plausible data that belong to nobody.

Every value comes from the `random.Random` passed in. E-mail addresses end in `.example`
(RFC 2606), and telephone numbers are in the unassigned 90000 block. Taxpayer numbers have correct
check digits, because readers check those first.
"""

import random
import unicodedata
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

SellerType = Literal["individual", "business"]

REVENUE_BANDS = (
    "1000_to_5000",
    "5000_to_15000",
    "15000_to_50000",
    "50000_to_150000",
    "150000_to_500000",
    "500000_to_2000000",
)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_FIRST_NAMES = _words(
    "Ana Adriana Aline Amanda Antônio Beatriz Bianca Bruno Caio Camila Carla Carlos Cauã Cecília "
    "César Clara Daniel Débora Diego Eduardo Elaine Elias Fabiana Felipe Fernanda Flávio Gabriel "
    "Gabriela Gustavo Helena Heitor Igor Isabela Ivone Joana João Jorge José Júlia Juliana Larissa "
    "Laura Leandro Letícia Lucas Luciana Luís Luzia Marcela Marcos Maria Mariana Mateus Miguel "
    "Natália Nelson Otávio Patrícia Paulo Pedro Priscila Rafael Raquel Renata Ricardo Roberto "
    "Rodrigo Rosa Samuel Sandra Sérgio Simone Sofia Sônia Tatiana Thiago Valéria Vanessa Vera "
    "Vicente Vinícius Vitória Wagner Yasmin"
)

_SURNAMES = _words(
    "Almeida Alves Amaral Andrade Araújo Barbosa Barros Batista Borges Brito Campos Cardoso "
    "Carvalho Castro Cavalcanti Coelho Correia Costa Cunha Dantas Dias Duarte Esteves Farias "
    "Fernandes Ferreira Figueiredo Fonseca Freitas Gomes Gonçalves Guimarães Lacerda Lima Lopes "
    "Macedo Machado Magalhães Marques Martins Medeiros Melo Mendes Miranda Monteiro Moraes Moreira "
    "Moura Nascimento Neves Nogueira Nunes Oliveira Pacheco Paiva Peixoto Pereira Pinto Pires "
    "Queiroz Ramos Rezende Ribeiro Rocha Rodrigues Sales Santana Santos Silva Silveira Siqueira "
    "Soares Souza Tavares Teixeira Torres Vasconcelos Vieira Xavier"
)

# city, state, telephone area code, first five digits of a postal code there, neighbourhoods
_CITIES: tuple[tuple[str, str, str, str, tuple[str, ...]], ...] = (
    ("São Paulo", "SP", "11", "01310", ("Bela Vista", "Consolação", "Paraíso")),
    ("São Paulo", "SP", "11", "05422", ("Pinheiros", "Alto de Pinheiros", "Sumaré")),
    ("Campinas", "SP", "19", "13015", ("Centro", "Cambuí", "Bosque")),
    ("Rio de Janeiro", "RJ", "21", "22041", ("Copacabana", "Leme", "Ipanema")),
    ("Niterói", "RJ", "21", "24220", ("Icaraí", "Santa Rosa", "Ingá")),
    ("Belo Horizonte", "MG", "31", "30140", ("Funcionários", "Savassi", "Lourdes")),
    ("Uberlândia", "MG", "34", "38400", ("Centro", "Martins", "Fundinho")),
    ("Curitiba", "PR", "41", "80420", ("Batel", "Água Verde", "Bigorrilho")),
    ("Londrina", "PR", "43", "86020", ("Centro", "Gleba Palhano", "Aurora")),
    ("Porto Alegre", "RS", "51", "90035", ("Bom Fim", "Moinhos de Vento", "Rio Branco")),
    ("Caxias do Sul", "RS", "54", "95020", ("Centro", "São Pelegrino", "Lourdes")),
    ("Florianópolis", "SC", "48", "88015", ("Centro", "Agronômica", "Trindade")),
    ("Salvador", "BA", "71", "40140", ("Barra", "Graça", "Ondina")),
    ("Recife", "PE", "81", "51020", ("Boa Viagem", "Pina", "Setúbal")),
    ("Fortaleza", "CE", "85", "60165", ("Meireles", "Aldeota", "Varjota")),
    ("Belém", "PA", "91", "66055", ("Nazaré", "Umarizal", "Batista Campos")),
    ("Manaus", "AM", "92", "69057", ("Adrianópolis", "Vieiralves", "Parque Dez")),
    ("Goiânia", "GO", "62", "74120", ("Setor Oeste", "Setor Bueno", "Setor Marista")),
    ("Brasília", "DF", "61", "70640", ("Cruzeiro Novo", "Sudoeste", "Octogonal")),
    ("Vitória", "ES", "27", "29055", ("Praia do Canto", "Santa Lúcia", "Barro Vermelho")),
)

_STREETS = (
    "Rua das Acácias",
    "Rua dos Ipês",
    "Rua Sete de Setembro",
    "Rua Quinze de Novembro",
    "Avenida Brasil",
    "Rua Barão do Rio Branco",
    "Rua Marechal Deodoro",
    "Rua Santos Dumont",
    "Avenida Getúlio Vargas",
    "Rua Tiradentes",
    "Rua Duque de Caxias",
    "Travessa das Flores",
    "Rua Machado de Assis",
    "Rua Castro Alves",
    "Alameda dos Jacarandás",
    "Rua Dom Pedro II",
)

_COMPLEMENTS = ("Apto {n}", "Casa {n}", "Sala {n}", "Bloco B, apto {n}", "Fundos", "Loja {n}")

# trade, merchant category code
_TRADES = (
    ("Artesanato", "5947"),
    ("Calçados", "5661"),
    ("Confeitaria", "5462"),
    ("Cosméticos", "5977"),
    ("Eletrônicos", "5732"),
    ("Ferragens", "5251"),
    ("Livraria", "5942"),
    ("Modas", "5651"),
    ("Móveis", "5712"),
    ("Pet Shop", "5995"),
    ("Papelaria", "5943"),
    ("Suplementos", "5499"),
)


@dataclass(frozen=True)
class Address:
    """An address in the seller API's line format."""

    line1: str
    line2: str
    line3: str
    city: str
    state: str
    postal_code: str
    country_code: str = "BR"


@dataclass(frozen=True)
class Profile:
    """Who a seller is. For a business, the names are the legal representative's."""

    type: SellerType
    first_name: str
    last_name: str
    email: str
    taxpayer_id: str
    phone_number: str
    birthdate: str
    document_number: str
    mcc: str
    revenue: str
    address: Address
    trade_name: str | None = None
    owner_revenue: str | None = None
    owner_address: Address | None = None

    @property
    def full_name(self) -> str:
        return f"{self.first_name} {self.last_name}"


def person(rng: random.Random) -> Profile:
    """An individual seller."""
    first, last = _name(rng)
    city = rng.choice(_CITIES)
    return Profile(
        type="individual",
        first_name=first,
        last_name=last,
        email=_email(rng, f"{first}.{last}", "correio.example"),
        taxpayer_id=cpf(rng),
        phone_number=_phone_number(rng, city[2]),
        birthdate=_birthdate(rng),
        document_number=str(rng.randint(10_000_000, 59_999_999)),
        mcc=rng.choice(_TRADES)[1],
        revenue=rng.choice(REVENUE_BANDS[:4]),
        address=_address_in(rng, city),
    )


def business(rng: random.Random) -> Profile:
    """A business seller with a legal representative."""
    first, last = _name(rng)
    trade, mcc = rng.choice(_TRADES)
    city = rng.choice(_CITIES)
    surname = last.split()[-1]
    return Profile(
        type="business",
        first_name=first,
        last_name=last,
        email=_email(rng, "contato", f"{_ascii(trade + surname)}.example"),
        taxpayer_id=cnpj(rng),
        phone_number=_phone_number(rng, city[2]),
        birthdate=_birthdate(rng),
        document_number=str(rng.randint(10_000_000, 59_999_999)),
        mcc=mcc,
        revenue=rng.choice(REVENUE_BANDS[2:]),
        address=_address_in(rng, city),
        trade_name=f"{trade} {surname} Ltda",
        owner_revenue=rng.choice(REVENUE_BANDS[:4]),
        owner_address=_address_in(rng, city),
    )


def anybody(rng: random.Random) -> Profile:
    """A person or a firm: two sellers in three are people."""
    return business(rng) if rng.random() < 1 / 3 else person(rng)


def restated(rng: random.Random, profile: Profile) -> Profile:
    """The seller states everything again, with another turnover and another street in the city."""
    owner = profile.owner_address
    return replace(
        profile,
        revenue=_other_band(rng, profile.revenue),
        address=_elsewhere(rng, profile.address),
        owner_revenue=_other_band(rng, profile.owner_revenue) if owner else None,
        owner_address=_elsewhere(rng, owner) if owner else None,
    )


def corrected(rng: random.Random, profile: Profile) -> Profile:
    """The same taxpayer trying again: new photographs and contacts, a corrected name."""
    city = next(c for c in _CITIES if c[0] == profile.address.city)
    return replace(
        profile,
        last_name=f"{profile.last_name.split()[0]} {rng.choice(_SURNAMES)}",
        phone_number=_phone_number(rng, city[2]),
    )


def cpf(rng: random.Random) -> str:
    """A person's taxpayer number: eleven digits, of which the last two are check digits."""
    digits = [rng.randint(0, 9) for _ in range(9)]
    for first_weight in (10, 11):
        digits.append(_check_digit(digits, list(range(first_weight, 1, -1))))
    return "".join(map(str, digits))


def cnpj(rng: random.Random) -> str:
    """A firm's taxpayer number: eight digits, `0001` for the head office, and two check digits."""
    digits = [rng.randint(0, 9) for _ in range(8)] + [0, 0, 0, 1]
    weights = [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]
    digits.append(_check_digit(digits, weights))
    digits.append(_check_digit(digits, [6, *weights]))
    return "".join(map(str, digits))


def _elsewhere(rng: random.Random, known: Address) -> Address:
    return replace(
        known,
        line1=f"{rng.choice(_STREETS)}, {rng.randint(10, 2990)}",
        line2=rng.choice(_COMPLEMENTS).format(n=rng.randint(11, 204)),
        line3=rng.choice(next(c[4] for c in _CITIES if c[0] == known.city)),
        postal_code=f"{known.postal_code[:5]}{rng.randint(0, 999):03d}",
    )


def _other_band(rng: random.Random, known: str | None) -> str:
    return rng.choice([band for band in REVENUE_BANDS if band != known])


def _check_digit(digits: list[int], weights: list[int]) -> int:
    rest = sum(d * w for d, w in zip(digits, weights, strict=True)) % 11
    return 0 if rest < 2 else 11 - rest


def _name(rng: random.Random) -> tuple[str, str]:
    first = rng.choice(_FIRST_NAMES)
    one, other = rng.sample(_SURNAMES, 2)
    return first, f"{one} {other}" if rng.random() < 0.5 else one


def _email(rng: random.Random, mailbox: str, domain: str) -> str:
    return f"{_ascii(mailbox)}{rng.randint(1, 999)}@{domain}"


def _ascii(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return plain.lower().replace(" ", "")


def _phone_number(rng: random.Random, area_code: str) -> str:
    return f"55{area_code}90000{rng.randint(0, 9999):04d}"


def _birthdate(rng: random.Random) -> str:
    return (date(1955, 1, 1) + timedelta(days=rng.randint(0, 49 * 365))).isoformat()


def _address_in(rng: random.Random, city: tuple[str, str, str, str, tuple[str, ...]]) -> Address:
    name, state, _, postal_prefix, neighbourhoods = city
    return Address(
        line1=f"{rng.choice(_STREETS)}, {rng.randint(10, 2990)}",
        line2=rng.choice(_COMPLEMENTS).format(n=rng.randint(11, 204)),
        line3=rng.choice(neighbourhoods),
        city=name,
        state=state,
        postal_code=f"{postal_prefix}{rng.randint(0, 999):03d}",
    )
