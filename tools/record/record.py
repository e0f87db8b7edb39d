# SPDX-License-Identifier: Apache-2.0
"""Compares the following, which callers see and refactoring must keep, with tests/recorded:

    sizes.txt    sizeof of every public C++ type
    answers.txt  answers of the tool and the spec reader for model cards, biases, and corpora of
                 configs, specs and NPY files: exit code, hash of the output, messages
    bits.txt     a hash of the library's results in each golden case and each test of attend, for
                 each instruction set of this machine

Also compares docs/schema/encodings.schema.json with the headers' facts.

    record.py BUILD [--accept]

BUILD is preset release's folder. --accept records the current state. Exits with 1 if a line
differs.
"""

import argparse
import difflib
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from public_sizes import public_sizes

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "tidy"))
from schemas import formatted  # noqa: E402

RECORDED = ROOT / "tests" / "recorded"
BIASES = ("t5", "alibi", "kerple_log", "kerple_power", "fire", "sandwich")
SKIPPED = 77  # a test program's exit code for an instruction set that the machine lacks


def short_hash(data):
    return hashlib.sha256(data).hexdigest()[:16]


def answer_of(name, command, **options):
    """Returns one line: the name, the exit code, a hash of the output, the messages."""
    done = subprocess.run(command, capture_output=True, cwd=ROOT, timeout=600, **options)
    messages = done.stderr.decode("utf-8", "replace").strip().replace("\n", " | ")
    return f"{name}: {done.returncode} {short_hash(done.stdout)} {messages}".rstrip()


def answers(tool, spec_reader=None):
    """tool: the command of rotary. spec_reader: a program; None leaves out its lines."""
    corpus = ROOT / "fuzz" / "corpus"
    for path in sorted((corpus / "config").iterdir()):
        yield answer_of(f"config {path.name}", [*tool, "inspect", "-", "--json"],
                        input=path.read_bytes())
    for path in sorted((corpus / "spec").iterdir()) if spec_reader else ():
        line = path.read_bytes().replace(b"\n", b" ") + b"\n"
        done = subprocess.run([spec_reader], input=line, capture_output=True, check=True)
        yield f"spec {path.name}: {done.stdout.decode('utf-8', 'replace').strip()}"
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.npy"
        for path in sorted((corpus / "npy").iterdir()):
            command = [*tool, "rotate", "--config", "llama-3.1-8b", "--layout", "bthd", "--q", "-",
                       "--out-q", out, "--force"]
            yield answer_of(f"npy {path.name}", command, input=path.read_bytes())
    for path in sorted((ROOT / "models").glob("*.json")):
        yield answer_of(f"inspect {path.stem}", [*tool, "inspect", path.stem, "--json"])
        yield answer_of(f"table {path.stem}",
                        [*tool, "table", path.stem, "--positions", "100000:100002", "--json"])
    for bias in BIASES:
        command = [*tool, "bias", bias, "--heads", "4", "--rows", "0:6", "--cols", "0:6", "--json"]
        yield answer_of(f"bias {bias}", command)


def bits_of(program, instruction_set):
    """Yields a line per test, or none if the machine lacks the set."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bits"
        environment = os.environ | {
            "ROTARY_RECORDED_BITS": str(path), "ROTARY_INSTRUCTION_SET": instruction_set}
        done = subprocess.run([program, "--gtest_brief=1"], capture_output=True, text=True,
                              env=environment)
        if done.returncode == SKIPPED:
            return
        if done.returncode != 0:
            sys.exit(f"{program} must pass, got:\n{done.stdout}{done.stderr}")
        of_tests = {}
        for line in path.read_text().splitlines():
            test, _, bits = line.partition(" ")
            of_tests.setdefault(test, []).append(bits)
    for test, hashes in sorted(of_tests.items()):  # the order of the tests does not matter
        yield f"{instruction_set} {test}: {short_hash(' '.join(hashes).encode())}"


def bits(build):
    for program in ("rotary_golden_test", "rotary_attention_test"):
        for instruction_set in ("AVX3_BF16", "AVX3", "AVX2", "SSE4", "EMU128", "NEON"):
            yield from bits_of(build / "bin" / program, instruction_set)


def described_schema(build):
    done = subprocess.run([build / "bin" / "rotary_described_schema"], capture_output=True,
                          check=True)
    return formatted(json.loads(done.stdout)).splitlines()


def of_these_sets(recorded, now):
    """Returns the lines to compare with, the recorded lines of sets that this machine lacks, and
    the number of lines accepted because their test is recorded only for other sets."""
    here = {line.split(" ")[0] for line in now}
    compared = [line for line in recorded if line.split(" ")[0] in here]
    kept = [line for line in recorded if line.split(" ")[0] not in here]
    named = {line.rpartition(": ")[0] for line in compared}
    elsewhere = {line.rpartition(": ")[0].partition(" ")[2] for line in recorded}
    added = [line for line in now if line.rpartition(": ")[0] not in named
             and line.rpartition(": ")[0].partition(" ")[2] in elsewhere]
    return sorted(compared + added), kept, len(added)


def differs(path, now, accept):
    recorded = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept, added = [], 0
    if path.name == "bits.txt":
        now = sorted(now)
        recorded, kept, added = of_these_sets(recorded, now)
    if accept:
        path.write_text("\n".join([*now, *kept]) + "\n", encoding="utf-8")
    changes = list(difflib.unified_diff(recorded, now, "recorded", "now", n=0, lineterm=""))
    print(f"{path.name}: {len(now)} lines, "
          f"{sum(line[0] == '+' for line in changes[2:])} differ from the record"
          + (f", {added} recorded for other instruction sets only" if added else ""))
    print("".join(f"  {line}\n" for line in changes[2:] if line[0] in "+-"), end="")
    return bool(changes) and not accept


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--accept", action="store_true", help="record the current state")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    found = [differs(path, list(now), arguments.accept) for path, now in (
        (ROOT / "docs/schema/encodings.schema.json", described_schema(build)),
        (RECORDED / "sizes.txt", public_sizes()),
        (RECORDED / "answers.txt",
         answers([build / "bin" / "rotary"], build / "bin" / "rotary_spec_reader")),
        (RECORDED / "bits.txt", bits(build)))]
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
