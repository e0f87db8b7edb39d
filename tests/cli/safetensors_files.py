# SPDX-License-Identifier: Apache-2.0
"""Safetensors files, written and read as their format says: a size, a JSON header, data."""

import json
import struct

import numpy as np

DTYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64, "BF16": np.uint16,
          "U8": np.uint8, "I64": np.int64}


def encoded(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def save(path, tensors, metadata=None, dtype=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, array in tensors.items():
        kind = dtype or next(name for name, type in DTYPES.items() if type == array.dtype.type)
        header[name] = {"dtype": kind, "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
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
