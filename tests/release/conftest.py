"""The image, built once for all that a release is tried by."""

from tests.release.containers import image  # noqa: F401
