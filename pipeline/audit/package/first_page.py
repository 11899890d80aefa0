"""Holds the words of a package's first page, which says what the package is and how to check it."""

from collections.abc import Mapping
from typing import Final

FIRST_PAGE: Final[Mapping[str, tuple[str, str]]] = {
    "start_title": ("Start here", "Comece por aqui"),
    "start_what": (
        "This is an audit package. It shows what a payment platform asked of a marketplace's"
        " sellers, what was collected from them, what was sent and what the platform answered,"
        " as a log holds it that nobody can change unseen.",
        "Este é um pacote de auditoria. Ele mostra o que uma plataforma de pagamentos pediu aos"
        " vendedores de um marketplace, o que foi coletado deles, o que foi enviado e o que a"
        " plataforma respondeu, conforme um log que ninguém consegue alterar sem deixar rastro.",
    ),
    "start_asked": ("What was asked for", "O que foi solicitado"),
    "start_read": ("Read it", "Para ler"),
    "start_report": ("The report", "O relatório"),
    "start_artifacts": (
        "The folder data/artifacts holds files as sellers and the marketplace's programs sent them:"
        " a web page among them runs its scripts when you open it, and may look like one of ours.",
        "A pasta data/artifacts contém arquivos como vendedores e programas do marketplace os"
        " enviaram: uma página web entre eles executa seus scripts ao ser aberta e pode se parecer"
        " com uma das nossas.",
    ),
    "start_tables": (
        "The same as tables: processes.csv, entries.csv, findings.csv and coverage.csv in the"
        " folder data. A spreadsheet opens them.",
        "O mesmo em tabelas: processes.csv, entries.csv, findings.csv e coverage.csv, na pasta"
        " data. Abra-as em uma planilha.",
    ),
    "start_check": ("Check it before you rely on it", "Confira antes de confiar"),
    "start_key": (
        "Get the key of this log from the marketplace by another route than this package, such as"
        " its website or a call. It should be this one:",
        "Obtenha a chave deste log com o marketplace por outro meio que não este pacote, como o"
        " site ou um telefonema. Ela deve ser esta:",
    ),
    "start_verifier": (
        "Take verify.py from the source of Prazo, or the one in this package if you trust whoever"
        " made it. It needs Python 3.9 and OpenSSL 3.0, or newer ones, and no network:",
        "Use o verify.py do código-fonte do Prazo, ou o deste pacote, se você confia em quem o fez."
        " Ele precisa do Python 3.9 e do OpenSSL 3.0, ou mais novos, sem acesso à rede:",
    ),
    "start_stands_for": (
        "PACKAGE.zip stands for the file that you were given, as it came: not for the folder into"
        " which it was unpacked. KEY stands for the key that you got.",
        "PACKAGE.zip é o arquivo que você recebeu, como chegou, e não a pasta em que foi"
        " descompactado. KEY é a chave que você obteve.",
    ),
    "start_verdict": (
        "It ends with VERIFIED, names each fault, or says what it cannot decide. It also says what"
        " it did not check; that much is the word of whoever made the package, and so is this"
        " page.",
        "No fim ele diz VERIFIED, aponta cada falha ou diz o que não pode decidir. Diz também o que"
        " não foi verificado: isso é a palavra de quem fez o pacote, assim como esta página.",
    ),
    "start_ask": ("Whom to ask", "A quem perguntar"),
    "start_nobody": ("Whoever handed you this package.", "A quem lhe entregou este pacote."),
    "start_name": (
        "Name the log and what was asked for, as they stand above.",
        "Informe o log e o que foi solicitado, como constam acima.",
    ),
    "start_personal": (
        "The package holds personal data in full. Keep it where only those can open it who need it,"
        " and delete it when the audit is over.",
        "O pacote contém dados pessoais completos. Guarde-o onde só quem precisa possa abri-lo e"
        " apague-o ao fim da auditoria.",
    ),
    "start_masked": (
        "Sellers' personal data is masked in this package. The names of the marketplace's own"
        " people, and the reasons and notes that they wrote, are not. What is left can still lead"
        " to a person: keep it with care.",
        "Os dados pessoais dos vendedores estão mascarados neste pacote. Os nomes das pessoas do"
        " próprio marketplace e os motivos e anotações que elas escreveram não estão. O que resta"
        " ainda pode levar a uma pessoa: guarde-o com cuidado.",
    ),
}
"""Name -> English, Portuguese."""
