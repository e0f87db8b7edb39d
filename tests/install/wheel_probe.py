# SPDX-License-Identifier: Apache-2.0
"""Compares an installed wheel with the results in tests/recorded: the tool's answers and refusals,
and the module's bits for golden cases in each instruction set. Also checks that the module's C++
exceptions reach Python.

    wheel_probe.py tool COMMAND...  the tool, started by COMMAND; Python 3.9 is enough
    wheel_probe.py module           the package `rotary` of this interpreter

PROBE_EMULATOR: the command that runs programs of another processor.
PROBE_SETS: the instruction sets that must be present, best first.
"""

import difflib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/record"))
EMULATOR = os.environ.get("PROBE_EMULATOR", "").split()
# Model types by the names of cases in tests/golden/rotate_golden_test.cpp.
GOLDEN = {"gpt_neox_partial25": "gpt_neox", "gptj_interleaved_partial": "gptj",
          "llama31_scaled": "llama", "llama_half_split": "llama", "llama_linear4": "llama",
          "llama_yarn4_mscale": "llama"}


def require_equal(what, wanted, got):
    changes = list(difflib.unified_diff(wanted, got, n=0, lineterm=""))[2:]
    if changes or not wanted:
        sys.exit(f"{what}: must be as recorded, got\n" + "\n".join(changes[:20]))
    print(f"{what}: {len(got)} as recorded")


def probe_tool(tool):
    from record import RECORDED, answers

    said = subprocess.run([*tool, "--version"], capture_output=True, text=True, check=True).stdout
    sets = re.search(r"best first: (.*)", said)[1]
    require_equal("names of instruction sets",
                  os.environ.get("PROBE_SETS", sets).split(", "), sets.split(", "))
    recorded = (RECORDED / "answers.txt").read_text(encoding="utf-8").splitlines()
    require_equal("answers and refusals of the tool",
                  [line for line in recorded if not line.startswith("spec ")],
                  list(answers(tool)))


def hash_of(array, layout):
    """Hashes like tests/support/recorded_bits.cpp: FNV-1a over 64 bits per float in order bthd."""
    value = 0xCBF29CE484222325
    in_order = array.transpose([layout.index(axis) for axis in "bthd"])
    for byte in in_order.copy().view("uint32").astype("uint64").tobytes():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:x}"


def golden_bits():
    """Yields lines in the form of tests/recorded/bits.txt for q and k of the golden cases."""
    import numpy as np
    import rotary
    from record import short_hash

    for name, model_type in sorted(GOLDEN.items()):
        file = json.loads((ROOT / f"tests/golden/{name}.json").read_text(encoding="utf-8"))
        q, k = (np.array(file[x]["data"], np.float32).reshape(file[x]["shape"]) for x in "qk")
        config = file.get("config") or {
            "n_head": q.shape[2], "n_embd": q.shape[2] * q.shape[3],
            "rotary_dim": file["rotary_dim"]}
        f = rotary.resolve({"model_type": model_type, **config}).frequencies()
        layout = file["layout"][:7].replace(",", "").lower()
        turned = f.rotate(q, k, positions=file["positions"], layout=layout)
        hashes = " ".join(hash_of(x, layout) for x in turned)
        yield (f"{rotary.instruction_set()} Transformers/RotateGolden.AgreesOnQAndK/{name}: "
               f"{short_hash(hashes.encode())}")


def recorded_bits(instruction_set):
    """Returns the recorded lines. NEON has the bits of AVX2: both fuse multiplications and sums."""
    from record import RECORDED

    recorded_as = {"NEON": "AVX2"}.get(instruction_set, instruction_set)
    lines = (RECORDED / "bits.txt").read_text(encoding="utf-8").splitlines()
    return [line.replace(recorded_as, instruction_set, 1) for line in lines
            if line.startswith(f"{recorded_as} Transformers/RotateGolden")]


def in_child(instruction_set):
    """Returns golden_bits() of a process with this instruction set, or None if it is refused."""
    done = subprocess.run([*EMULATOR, sys.executable, __file__, "bits"], text=True,
                          capture_output=True,
                          env={**os.environ, "ROTARY_INSTRUCTION_SET": instruction_set})
    if "ROTARY_INSTRUCTION_SET" in done.stderr:
        return None
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout.splitlines()


def raised(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def out_of_memory(core):
    """Makes a vector of the module throw std::bad_alloc, which nanobind's runtime must catch."""
    import resource

    groups = [("TextTokenRun", [1], 1.0)] * 500_000
    held = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * 4096
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (held + 2**23, before[1]))
    try:
        core.m_rope_ids(groups, "qwen2.5-vl", {})
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def probe_exceptions():
    from rotary import _core

    import rotary
    calls = {
        "Error: ": lambda: rotary.resolve({}),
        "RuntimeError: std::bad_cast":
            lambda: _core.m_rope_ids([("TextTokenRun", "text", 1.0)], "qwen2.5-vl", {}),
        "TypeError: 'object' object does not support indexing":
            lambda: _core.m_rope_ids([object()], "qwen2.5-vl", {}),
        "TypeError: ": lambda: rotary.resolve("llama-3.1-8b").frequencies().rotate(
            object(), positions=range(1), layout="td"),
    }
    if not EMULATOR:  # the emulator ignores the limit
        calls["MemoryError"] = lambda: out_of_memory(_core)
    for wanted, call in calls.items():
        for _ in range(20):
            got = raised(call)
            if not got.startswith(wanted):
                sys.exit(f"exceptions: must be {wanted}, got {got}")
    print(f"exceptions: {len(calls)} kinds reach Python, 20 times each")


def probe_module():
    import rotary

    probe_exceptions()
    compared = 0
    for instruction_set in ("AVX3_BF16", "AVX3", "AVX2", "SSE4", "NEON"):
        lines = in_child(instruction_set)
        if lines is not None:
            require_equal(f"golden bits of the module, {instruction_set}",
                          recorded_bits(instruction_set), lines)
            compared += 1
    if not compared:
        sys.exit(f"no instruction set of these has a record, got {rotary.instruction_set()}")


def main(what, *tool):
    if what == "tool":
        probe_tool(list(tool))
    elif what == "module":
        probe_module()
    else:
        print("\n".join(golden_bits()))


if __name__ == "__main__":
    main(*sys.argv[1:])
