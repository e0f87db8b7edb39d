# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's com.microsoft RotaryEmbedding: a graph with a node for q and one for k.

A session call costs microseconds. For few tokens the graph is therefore a chain of layers, as in a
model: each layer rotates the previous result.
"""

import functools

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from runner import Called, chain_of
from torch_peer import float32_angles
from verify import Recipe

ELEMENT = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16}


def graph_of(work, layers):
    element, pairs = ELEMENT[work.dtype], work.head_dim // 2
    nodes, inputs, outputs = [], [], []
    for name, heads in (("q", work.query_heads), ("k", work.key_heads)):
        shape = (1, work.tokens, heads * work.head_dim)
        inputs.append(helper.make_tensor_value_info(name, element, shape))
        outputs.append(helper.make_tensor_value_info(f"{name}_out", element, shape))
        edges = [name, *(f"{name}_{layer}" for layer in range(1, layers)), f"{name}_out"]
        for before, after in zip(edges, edges[1:]):
            nodes.append(helper.make_node(
                "RotaryEmbedding", [before, "first", "cos", "sin"], [after], domain="com.microsoft",
                interleaved=int(work.pairing == "interleaved"), num_heads=heads))
    inputs.append(helper.make_tensor_value_info("first", TensorProto.INT64, (1,)))
    for name in ("cos", "sin"):
        rows = work.first + work.tokens
        inputs.append(helper.make_tensor_value_info(name, element, (rows, pairs)))
    return helper.make_graph(nodes, "rotary", inputs, outputs)


def session_of(graph, threads):
    model = helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Spinning threads would take processors from the contestant being measured.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


def bind(to, name, array):
    to(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)


class RotaryEmbedding(Called):
    recipe = Recipe("float32", 3)

    def __init__(self, work, threads):
        self.work = work
        self.chain = chain_of(work)
        self.session = session_of(graph_of(work, self.chain), threads)
        self.binding = self.session.io_binding()
        self.arrays = self.inputs()  # the session reads their memory
        for name, array in self.arrays.items():
            bind(self.binding.bind_input, name, array)
        for name, array in (("q_out", work.q_out), ("k_out", work.k_out)):
            bind(self.binding.bind_output, name, array.reshape(1, work.tokens, -1))
        self.call = functools.partial(self.session.run_with_iobinding, self.binding)

    def inputs(self):
        work, dtype = self.work, self.work.q.dtype
        angles = np.zeros((work.first + work.tokens, work.head_dim // 2), np.float32)
        rows = float32_angles(work, work.tokens, work.first)
        cos, sin = np.cos(angles), np.sin(angles)
        cos[work.first:], sin[work.first:] = rows.cos().numpy(), rows.sin().numpy()
        return {"q": work.q.reshape(1, work.tokens, -1), "k": work.k.reshape(1, work.tokens, -1),
                "first": np.array([work.first], np.int64),
                "cos": cos.astype(dtype), "sin": sin.astype(dtype)}

    def result(self):
        self.work.fill()
        self.call()
        return self.work.q_out, self.work.k_out
