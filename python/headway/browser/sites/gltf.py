"""Meshes of boxes as binary glTF 2.0, for the tiles of a city."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
_GLTF, _JSON, _BIN = b"glTF", b"JSON", b"BIN\0"
_FLOAT, _UINT16 = 5126, 5123
_VERTICES, _INDICES = 34962, 34963
_LINEAR_MIPMAP_LINEAR, _LINEAR, _CLAMP = 9987, 9729, 33071


@dataclass(frozen=True)
class Mesh:
    """Corners of shape (n, 3) in metres, texture coordinates (n, 2), light (n, 3), triangles."""

    corners: Floats
    texture: Floats
    light: Floats
    triangles: npt.NDArray[np.uint16]


def boxes(
    low: Floats, high: Floats, facade: Floats, roof: tuple[float, float], light: Floats
) -> Mesh:
    """Houses without floors, from their ``low`` and ``high`` corners (n, 3) in metres.

    ``facade`` (n, 4) is left, right, bottom and top of a wall's picture in the texture, ``roof`` a
    point with the roofs' colour, and ``light`` (5,) the light on the four walls and the roof.
    """
    x0, y0, z0 = low.T
    x1, y1, z1 = high.T
    walls = (
        ((x0, z1), (x1, z1)),
        ((x1, z1), (x1, z0)),
        ((x1, z0), (x0, z0)),
        ((x0, z0), (x0, z1)),
    )
    corners, texture, lights = [], [], []
    left, right, bottom, top = facade.T
    for number, ((ax, az), (bx, bz)) in enumerate(walls):
        corners.append(
            np.stack([(ax, y0, az), (bx, y0, bz), (bx, y1, bz), (ax, y1, az)]).transpose(2, 0, 1)
        )
        texture.append(
            np.stack([(left, bottom), (right, bottom), (right, top), (left, top)]).transpose(
                2, 0, 1
            )
        )
        lights.append(np.full((len(low), 4, 3), light[number]))
    corners.append(
        np.stack([(x0, y1, z1), (x1, y1, z1), (x1, y1, z0), (x0, y1, z0)]).transpose(2, 0, 1)
    )
    texture.append(np.broadcast_to(np.array(roof), (len(low), 4, 2)))
    lights.append(np.full((len(low), 4, 3), light[4]))
    faces = 5 * len(low)
    quads = 4 * np.arange(faces)[:, None] + np.array([0, 1, 2, 0, 2, 3])
    return Mesh(
        np.concatenate(corners).reshape(-1, 3).astype(np.float32),
        np.concatenate(texture).reshape(-1, 2).astype(np.float32),
        np.concatenate(lights).reshape(-1, 3).astype(np.float32),
        quads.reshape(-1).astype(np.uint16),
    )


def glb(mesh: Mesh, picture: bytes) -> bytes:
    """The mesh with a PNG texture, drawn with the picture's own brightness, as one binary file."""
    parts = [
        mesh.corners.tobytes(), mesh.texture.tobytes(), mesh.light.tobytes(),
        mesh.triangles.tobytes(), picture,
    ]  # fmt: skip
    views, binary = [], b""
    for number, part in enumerate(parts):
        view = {"buffer": 0, "byteOffset": len(binary), "byteLength": len(part)}
        if number < 4:
            view["target"] = _INDICES if number == 3 else _VERTICES
        views.append(view)
        binary += part + b"\0" * (-len(part) % 4)
    count = len(mesh.corners)
    document = {
        "asset": {"version": "2.0", "generator": "headway"},
        "extensionsUsed": ["KHR_materials_unlit"],
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [
            {
                "primitives": [
                    {
                        "attributes": {"POSITION": 0, "TEXCOORD_0": 1, "COLOR_0": 2},
                        "indices": 3,
                        "material": 0,
                    }
                ]
            }
        ],
        "materials": [
            {
                "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}},
                "extensions": {"KHR_materials_unlit": {}},
            }
        ],
        "textures": [{"source": 0, "sampler": 0}],
        "samplers": [
            {
                "magFilter": _LINEAR,
                "minFilter": _LINEAR_MIPMAP_LINEAR,
                "wrapS": _CLAMP,
                "wrapT": _CLAMP,
            }
        ],
        "images": [{"bufferView": 4, "mimeType": "image/png"}],
        "accessors": [
            {
                "bufferView": 0, "componentType": _FLOAT, "count": count, "type": "VEC3",
                "min": mesh.corners.min(axis=0).tolist(), "max": mesh.corners.max(axis=0).tolist(),
            },
            {"bufferView": 1, "componentType": _FLOAT, "count": count, "type": "VEC2"},
            {"bufferView": 2, "componentType": _FLOAT, "count": count, "type": "VEC3"},
            {
                "bufferView": 3, "componentType": _UINT16, "count": mesh.triangles.size,
                "type": "SCALAR",
            },
        ],
        "bufferViews": views,
        "buffers": [{"byteLength": len(binary)}],
    }  # fmt: skip
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I", len(text)) + _JSON + text
    chunks += struct.pack("<I", len(binary)) + _BIN + binary
    return _GLTF + struct.pack("<II", 2, 12 + len(chunks)) + chunks
