# SPDX-License-Identifier: Apache-2.0
"""Runs llama.cpp of the wheel xllamacpp through its C API, with float32 weights and cache. Flash
attention is off, because its values are float16."""

import ctypes
import os
import struct
import sys

import gguf
import numpy as np
import xllamacpp  # noqa: F401

LIBRARY = ctypes.CDLL(sys.modules["xllamacpp.xllamacpp"].__file__)
# Byte offsets in the pinned wheel's llama_context_params and ggml_tensor.
N_CTX, N_BATCH, N_UBATCH, THREADS, MORE_THREADS = 0, 4, 8, 28, 32
FLASH_ATTENTION, CALLBACK, TYPE_K, TYPE_V = 52, 88, 104, 108
SIZES, SOURCES, DATA = 16, 152, 248
NONE, F32 = 0, 0


def structure(size):
    """Returns the type of a struct of this size, which C passes by value."""
    fields = [("bytes", ctypes.c_ubyte * size), ("align", ctypes.c_void_p * 0)]
    return type("Structure", (ctypes.Structure,), {"_fields_": fields})


class Batch(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int32)] + [(name, ctypes.c_void_p) for name in (
        "tokens", "embeddings", "positions", "sequence_counts", "sequences", "outputs")]


for function, result in (("llama_model_default_params", structure(80)),
                         ("llama_context_default_params", structure(168)),
                         ("llama_model_load_from_file", ctypes.c_void_p),
                         ("llama_init_from_model", ctypes.c_void_p),
                         ("llama_get_logits", ctypes.POINTER(ctypes.c_float)),
                         ("ggml_op_desc", ctypes.c_char_p)):
    getattr(LIBRARY, function).restype = result


@ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_bool, ctypes.c_void_p)
def exact_gelu(tensor, asks, _):
    """llama.cpp calls this for each result. Recomputes each GEGLU (GELU of the gate, times the
    other half), because ggml looks up GELU in a float16 table."""
    if asks:
        return LIBRARY.ggml_op_desc(ctypes.c_void_p(tensor)) == b"GEGLU"
    gate, up = map(numbers, (ctypes.c_uint64 * 2).from_address(tensor + SOURCES))
    x = gate.astype(np.float64)
    numbers(tensor)[:] = x / 2 * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))) * up
    return True


def numbers(tensor):
    """A view of a contiguous float32 matrix."""
    columns, rows = (ctypes.c_int64 * 2).from_address(tensor + SIZES)
    data = ctypes.c_uint64.from_address(tensor + DATA).value
    return np.ctypeslib.as_array((ctypes.c_float * (columns * rows)).from_address(data))


def write_float32(path, weights, target):
    """Writes the GGUF model again, with dequantized weights and without vocabulary."""
    reader = gguf.GGUFReader(path)
    writer = gguf.GGUFWriter(target, reader.get_field("general.architecture").contents())
    for name, field in reader.fields.items():
        if len(field.types) == 1 and not name.startswith(("GGUF.", "general.arch", "tokenizer.")):
            writer.add_key_value(name, field.contents(), field.types[0])
    writer.add_tokenizer_model("no_vocab")
    if not reader.get_field(f"{writer.arch}.vocab_size"):
        writer.add_vocab_size(len(weights["token_embd.weight"]))
    for name, weight in weights.items():
        writer.add_tensor(name, weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class LlamaCpp:
    def __init__(self, path, words):
        LIBRARY.llama_backend_init()
        self.words = words
        self.model = ctypes.c_void_p(LIBRARY.llama_model_load_from_file(
            str(path).encode(), LIBRARY.llama_model_default_params()))
        if not self.model:
            raise RuntimeError(f"llama.cpp must load {path}, but does not")

    def logits(self, tokens, offset, decoded, observer=None):
        """Returns all logits. Prefills all but the last `decoded` tokens, then decodes the rest."""
        parameters, processors = LIBRARY.llama_context_default_params(), os.cpu_count()
        for place, number in ((N_CTX, len(tokens)), (N_BATCH, len(tokens)),
                              (N_UBATCH, len(tokens)), (THREADS, processors),
                              (MORE_THREADS, processors), (FLASH_ATTENTION, NONE),
                              (TYPE_K, F32), (TYPE_V, F32)):
            struct.pack_into("<i", parameters.bytes, place, number)
        struct.pack_into("<Q", parameters.bytes, CALLBACK,
                         ctypes.cast(observer, ctypes.c_void_p).value or 0)
        context = ctypes.c_void_p(LIBRARY.llama_init_from_model(self.model, parameters))
        begin = len(tokens) - decoded
        rows = [self._decode(context, tokens[:begin], offset)]
        rows += [self._decode(context, tokens[i:i + 1], offset + i)
                 for i in range(begin, len(tokens))]
        LIBRARY.llama_free(context)
        return np.concatenate(rows)

    def _decode(self, context, tokens, position):
        count, sequence = len(tokens), np.zeros(1, np.int32)
        arrays = (np.array(tokens, np.int32),
                  np.arange(position, position + count, dtype=np.int32), np.ones(count, np.int32),
                  np.full(count, sequence.ctypes.data, np.uintp), np.ones(count, np.int8))
        ids, *others = (each.ctypes.data for each in arrays)
        result = LIBRARY.llama_decode(context, Batch(count, ids, None, *others))
        if result != 0:
            raise RuntimeError(f"llama_decode must return 0, got {result}")
        return np.ctypeslib.as_array(LIBRARY.llama_get_logits(context), (count, self.words)).copy()
