# SPDX-License-Identifier: Apache-2.0
"""A report as a table, for docs/peers.md and the terminal."""

import itertools

import ratios

NAMES = {"rotary": "**rotary**", "ggml": "ggml", "onnxruntime": "ONNX Runtime",
         "torch": "PyTorch", "openvino": "OpenVINO", "mlx": "MLX", "scale": "in-place scale"}


def numbers_of_tokens(report):
    return sorted({each["tokens"] for each in report["results"]})


def groups(report):
    """Yields "dtype pairing" and its rows: (first result, {tokens: result})."""
    found = {}
    for each in report["results"]:
        key = tuple(each[name] for name in ("dtype", "pairing", "peer", "form", "place", "rows"))
        found.setdefault(key, {})[each["tokens"]] = each
    for (dtype, pairing), rows in itertools.groupby(found, key=lambda key: key[:2]):
        yield f"{dtype} {pairing}", [(next(iter(found[key].values())), found[key]) for key in rows]


def figure(number):
    return f"{number:.2f}" if number < 9.995 else f"{number:.0f}"


def provenance(report):
    machine, rotary = report["machine"], report["rotary"]
    caches = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
    peers = ", ".join(f"{each['name']} {each['version']}" for each in report["peers"])
    return (f"{machine['cpu']}, {machine['processors']} processors, {caches}; {machine['system']}, "
            f"{machine['compiler']}; threads: {report['threads']}. rotary {rotary['version']} "
            f"({rotary['commit'] or 'no commit'}, {rotary['instruction_set']}), {peers}.")


def details(report):
    """Our times in ns for each token, and the ratios of the peers."""
    tokens = numbers_of_tokens(report)
    units = [f"{tokens[0]} token" + ("s" if tokens[0] > 1 else "")] + [str(n) for n in tokens[1:]]
    lines = [row(["", *units]), "|---|" + "---:|" * len(tokens)]
    for group, rows in groups(report):
        lines.append(row([f"*{group}*", *("" for _ in tokens)]))
        for first, by_tokens in rows:
            cells = [detail_cell(report, by_tokens[n]) if n in by_tokens else "" for n in tokens]
            lines.append(row([detail_name(first), *cells]))
    return "\n".join(lines + ["", provenance(report)])


def detail_cell(report, result):
    if result["peer"] == "scale":
        return f"{result['ns_per_token']:.0f}"
    if result["peer"] == "rotary":
        return f"{result['ns_per_token']:.0f} ({figure(ratios.to_scale(report, result))})"
    both = [figure(ratios.to_ours(report, result))]
    if result["place"] != "in_place":
        both.append(figure(ratios.to_ours_alike(report, result)))
    return f"[{', '.join(both)}]"


def detail_name(result):
    """Names the result. Adds the place if in place, and the rows if made in each call."""
    words = [NAMES[result["peer"]]]
    if result["peer"] not in ("rotary", "scale"):
        words[0] += f" {result['form']}"
    if result["place"] == "in_place" and result["peer"] != "scale":
        words.append("in place")
    if result["rows"] == "in_each_call":
        words.append("rows made")
    return ", ".join(words)


def row(cells):
    return "| " + " | ".join(cells) + " |"
