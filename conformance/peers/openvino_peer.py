# SPDX-License-Identifier: Apache-2.0
"""OpenVINO: the graph of rotate_half, which its CPU plugin recognises and computes as one RoPE."""

import numpy as np
import openvino
from openvino import opset13 as operations

from runner import Called, chain_of, heads_first
from torch_peer import float32_angles, half_rows
from verify import Recipe


def version():
    return openvino.__version__.split("-")[0]


def compiled(model, threads, hint):
    """Compiles for one call at a time; threads sleep between calls."""
    return openvino.Core().compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": hint})


def turned(x, cos, sin):
    """Rotates x [1, heads, tokens, head_dim] in the form that the plugin recognises."""
    half = x.get_output_shape(0)[-1] // 2
    first, second = operations.variadic_split(x, np.int64(3), np.array([half, half])).outputs()
    swapped = operations.concat([operations.multiply(second, np.float32(-1)), first], -1)
    return operations.add(operations.multiply(x, cos), operations.multiply(swapped, sin))


class RotateHalf(Called):
    """Inputs q and k are [1, tokens, heads, head_dim]; results have heads first."""

    recipe = Recipe("float32", 1)

    def __init__(self, work, threads):
        self.work = work
        self.chain = chain_of(work)
        model = compiled(self.model(), threads, "f32")
        names = [str(each.get_rt_info()["layerType"].astype(str))
                 for each in model.get_runtime_model().get_ops()]
        if names.count("RoPE") != 2 * self.chain:
            raise RuntimeError(f"OpenVINO must compute RoPE {2 * self.chain} times, got {names}")
        self.request = model.create_infer_request()
        angles = float32_angles(work, work.tokens, work.first)
        self.arrays = [work.q[None], work.k[None],  # read in place
                       *(each[None, None].numpy() for each in half_rows(angles))]
        for index, each in enumerate(self.arrays):
            self.request.set_input_tensor(index, openvino.Tensor(each, shared_memory=True))
        self.outputs = [each.reshape(1, each.shape[1], each.shape[0], -1)
                        for each in (work.q_out, work.k_out)]
        for index, each in enumerate(self.outputs):
            self.request.set_output_tensor(index, openvino.Tensor(each, shared_memory=True))
        self.call = self.request.infer

    def model(self):
        work = self.work
        q, k, cos, sin = (operations.parameter(shape, np.float32) for shape in (
            [1, *work.q.shape], [1, *work.k.shape], *2 * [[1, 1, work.tokens, work.head_dim]]))
        results = []
        for x in (q, k):
            each = operations.transpose(x, np.array([0, 2, 1, 3]))
            for _ in range(self.chain):
                each = turned(each, cos, sin)
            results.append(each)
        return openvino.Model(results, [q, k, cos, sin], "rotary")

    def result(self):
        self.work.fill()
        self.call()
        return [heads_first(each[0]) for each in self.outputs]
