# SPDX-License-Identifier: Apache-2.0
"""Lists the libraries and forms that compute attention of a shape, and the accuracy of each."""

import dataclasses

import attention_mlx
import attention_native
import attention_onnx
import attention_openvino
import attention_torch
from attention_verify import Accuracy


@dataclasses.dataclass(frozen=True)
class Form:
    peer: str
    encoding: str = "none"
    how: str = "inside"  # torch: "fused", or how the eager form gets its bias
    dtype: str = "f32"  # of q, k and v; of the cache: f16, int8, q8_0; OpenVINO: its hint
    accuracy: Accuracy = Accuracy()

    def name(self):
        return f"{self.peer} {self.encoding} {self.how} {self.dtype}"


MOST_FOR_MLX = 512  # queries, which take half a second

F16 = Accuracy(operands="f16", mask="f16")
Q8_0 = Accuracy(cache="q8_0", mask="f16")
BF16 = Accuracy(operands="bf16", result="bf16")


def forms(shape):
    yield from ours(shape)
    yield from of_ggml(shape)
    yield Form("torch", how="fused")
    yield Form("torch", how="fused", dtype="bf16", accuracy=BF16)
    if not shape.is_decode():
        yield from eager()
    yield Form("openvino")
    yield Form("openvino", dtype="bf16", accuracy=Accuracy(operands="bf16"))
    yield Form("onnxruntime", "rope", accuracy=Accuracy(angles="float32"))
    if shape.queries <= MOST_FOR_MLX:
        yield Form("mlx")


def ours(shape):
    yield Form("rotary")
    yield Form("rotary", dtype="bf16", accuracy=Accuracy(result="bf16"))
    if shape.is_decode():
        yield Form("rotary", dtype="int8", accuracy=Accuracy(cache="int8"))
    else:
        yield from (Form("rotary", encoding) for encoding in ("rope", "alibi", "t5"))


def of_ggml(shape):
    encodings = ("none",) if shape.is_decode() else ("none", "rope", "alibi", "t5")
    for encoding in encodings:
        yield Form("ggml", encoding, accuracy=Accuracy(angles="ggml", mask="f16"))
    yield Form("ggml", dtype="f16", accuracy=F16)
    yield Form("ggml", dtype="q8_0", accuracy=Q8_0)


def eager():
    yield Form("torch", how="prepared")
    yield Form("torch", "rope", "prepared", accuracy=Accuracy(angles="float32"))
    yield Form("torch", "alibi", "prepared")
    yield Form("torch", "alibi", "broadcast", accuracy=Accuracy(offset="absolute"))
    yield Form("torch", "t5", "prepared")
    yield Form("torch", "t5", "recomputed")


def make(library, form, work, threads):
    if form.peer in ("rotary", "ggml"):
        return attention_native.Native(library, work, form, threads)
    kind = {"openvino": attention_openvino.Fused, "onnxruntime": attention_onnx.GroupQuery,
            "mlx": attention_mlx.Fused, "torch": attention_torch.Eager}[form.peer]
    if form.how == "fused":
        kind = attention_torch.Fused
    return kind(work, form, threads)
