# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's com.microsoft GroupQueryAttention, which rotates q and k and appends to a cache.

The cache is bound as input and output, so that it is not copied. In a decode step past keys are
already rotated. Each call rotates and stores the new key, as in a model.
"""

import numpy as np
from onnx import TensorProto, helper

from onnx_peer import bind, session_of
from runner import Called, heads_first
from workload import inv_freq

FLOAT = TensorProto.FLOAT


def graph_of(shape):
    q, k = ([1, shape.queries, heads * shape.head_dim] for heads in (shape.heads, shape.key_heads))
    cache = [1, shape.key_heads, shape.keys, shape.head_dim]
    rows = [shape.keys, shape.head_dim // 2]
    inputs = {"q": (FLOAT, q), "k": (FLOAT, k), "v": (FLOAT, k), "past_k": (FLOAT, cache),
              "past_v": (FLOAT, cache), "last_key": (TensorProto.INT32, [1]),
              "keys": (TensorProto.INT32, [1]), "cos": (FLOAT, rows), "sin": (FLOAT, rows)}
    outputs = {"out": (FLOAT, q), "present_k": (FLOAT, cache), "present_v": (FLOAT, cache)}
    node = helper.make_node("GroupQueryAttention", list(inputs), list(outputs),
                            domain="com.microsoft", num_heads=shape.heads,
                            kv_num_heads=shape.key_heads, do_rotary=1)
    return helper.make_graph([node], "attention", *(
        [helper.make_tensor_value_info(name, *of) for name, of in each.items()]
        for each in (inputs, outputs)))


class GroupQuery(Called):
    def __init__(self, work, _form, threads):
        self.work, shape = work, work.shape
        self.session = session_of(graph_of(shape), threads)
        self.binding = self.session.io_binding()
        self.arrays = self.inputs()  # the session reads their memory
        self.out = np.zeros((1, shape.queries, shape.heads * shape.head_dim), np.float32)
        for name, array in self.arrays.items():
            bind(self.binding.bind_input, name, array)
        bind(self.binding.bind_output, "out", self.out)
        for name in ("k", "v"):
            bind(self.binding.bind_output, f"present_{name}", self.arrays[f"past_{name}"])

    def inputs(self):
        work, shape = self.work, self.work.shape
        new = slice(shape.keys - shape.queries, None)
        angles = np.outer(np.arange(shape.keys), inv_freq(work.head_dim, work.base))
        turned = work.turned(work.k.astype(np.float64), np.arange(shape.keys))
        return {"q": work.q.reshape(1, shape.queries, -1),
                "k": work.k[new].reshape(1, shape.queries, -1),
                "v": work.v[new].reshape(1, shape.queries, -1),
                "past_k": heads_first(turned.astype(np.float32))[None],
                "past_v": heads_first(work.v)[None],
                "last_key": np.array([shape.keys - 1], np.int32),
                "keys": np.array([shape.keys], np.int32),
                "cos": np.cos(angles).astype(np.float32),
                "sin": np.sin(angles).astype(np.float32)}

    def call(self):
        self.session.run_with_iobinding(self.binding)

    def result(self):
        self.out[...] = 0
        self.call()
        return self.out
