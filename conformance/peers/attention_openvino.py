# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's ScaledDotProductAttention on its CPU plugin, float32 in and out.

With the hint bf16 the plugin computes in bfloat16 if the processor can; else it ignores the hint.
"""

import numpy as np
import openvino
from openvino import opset13 as operations

from runner import Called, heads_first
from openvino_peer import compiled


class Fused(Called):
    def __init__(self, work, form, threads):
        self.work = work
        shape = work.shape
        self.inputs = [heads_first(each)[None] for each in (work.q, work.k, work.v)]
        if shape.heads != shape.key_heads:
            # The plugin has no grouped heads. In a decode step the queries of a group see the same
            # keys, so they can be passed as queries of one head.
            if not shape.is_decode():
                raise RuntimeError(f"{shape}: grouped heads need a decode step")
            self.inputs[0] = self.inputs[0].reshape(1, shape.key_heads, -1, shape.head_dim)
        parameters = [operations.parameter(each.shape, np.float32) for each in self.inputs]
        attention = operations.scaled_dot_product_attention(
            *parameters, causal=not shape.is_decode())
        model = openvino.Model([attention], parameters, "attention")
        self.request = compiled(model, threads, form.dtype).create_infer_request()
        for index, each in enumerate(self.inputs):
            self.request.set_input_tensor(index, openvino.Tensor(each, shared_memory=True))

    def call(self):
        self.request.infer()

    def result(self):
        self.call()
        shape = self.work.shape
        out = self.request.get_output_tensor(0).data
        return heads_first(out.reshape(shape.heads, shape.queries, -1))
