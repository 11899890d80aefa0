"""Payloads, the answers beside them, and the bytes they are sent as."""

import json

from hypothesis import strategies as st

CITY = {"city": "Recife"}
ADDRESS = {
    "line1": "Rua A, 1",
    "line3": "Centro",
    "city": "Recife",
    "state": "PE",
    "postal_code": "50000000",
    "country_code": "BR",
}
PAYLOADS = [
    {"type": "individual", "revenue": "1000_to_5000", "address": ADDRESS},
    {"type": "individual", "revenue": "1000_to_5000", "address": {**ADDRESS, "line2": "ap 2"}},
    {"type": "individual", "revenue": "1000_to_5000", "address": CITY},
    {"type": "individual", "revenue": "1000_to_5000"},
    {"type": "individual", "revenue": "5000_to_9000", "address": CITY},
    {
        "type": "business",
        "revenue": "1000_to_5000",
        "address": ADDRESS,
        "owner": {"revenue": "1000_to_5000", "address": ADDRESS},
    },
    {"type": "business", "revenue": "1000_to_5000", "address": ADDRESS, "owner": {}},
    {"type": "individual", "documents": {"selfie": ["a", {"b": 1}]}},
]
ANSWERS = [
    {"revenue": "1000_to_5000"},
    {"revenue": "5000_to_9000"},
    {"revenue": 1000},
    {"address": ADDRESS},
    {"address": CITY, "revenue": "1000_to_5000"},
    {"address.city": "Recife"},
    {"address.city": "Olinda", "revenue": "1000_to_5000"},
    {"owner": {"revenue": "1000_to_5000", "address": ADDRESS}, "address": ADDRESS},
    {"documents.selfie": ["a", {"b": 1}]},
    {},
]
ARTIFACTS = [{"name": "screen.png", "media_type": "image/png", "sha256": "ab" * 32}]


def texts(value: object) -> st.SearchStrategy[str]:
    """One JSON value in one of three spellings: other bytes, same meaning."""
    return st.sampled_from(
        [
            json.dumps(value, separators=(",", ":"), ensure_ascii=False),
            json.dumps(value, separators=(",", ":"), ensure_ascii=False),
            json.dumps(value),
            json.dumps(value, sort_keys=True, indent=1),
        ]
    )


@st.composite
def payload_texts(draw, process_id: str) -> str:
    payload = {"process_id": process_id, **draw(st.sampled_from(PAYLOADS))}
    return draw(
        st.one_of(
            st.just(json.dumps(payload)),
            st.just(json.dumps(payload)),
            st.just(json.dumps(payload)),
            st.just(json.dumps(payload, sort_keys=True)),
            st.just(json.dumps({key: payload[key] for key in payload if key != "process_id"})),
            st.sampled_from(["", "[]", '{"type":"individual","type":"business"}']),
        )
    )
