# SPDX-License-Identifier: Apache-2.0
"""Compares a report's attention results with ours, with no encoding and with the machine."""

from ratios import find

# A peer's dtype, and our dtypes to compare with, of which the first measured one counts. OpenVINO
# counts as f32, because its tensors are float32.
OURS = {"f32": ("f32",), "bf16": ("bf16",), "f16": ("bf16",), "q8_0": ("int8", "bf16"),
        "int8": ("int8",)}
BYTES = {"f32": 8, "bf16": 4, "f16": 4, "q8_0": 2 + 34 / 32}  # per feature of a key and its value


def is_decode(shape):
    return shape["queries"] == 1


def dtype_of_operands(result):
    return "f32" if result["peer"] == "openvino" else result["dtype"]


def ours(shape, result):
    """Returns our result with the same encoding. In a decode step, returns the one without
    encoding: past keys are already rotated, and rotating one query is negligible."""
    encoding = "none" if is_decode(shape) else result["encoding"]
    for dtype in OURS[dtype_of_operands(result)]:
        found = find(shape, peer="rotary", dtype=dtype, encoding=encoding)
        if found:
            return found[0]
    raise LookupError(f"ours must have a result beside {result}")


def to_ours(shape, result):
    """The peer's time divided by ours."""
    return result["ms"] / ours(shape, result)["ms"]


def to_none(shape, result):
    """Returns the time divided by the peer's time without encoding, or None if there is none."""
    how = result["how"] if result["how"] in ("inside", "fused") else "prepared"
    found = find(shape, peer=result["peer"], dtype=result["dtype"], how=how, encoding="none")
    return result["ms"] / found[0]["ms"] if found else None


def of_roofline(shape, result):
    """Returns the share of the machine's multiply-adds, or of its speed of reading k and v."""
    amount = bytes_of(shape, result) if is_decode(shape) else operations(shape)
    limit = shape["read_gigabytes"] if is_decode(shape) else shape["gigaflops"]
    return amount / result["ms"] / 1e6 / limit


def operations(shape):
    """Counts 4 operations per feature of each visible pair, even if hidden pairs are computed."""
    return 4 * shape["heads"] * shape["head_dim"] * shape["keys"] * (shape["keys"] + 1) / 2


def bytes_of(shape, result):
    each = BYTES.get(dtype_of_operands(result), 2 + 8 / shape["head_dim"])  # int8: including scales
    return shape["keys"] * shape["key_heads"] * shape["head_dim"] * each


# Each goal's name, the least quotient of the peer's time and ours, whether it is about decode steps
# (else about prefills from 2048 tokens on), and the results it is about.
GOALS = (
    ("ggml, prefill f32", 3.5, False, {"peer": "ggml", "dtype": "f32", "encoding": "none"}),
    ("PyTorch, prefill f32", 3, False, {"peer": "torch", "dtype": "f32", "how": "fused"}),
    ("OpenVINO, prefill f32", 2.4, False, {"peer": "openvino", "dtype": "f32"}),
    ("PyTorch, decode f32", 1.8, True, {"peer": "torch", "dtype": "f32"}),
    ("PyTorch, decode bf16", 10, True, {"peer": "torch", "dtype": "bf16"}),
)


def goals(report):
    """The goals as lines for the terminal."""
    lines = ["", "goals: the peer's time divided by ours; a prefill from 2048 tokens on"]
    for name, least, decode, wanted in GOALS:
        found = [to_ours(shape, each) for shape in report["shapes"]
                 if is_decode(shape) == decode and (decode or shape["keys"] >= 2048)
                 for each in find(shape, **wanted)]
        if found:
            met = "met" if min(found) >= least else "NOT MET"
            lines.append(f"  {met:8}>= {least:4g} x {name:22} smallest {min(found):.2f}")
    return "\n".join(lines)
