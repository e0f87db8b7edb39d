# SPDX-License-Identifier: Apache-2.0
"""Writes GGUF files of version 3: a header, keys and a list of tensors."""

import struct

# The numbers of GGUF's types. A key's type follows from its Python value. A list is stored with two
# types: ARRAY, then the type of its elements.
UINT32, FLOAT32, BOOLEAN, STRING, ARRAY = 4, 6, 7, 8, 9
FORMATS = {UINT32: "I", FLOAT32: "f", BOOLEAN: "?"}


def type_of(value):
    if isinstance(value, list):
        return ARRAY
    return {bool: BOOLEAN, int: UINT32, float: FLOAT32, str: STRING}[type(value)]


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def encoded_value(value):
    kind = type_of(value)
    if kind == STRING:
        return text(value)
    if kind != ARRAY:
        return struct.pack("<" + FORMATS[kind], value)
    element = type_of(value[0])
    head = struct.pack("<IQ", element, len(value))
    if element == STRING:
        return head + b"".join(map(text, value))
    return head + struct.pack(f"<{len(value)}{FORMATS[element]}", *value)


def encoded(keys, tensors=()):
    """Encodes a file. `tensors` names tensors of one number each, whose data are left out."""
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(keys))]
    for name, value in keys.items():
        parts += [text(name), struct.pack("<I", type_of(value)), encoded_value(value)]
    for i, name in enumerate(tensors):
        parts += [text(name), struct.pack("<IQIQ", 1, 1, 0, 32 * i)]
    return b"".join(parts)


def llama(**keys):
    """Returns the keys of Llama 3.1, changed or extended by the given keys. "__" stands for a dot,
    as in "rope__freq_base"."""
    own = {"block_count": 32, "context_length": 131072, "embedding_length": 4096,
           "attention__head_count": 32, "attention__head_count_kv": 8,
           "rope__freq_base": 500000.0, "rope__dimension_count": 128}
    named = {"llama." + name.replace("__", "."): value for name, value in (own | keys).items()}
    return {"general.architecture": "llama"} | named
