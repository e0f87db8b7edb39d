# SPDX-License-Identifier: Apache-2.0
"""Reduces GGUF files to the frequency tensors and all keys but the tokenizer's and quantized_by.
llama.cpp's gguf-py reads the file, and must be on the import path. The keys' bytes are copied."""

import struct

TENSORS = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")
DROPPED_KEYS = ("GGUF.", "tokenizer.", "general.quantized_by")  # GGUF.: the header
ALIGNMENT = 32


def padded(size):
    return -size % ALIGNMENT


def reduced(path):
    import gguf
    reader = gguf.GGUFReader(path)
    keys = [field for name, field in reader.fields.items() if not name.startswith(DROPPED_KEYS)]
    tensors = [tensor for tensor in reader.tensors if tensor.name in TENSORS]
    made = b"GGUF" + struct.pack("<IQQ", reader.fields["GGUF.version"].parts[0][0], len(tensors),
                                 len(keys))
    made += b"".join(part.tobytes() for field in keys for part in field.parts)
    numbers = b""
    for tensor in tensors:
        assert tensor.tensor_type == 0 and len(tensor.shape) == 1, tensor.name  # float32
        numbers += bytes(padded(len(numbers)))
        made += struct.pack("<Q", len(tensor.name)) + tensor.name.encode()
        made += struct.pack("<IqIQ", 1, tensor.shape[0], 0, len(numbers))
        numbers += tensor.data.tobytes()
    if tensors:
        made += bytes(padded(len(made))) + numbers
    return made
