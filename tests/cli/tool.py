# SPDX-License-Identifier: Apache-2.0
"""Runs the built tool in a scratch folder, and has small configs for it."""

import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from schemas import SCHEMAS, validate  # noqa: E402

TOOL = os.environ["ROTARY_TOOL"]

LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "max_position_embeddings": 2048,
    "rope_theta": 10000.0,
}
PARTIAL = {
    "model_type": "gpt_neox",
    "hidden_size": 64,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 2048,
    "rotary_pct": 0.25,
    "rotary_emb_base": 10000,
}
INTERLEAVED = {
    "model_type": "gptj",
    "n_embd": 64,
    "n_head": 4,
    "n_layer": 2,
    "n_positions": 2048,
    "rotary_dim": 8,
}
YARN = LLAMA | {
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512}
}
TWO_TYPES = LLAMA | {
    "layer_types": ["full_attention", "sliding_attention", "full_attention"],
    "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
    },
}
del TWO_TYPES["rope_theta"]


def spoilt(array):
    """Yields (index, value, copy). An index is the first, middle or last on each axis. The copy has
    the value at the index. Values are NaN, infinity and -infinity in turn, each at least once."""
    places = list(itertools.product(*(sorted({0, size // 2, size - 1}) for size in array.shape)))
    for count in range(max(len(places), 3)):
        index = places[count % len(places)]
        copy = array.copy()
        copy[index] = value = (np.nan, np.inf, -np.inf)[count % 3]
        yield list(index), value, copy


def bf16(x):
    """Rounds to bf16, ties to even. Returns the bits as uint16."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def of_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def narrow(x):
    """Rounds to bf16. Returns float32."""
    return of_bf16(bf16(x.astype(np.float32)))


def rotated(x, positions, half, base=10000.0, rotary_dim=None):
    """Rotates x [..., tokens, heads, head_dim] by positions [..., tokens] in double."""
    rotary_dim = rotary_dim or x.shape[-1]
    pairs = np.arange(rotary_dim // 2)
    angle = np.asarray(positions, float)[..., None, None] * base ** (-2.0 * pairs / rotary_dim)
    first, second = (pairs, pairs + rotary_dim // 2) if half else (2 * pairs, 2 * pairs + 1)
    result = x.astype(np.float64)
    a, b = result[..., first], result[..., second]
    result[..., first] = a * np.cos(angle) - b * np.sin(angle)
    result[..., second] = a * np.sin(angle) + b * np.cos(angle)
    return result


def part_of(found, wanted):
    """Returns the found document without members that the wanted one lacks."""
    if isinstance(wanted, dict):
        return {name: part_of(found[name], each) for name, each in wanted.items()}
    if isinstance(wanted, list) and len(found) == len(wanted):
        return [part_of(*pair) for pair in zip(found, wanted)]
    return found


class ToolTest(unittest.TestCase):
    """Each test has its own folder, in which the tool runs. Its config.json is LLAMA."""

    failed_as_json = set()  # (command, exit code) pairs checked so far

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.config = self.write_config(LLAMA)

    def write_config(self, config, name="config.json"):
        text = config if isinstance(config, str) else json.dumps(config)
        (self.path / name).write_text(text)
        return name

    def save(self, name, array):
        np.save(self.path / name, array)
        return name

    def load(self, name):
        return np.load(self.path / name)

    def run_tool(self, *arguments, stdin=b"", environment=None, stdout=subprocess.PIPE):
        return subprocess.run(
            [TOOL, *map(str, arguments)],
            cwd=self.path,
            input=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=600,  # an emulator on a busy machine is slow
            env=os.environ | (environment or {}),
        )

    def run_ok(self, *arguments, code=0, **options):
        """Returns the standard output of a run that must end with this exit code."""
        result = self.run_tool(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stderr.decode())
        return result.stdout.decode()

    def run_json(self, schema_name, *arguments, **options):
        text = self.run_ok(*arguments, "--json", **options)
        self.assertEqual(text.count("\n"), 1)
        document = json.loads(text)
        validate(document, schema_name)
        return document

    def assert_has(self, found, wanted):
        self.assertEqual(part_of(found, wanted), wanted)

    def contents(self):
        return {
            str(path.relative_to(self.path)): path.read_bytes() if path.is_file() else None
            for path in self.path.rglob("*")
        }

    def assert_fails(self, code, parts, *arguments, **options):
        """The command must fail and change no file. Its stdout is empty, or with --json one error
        object. JSON is checked once for each command and exit code, because the same code prints
        all errors of a command."""
        before = self.contents()
        plain = self.run_tool(*arguments, **options)
        message = plain.stderr.decode(errors="replace")
        self.assertEqual(plain.returncode, code, message)
        self.assertEqual(plain.stdout, b"")
        for part in parts:
            self.assertIn(part, message)
        errors = [line for line in message.splitlines() if ": warning: " not in line]
        self.assertLessEqual(len(errors), 2, message)

        if (arguments[0], code) in self.failed_as_json:
            self.assertEqual(self.contents(), before)
            return
        self.failed_as_json.add((arguments[0], code))
        as_json = self.run_tool(*arguments, "--json", **options)
        self.assertEqual(as_json.returncode, code)
        document = json.loads(as_json.stdout)
        validate(document, "error")
        self.assertEqual(document["error"]["exit_code"], code)
        for part in parts:
            self.assertIn(part, document["error"]["message"])
        self.assertEqual(self.contents(), before)
