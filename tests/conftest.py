"""What every test shares: how hard hypothesis looks.

By default each property tries a hundred examples, the same ones each time. Before a release, or
after a change of `queries/`: `pytest --hypothesis-profile=thorough --timeout=0`.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "usual",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.register_profile(
    "thorough",
    max_examples=10_000,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("usual")
