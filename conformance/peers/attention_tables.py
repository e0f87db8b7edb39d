# SPDX-License-Identifier: Apache-2.0
"""Tables of an attention report for documents and for the terminal."""

import attention_ratios as ratios
from attention_work import grouping
from tables import figure, provenance, row

NAMES = {"rotary": "**rotary**", "ggml": "ggml flash_attn_ext", "mlx": "MLX",
         "onnxruntime": "ONNX Runtime GroupQueryAttention", "openvino": "OpenVINO"}
ENCODINGS = {"none": "none", "rope": "RoPE", "alibi": "ALiBi", "t5": "T5"}
CACHES = {"f16": "k and v float16", "q8_0": "k q8_0, v float16", "bf16": "bfloat16",
          "int8": "k and v int8", "f32": ""}
NOTES = {"broadcast": "bias as a row of keys", "recomputed": "bias made in each call"}


def name_of(result):
    name = NAMES.get(result["peer"])
    if result["peer"] == "torch":
        name = "PyTorch SDPA" if result["how"] == "fused" else "PyTorch eager"
    note = NOTES.get(result["how"], "")
    if result["how"] == "prepared" and result["encoding"] in ("alibi", "t5"):
        note = "bias [H, N, N] made before"
    dtype = CACHES[result["dtype"]]
    if result["peer"] == "openvino" and result["dtype"] == "bf16":
        dtype = "hint bfloat16"
    return ", ".join(filter(None, (name, dtype, note)))


def cell(shape, result):
    text = f"{figure(result['ms'])} ({100 * ratios.of_roofline(shape, result):.0f} %)"
    beside = None if result["encoding"] == "none" else ratios.to_none(shape, result)
    if beside is not None:
        text += f" ×{beside:.2f}"
    if result["peer"] != "rotary":
        text += f" [{figure(ratios.to_ours(shape, result))}]"
    return text


def held(results):
    if not results or "held_bytes" not in results[0]:
        return ""
    mebibytes = results[0]["held_bytes"] / 2**20
    return f"{mebibytes:.1f}" if mebibytes < 10 else f"{mebibytes:.0f}"


def cells_of(shapes, form):
    found = [ratios.find(shape, **form) for shape in shapes]
    return [cell(shape, each[0]) if each else "" for shape, each in zip(shapes, found)]


def form_of(result):
    return {key: result[key] for key in ("peer", "encoding", "how", "dtype")}


def forms_of(shapes):
    """Each form of the shapes once, grouped by peer."""
    found = {tuple(form_of(each).values()): form_of(each)
             for shape in shapes for each in shape["results"]}
    order = list(dict.fromkeys(form["peer"] for form in found.values()))
    return sorted(found.values(), key=lambda form: order.index(form["peer"]))


def prefill(shapes):
    last = shapes[-1]
    lines = [row(["", "encoding", *(f"{each['keys']} tokens" for each in shapes),
                  f"MiB held at {last['keys']}"]), "|---|---|" + "---:|" * (len(shapes) + 1)]
    for form in forms_of(shapes):
        lines.append(row([name_of(form), ENCODINGS[form["encoding"]], *cells_of(shapes, form),
                          held(ratios.find(last, **form))]))
    return lines


def decode(shapes):
    titles = [f"{each['keys']} keys, {grouping(each['heads'], each['key_heads'], each['head_dim'])}"
              for each in shapes]
    lines = [row(["", *titles]), "|---|" + "---:|" * len(shapes)]
    return lines + [row([name_of(form), *cells_of(shapes, form)]) for form in forms_of(shapes)]


def rooflines(report):
    parts = []
    for shape in report["shapes"]:
        if ratios.is_decode(shape):
            parts.append(f"{shape['read_gigabytes']} GB/s read beside {shape['heads']} heads of "
                         f"{shape['head_dim']}")
        else:
            parts.append(f"{shape['gigaflops']} GF/s at {shape['keys']} tokens")
    return "Rooflines: " + ", ".join(parts) + "."


def details(report):
    """The tables of prefills and of decode steps, if the report has results of them."""
    parts = []
    for table, is_decode in ((prefill, False), (decode, True)):
        shapes = [each for each in report["shapes"] if ratios.is_decode(each) == is_decode]
        if shapes:
            parts.append("\n".join(table(shapes)))
    return "\n\n".join([*parts, f"{provenance(report)} {rooflines(report)}"])
