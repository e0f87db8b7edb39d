#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/onnx_vectors.json again: ONNX's test vectors of RotaryEmbedding and Attention,
as the published onnx package computes them.

    onnx_vectors.py [--write]
"""

import argparse
import base64
import json
import pathlib
import subprocess
import sys

import numpy

from wheels import python_with

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FILE = ROOT / "tests/golden/onnx_vectors.json"

# Operand names by index; an empty name means an omitted operand.
OPERANDS = {
    "Attention": (("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"),
                  ("Y", "present_key", "present_value", "qk_matmul_output")),
    "RotaryEmbedding": (("X", "cos_cache", "sin_cache", "position_ids"), ("Y",)),
}
# Allowed differences, relative to a tensor's largest number: NumPy's exp depends on the machine.
UNITS = {"float32": 8 * 2.0**-23, "float16": 2 * 2.0**-10, "bfloat16": 2 * 2.0**-7}


def main():
    parser = argparse.ArgumentParser(prog="dev golden --onnx",
                                     description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--write", action="store_true", help="write the file instead")
    parser.add_argument("--print", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.print:
        sys.stdout.write(rendered(*collected()))
        return 0
    try:
        made = made_by_packages()
    except subprocess.CalledProcessError as error:
        print(f"golden: {error}", file=sys.stderr)
        return 1
    if arguments.write:
        FILE.write_text(made, encoding="utf-8")
        return 0
    return compared(made, FILE.read_text(encoding="utf-8"))


def made_by_packages():
    """Returns the file's text, made by an interpreter with the pinned packages."""
    python = python_with(HERE / "onnx.txt", ROOT / "build/golden/environments")
    return subprocess.run([python, "-B", "-W", "ignore", HERE / "onnx_vectors.py", "--print"],
                          check=True, text=True, stdout=subprocess.PIPE).stdout


def collected():
    """Returns onnx's version, and its test vectors as (name, opset, node, inputs, outputs)."""
    import onnx
    from onnx.backend.test.case.node import collect_testcases
    vectors = []
    for case in collect_testcases(None):
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in OPERANDS:
            (inputs, outputs), = case.data_sets
            vectors.append((case.name, case.model.opset_import[0].version, nodes[0], inputs,
                            outputs))
    return f"onnx {onnx.__version__}", vectors


class Pools:
    """For each type, all tensors' bytes. A tensor whose bytes are already there adds none."""

    def __init__(self, tensors):
        self.bytes = {}
        for tensor in sorted(tensors, key=lambda tensor: -tensor.nbytes):
            if self.find(tensor) < 0:
                self.bytes[tensor.dtype.name] = (self.bytes.get(tensor.dtype.name, b"")
                                                 + tensor.tobytes())

    def find(self, tensor):
        pool, wanted = self.bytes.get(tensor.dtype.name, b""), tensor.tobytes()
        place = pool.find(wanted)
        while place >= 0 and place % tensor.itemsize:
            place = pool.find(wanted, place + 1)
        return place

    def placed(self, tensor):
        return [tensor.dtype.name, self.find(tensor) // tensor.itemsize, list(tensor.shape)]


def rendered(maker, vectors):
    from onnx.helper import get_attribute_value
    tensors = [numpy.asarray(tensor) for *_, inputs, outputs in vectors
               for tensor in [*inputs, *outputs]]
    pools = Pools(tensors)
    lines = []
    for name, opset, node, inputs, outputs in vectors:
        names_in, names_out = OPERANDS[node.op_type]
        case = {"name": name, "operator": node.op_type, "opset": opset,
                "attributes": {each.name: get_attribute_value(each) for each in node.attribute},
                "inputs": placed(pools, names_in, node.input, inputs),
                "outputs": placed(pools, names_out, node.output, outputs)}
        lines.append(json.dumps(case))
    head = {"produced_by": maker, "source": "onnx.backend.test.case.node",
            "note": "pools: little-endian numbers in base64; a tensor: type, first number, shape",
            "pools": {name: base64.b64encode(pool).decode()
                      for name, pool in sorted(pools.bytes.items())}}
    return (json.dumps(head, indent=0)[:-2] + ',\n"cases": [\n' + ",\n".join(lines) + "\n]\n}\n")


def placed(pools, names, given, tensors):
    present = [name for name, used in zip(names, given) if used]
    if len(present) != len(tensors):
        raise ValueError(f"each operand must have a tensor, got {len(tensors)} for {present}")
    return {name: pools.placed(numpy.asarray(tensor)) for name, tensor in zip(present, tensors)}


def compared(made, committed):
    if made == committed:
        count = len(json.loads(made)["cases"])
        print(f"{FILE.relative_to(ROOT)}: {count} vectors, identical bits")
        return 0
    made, committed = json.loads(made), json.loads(committed)
    wrong = [made["produced_by"]] if made["produced_by"] != committed["produced_by"] else []
    theirs = {case["name"]: case for case in made["cases"]}
    ours = {case["name"]: case for case in committed["cases"]}
    wrong += sorted(set(theirs) ^ set(ours))
    wrong += [name for name in sorted(set(theirs) & set(ours))
              if not is_same(theirs[name], made["pools"], ours[name], committed["pools"])]
    for name in wrong:
        print(f"CHANGED: {name}")
    print(f"{len(ours)} vectors, {len(wrong)} changed")
    return 1 if wrong else 0


def is_same(a, a_pools, b, b_pools):
    """Inputs and attributes must be equal, outputs up to the last digits."""
    if any(a[key] != b[key] for key in ("operator", "opset", "attributes")):
        return False
    for key in ("inputs", "outputs"):
        if a[key].keys() != b[key].keys():
            return False
        for name in a[key]:
            units = 0 if key == "inputs" else UNITS.get(a[key][name][0], 0)
            if not is_near(numbers(a[key][name], a_pools), numbers(b[key][name], b_pools), units):
                return False
    return True


def numbers(tensor, pools):
    name, first, shape = tensor
    pool = base64.b64decode(pools[name])
    count = int(numpy.prod(shape))
    if name == "bfloat16":
        bits = numpy.frombuffer(pool, numpy.uint16)[first:first + count]
        return (bits.astype(numpy.uint32) << 16).view(numpy.float32).reshape(shape)
    return numpy.frombuffer(pool, numpy.dtype(name))[first:first + count].reshape(shape)


def is_near(a, b, units):
    if a.shape != b.shape:
        return False
    if units == 0:
        return a.tobytes() == b.tobytes()
    a, b = a.astype(numpy.float64), b.astype(numpy.float64)
    finite = numpy.isfinite(a)
    most = numpy.abs(a[finite]).max(initial=0)
    return (numpy.array_equal(a[~finite], b[~finite]) and
            bool((numpy.abs(a - b)[finite] <= units * most).all()))


if __name__ == "__main__":
    sys.exit(main())
