# SPDX-License-Identifier: Apache-2.0
"""Compares the tool with get_rope_index of published classes on random groups."""

import collections
import json
import pathlib
import subprocess
import zipfile

from wheels import wheel_of

HERE = pathlib.Path(__file__).resolve().parent
CASES = 40  # per convention
KEPT = 4  # for plain cases and for special cases
KEPT_TOKENS = 250
OLD = (("qwen2-vl-4.57", "4.57.6", "qwen2_vl"), ("qwen2-vl-5.2", "5.2.0", "qwen2_vl"),
       ("qwen2-vl-5.5", "5.3.0", "qwen2_vl"), ("qwen2.5-vl-4.51", "4.51.3", "qwen2_5_vl"),
       ("qwen2.5-vl-4.57", "4.57.6", "qwen2_5_vl"), ("qwen2.5-vl-5.4", "5.3.0", "qwen2_5_vl"),
       ("qwen2.5-vl-5.5", "5.5.4", "qwen2_5_vl"), ("qwen2.5-vl-5.17", "5.13.1", "qwen2_5_vl"),
       ("ernie-4.5-vl-5.2", "5.0.0", "ernie4_5_vl_moe"),
       ("ernie-4.5-vl-5.5", "5.3.0", "ernie4_5_vl_moe"))
MEMBERS = {"merge": "--merge", "temporal_merge": "--temporal-merge",
           "ids_per_second": "--ids-per-second", "ids_per_chunk": "--ids-per-chunk"}


def compare_positions(python, tool, build, kept, vllm):
    """Prints how many prompts agree per convention; returns 0 if all do. kept: collects cases."""
    counts = collections.Counter()
    wrong = collections.Counter()
    kept_of = collections.Counter()
    for case in published_cases(python, build, vllm):
        name = f"{case['convention']} ({case['class']})"
        counts[name] += 1
        why = difference(case, tool)
        if why:
            wrong[name] += 1
            print(f"{name}: {why}: {' '.join(options(case))}")
        # Special prompts have sound, slices or a video with many frames.
        kind = name, any("sound" in each or "slices" in each or each.get("video", [0])[0] > 9
                         for each in case["groups"])
        if kept is not None and len(case["ids"][0]) <= KEPT_TOKENS and kept_of[kind] < KEPT:
            kept_of[kind] += 1
            kept.append(case)
    for name, count in counts.items():
        print(f"{name:80} {count - wrong[name]} of {count} prompts agree")
    return 1 if wrong or not counts else 0


def makers(vllm):
    """Returns the programs that made ids, besides the environment's packages."""
    versions = sorted({f"transformers=={version}" for _, version, _ in OLD})
    return versions + ([f"vLLM: {pathlib.Path(vllm).name}"] if vllm else [])


def published_cases(python, build, vllm):
    command = [python, "-B", HERE / "rope_index.py", str(CASES)]
    for convention, version, folder in OLD:
        command += ["--old", f"{convention}={modeling_file(version, folder, build)}"]
    if vllm:
        command += ["--vllm", vllm]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode != 0:
        raise SystemExit(f"golden: rope_index.py ended with {process.returncode}")


def modeling_file(version, folder, build):
    """A release's modeling_*.py from its wheel."""
    path = pathlib.Path(build) / f"modeling_{folder}-{version}.py"
    with zipfile.ZipFile(wheel_of(version, pathlib.Path(build))) as wheel:
        path.write_bytes(wheel.read(f"transformers/models/{folder}/modeling_{folder}.py"))
    return path


def options(case):
    """The case's options for `rotary positions`."""
    words = ["--as", case["convention"]]
    for name, value in case["members"].items():
        words += [MEMBERS[name], str(value)]
    for group in case["groups"]:
        if "text" in group:
            words += ["--text", str(group["text"])]
        if "image" in group:
            words += ["--image", by(group["image"])]
        if "video" in group:
            words += ["--video", f"{by(group['video'])}@{group['seconds']}"]
        for name, option in (("slices", "--slices"), ("newlines", "--newlines"),
                             ("between", "--frame-text"), ("sound", "--sound")):
            if group.get(name):
                value = group[name]
                words += [option, by(value) if isinstance(value, list) else str(value)]
    return words


def by(numbers):
    return "x".join(map(str, numbers))


def difference(case, tool):
    """Says what differs, or returns an empty text."""
    asked = subprocess.run([tool, "positions", "--json", *options(case)], capture_output=True,
                           text=True, check=False)
    if asked.returncode != 0:
        # The tool refuses grids that merge does not divide; tests/golden covers them.
        return "" if "divides (--" in asked.stderr else asked.stderr.strip()
    answer = json.loads(asked.stdout)
    for axis, (got, wanted) in enumerate(zip(answer["ids"], case["ids"], strict=True)):
        if got != wanted:
            return f"ids of axis {axis} differ"
    if case["delta"] is not None and answer["delta"] != case["delta"]:
        return f"delta {answer['delta']}, the class has {case['delta']}"
    return ""
