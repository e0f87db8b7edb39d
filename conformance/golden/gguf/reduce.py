# SPDX-License-Identifier: Apache-2.0
"""Reduces GGUF files to the frequency tensors and all keys but the tokenizer's and quantized_by.
Copies the keys' bytes, so that writer and reader share no code."""

import struct

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9
KEPT_TENSORS = (b"rope_freqs.weight", b"rope_factors_long.weight", b"rope_factors_short.weight")
DROPPED_KEYS = (b"tokenizer.", b"general.quantized_by")
ALIGNMENT = 32


class File:
    """A little-endian file in memory, read in order."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def number(self, form):
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def text(self):
        length = self.number("Q")
        self.at += length
        return self.data[self.at - length:self.at]

    def skip_value(self, kind):
        if kind == STRING:
            self.text()
        elif kind != ARRAY:
            self.at += SIZES[kind]
        else:
            element, count = self.number("I"), self.number("Q")
            if element == STRING:
                for _ in range(count):
                    self.text()
            else:
                self.at += SIZES[element] * count


def keys_of(file, count):
    """The bytes of each kept key."""
    kept = []
    for _ in range(count):
        start = file.at
        name = file.text()
        file.skip_value(file.number("I"))
        if not name.startswith(DROPPED_KEYS):
            kept.append(file.data[start:file.at])
    return kept


def tensors_of(file, count):
    """Each kept tensor's name, extents and offset; all are float32."""
    kept = []
    for _ in range(count):
        name = file.text()
        extents = [file.number("q") for _ in range(file.number("I"))]
        kind, offset = file.number("I"), file.number("Q")
        if name in KEPT_TENSORS:
            assert kind == 0 and len(extents) == 1, name
            kept.append((name, extents[0], offset))
    return kept


def padded(size):
    return -size % ALIGNMENT


def reduced(data):
    file = File(data)
    assert data[:4] == b"GGUF", data[:4]
    file.at = 4
    version, tensor_count, key_count = file.number("I"), file.number("Q"), file.number("Q")
    keys = keys_of(file, key_count)
    tensors = tensors_of(file, tensor_count)
    start = file.at + padded(file.at)
    made = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join(keys)
    numbers = b""
    for name, count, offset in tensors:
        numbers += bytes(padded(len(numbers)))
        made += struct.pack("<Q", len(name)) + name
        made += struct.pack("<IqIQ", 1, count, 0, len(numbers))
        numbers += data[start + offset:start + offset + 4 * count]
    if tensors:
        made += bytes(padded(len(made))) + numbers
    return made
