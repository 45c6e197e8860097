"""Pictures as PNG with a chosen level of compression, so that a site's sizes can be chosen."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGB_8_BITS = bytes([8, 2, 0, 0, 0])


def png(pixels: npt.NDArray[np.uint8], level: int = 9) -> bytes:
    """RGB of shape (height, width, 3) as a PNG file; level 0 does not compress the pixels."""
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), dtype=np.uint8)  # column 0: the rows' PNG filter, none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">II", width, height) + _RGB_8_BITS
    return (
        _SIGNATURE
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(rows.tobytes(), level))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
