# SPDX-License-Identifier: Apache-2.0
"""The table of a report of attention: for documents, and for the terminal."""

from tables import figure, provenance, row

NAMES = {"rotary": "**rotary**", "ggml": "ggml flash_attn_ext", "torch": "PyTorch eager"}
ENCODINGS = {"none": "none", "rope": "RoPE", "alibi": "ALiBi", "t5": "T5"}
LEAST = {"ggml": 3.5, "torch": 4}  # goals: the peer's time through ours, no encoding, N >= 2048


def operations(report, tokens):
    shape = report["shape"]
    return 4 * shape["heads"] * shape["head_dim"] * tokens * (tokens + 1) / 2


def find(report, **wanted):
    return next(each for each in report["results"]
                if all(each[key] == value for key, value in wanted.items()))


def base_of(report, result):
    """The same engine without an encoding."""
    return find(report, peer=result["peer"], encoding="none", cache=result["cache"],
                tokens=result["tokens"])


def ours(report, result):
    return find(report, peer="rotary", encoding=result["encoding"], tokens=result["tokens"])


def name_of(result):
    notes = {"prepared": "bias [H, N, N] made before" if result["encoding"] in ("alibi", "t5")
             else "", "broadcast": "bias as a row of keys", "recomputed": "bias made in each call",
             "inside": ""}[result["how"]]
    cache = "k and v float16" if result["cache"] == "f16" else ""
    return ", ".join(filter(None, (NAMES[result["peer"]], cache, notes)))


def cell(report, result):
    rate = operations(report, result["tokens"]) / result["ms"] / 1e6
    peak = next(each["gigaflops"] for each in report["peaks"]
                if each["tokens"] == result["tokens"])
    text = f"{figure(result['ms'])} ({100 * rate / peak:.0f} %)"
    if result["encoding"] != "none":
        text += f" ×{result['ms'] / base_of(report, result)['ms']:.2f}"
    if result["peer"] != "rotary":
        text += f" [{figure(result['ms'] / ours(report, result)['ms'])}]"
    return text


def held(result):
    mebibytes = result["held_bytes"] / 2**20
    return f"{mebibytes:.1f}" if mebibytes < 10 else f"{mebibytes:.0f}"


def details(report):
    sizes = sorted({each["tokens"] for each in report["results"]})
    lines = [row(["", "encoding", *(f"{size} tokens" for size in sizes),
                  f"MiB held at {sizes[-1]}"]), "|---|---|" + "---:|" * (len(sizes) + 1)]
    for last in (each for each in report["results"] if each["tokens"] == sizes[-1]):
        same = {key: last[key] for key in ("peer", "encoding", "how", "cache")}
        lines.append(row([name_of(last), ENCODINGS[last["encoding"]],
                          *(cell(report, find(report, **same, tokens=size)) for size in sizes),
                          held(last)]))
    return "\n".join(lines + ["", provenance(report) + " float32 matrix product of PyTorch: "
                              f"{report['sgemm_gigaflops']} GF/s."])


def goals(report):
    """Lines for the terminal."""
    lines = ["", "goals: the peer's time through ours, without an encoding, from 2048 tokens on"]
    for peer, least in LEAST.items():
        ratios = [each["ms"] / ours(report, each)["ms"] for each in report["results"]
                  if each["peer"] == peer and each["encoding"] == "none"
                  and each["tokens"] >= 2048]
        if ratios:
            met = "met" if min(ratios) >= least else "NOT MET"
            lines.append(f"  {met:8}>= {least:4g} x {peer:8} smallest {min(ratios):.2f}")
    return "\n".join(lines)
