"""Draws what a seller saw in a journey: small PNG screens, a different one for each key.

They stand for the screenshots a marketplace keeps as evidence; drawn, so that no binary files
need to be carried along, and the same key gives the same bytes.
"""

import hashlib
import struct
import zlib

WIDTH, HEIGHT = 180, 320
_PAPER, _BRAND, _FIELD, _INK, _BUTTON = range(5)


def screen(key: str, fields: int) -> bytes:
    """A form with so many filled fields (at most eight are drawn) as PNG bytes."""
    noise = hashlib.sha256(key.encode()).digest()
    rows = [bytearray([_PAPER]) * WIDTH for _ in range(HEIGHT)]

    def box(left: int, top: int, width: int, height: int, colour: int) -> None:
        for row in rows[top : top + height]:
            row[left : left + width] = bytes([colour]) * width

    box(0, 0, WIDTH, 36, _BRAND)
    box(14, 14, 40 + noise[0] % 60, 8, _PAPER)
    for number in range(min(fields, 8)):
        top = 50 + number * 28
        box(14, top, 24 + noise[number + 1] % 30, 3, _INK)
        box(14, top + 6, WIDTH - 28, 16, _FIELD)
        box(20, top + 12, 30 + noise[number + 9] % 90, 4, _INK)
    box(14, HEIGHT - 36, WIDTH - 28, 22, _BUTTON)
    box(60, HEIGHT - 27, 60, 4, _PAPER)

    brand = (40 + noise[17] % 60, 60 + noise[18] % 60, 110 + noise[19] % 60)
    palette = bytes((255, 255, 255, *brand, 238, 241, 245, 90, 98, 110, 34, 139, 94))
    # Each row begins with its filter: none.
    pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0)  # 8 bits, indexed colours
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, data)
        for kind, data in ((b"IHDR", header), (b"PLTE", palette), (b"IDAT", pixels), (b"IEND", b""))
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
