# SPDX-License-Identifier: Apache-2.0
"""Writes and reads safetensors files: a size, a JSON header, data."""

import json
import struct

import numpy as np

DTYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64, "BF16": np.uint16,
          "U8": np.uint8, "I64": np.int64}

# The width in bits of every dtype of safetensors 0.8.
BITS = ({"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
        | dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ",
                         "F8_E5M2FNUZ"), 8)
        | dict.fromkeys(("I16", "U16", "F16", "BF16"), 16)
        | dict.fromkeys(("I32", "U32", "F32"), 32)
        | dict.fromkeys(("C64", "F64", "I64", "U64"), 64))


def encoded(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def save(path, tensors):
    dtypes = {type: name for name, type in DTYPES.items()}
    save_bytes(path, {name: (dtypes[array.dtype.type], array.shape, array.tobytes())
                      for name, array in tensors.items()})


def save_bytes(path, tensors):
    """Saves tensors with metadata. `tensors` maps each name to (dtype, shape, bytes)."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(encoded(text + b" " * (-len(text) % 8), data))


def load(path):
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    header.pop("__metadata__", None)
    data = raw[8 + size:]
    return {name: np.frombuffer(data[slice(*about["data_offsets"])],
                                DTYPES[about["dtype"]]).reshape(about["shape"])
            for name, about in header.items()}
