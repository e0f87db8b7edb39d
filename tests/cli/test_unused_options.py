# SPDX-License-Identifier: Apache-2.0
"""Every option affects each call: it changes the answer or is refused."""

import json

import numpy as np

from test_check import SUSPICIOUS
from tool import LLAMA, TWO_TYPES, ToolTest

AT = ["--positions", "0:3"]
HEADS = ["--heads", "2"]
BLOCK = ["--rows", "0:2", "--cols", "0:2"]
SPEC = ["--set", "head_dim=8", "--set", "base=10000", "--set", "pairing=half"]
LAYOUT = ["--layout", "thd"]

# The test adds "--json". setUp() writes the files.
CALLS = (
    ["inspect", "config.json"],
    ["check", "warns.json", "unknown.json"],
    ["diff", "config.json", "two.json"],
    ["diff", "config.json", "one.npy"],
    ["diff", "one.npy", "other.npy"],
    ["diff", "phi.json", "--between", "vllm,mlx"],
    ["table", "config.json", *AT],
    ["table", "two.json", *AT, "--layer-type", "full_attention"],
    ["table", "rope", *SPEC, *AT],
    ["table", "whisper", "--dim", "8", *AT],
    ["table", "alibi", *HEADS, "--distances", "0:3"],
    ["table", "shaw", "--left", "2", "--right", "2", "--distances", "0:3"],
    ["rotate", "--config", "config.json", *LAYOUT, "--q", "q.npy", "--out-q", "out.npy", "--force"],
    ["rotate", "--config", "rope", *SPEC, *LAYOUT, "--q", "q8.npy", "--out-q", "out.npy",
     "--force"],
    ["encode", "--like", "whisper", "--dim", "8", *AT],
    ["encode", "--like", "whisper", "--x", "x.npy", "--out", "out.npy", "--force"],
    ["encode", "--table", "x.npy", "--x", "x.npy", "--out", "out.npy", "--force"],
    ["bias", "alibi", *HEADS, *BLOCK],
    ["bias", "alibi", *HEADS, "--list"],
    ["bias", "t5", "--set", "direction=causal", "--list"],
    ["positions", "--text", "3", "--as", "qwen2-vl"],
    ["positions", "--list"],
    ["positions", "--lengths", "4,2"],
    ["positions", "--ids", "ids.npy"],
    ["stretch", "config.json", "8192"],
    ["explain", "config.json"],
    ["explain", "example"],
    ["explain", "forms"],
    ["explain", "relative", "config.json"],
    ["plot", "--list"],
    ["plot", "wavelengths"],
    ["plot", "rotation", "config.json"],
    ["plot", "t5"],
    ["plot", "attention"],
    ["models"],
    ["models", "families", "gemma"],
    ["models", "--engines"],
    ["identify", "--inv-freq", "one.npy"],
    ["identify", "--cos", "x.npy", "--sin", "x.npy"],
    ["identify", "--before", "q.npy", "--after", "q.npy"],
    ["identify", "--inv-freq", "one.npy", "--config", "config.json"],
    ["identify", "--cos", "half.npy", "--sin", "half.npy", "--config", "config.json"],
    ["identify", "--before", "q.npy", "--after", "q.npy", "--config", "config.json"],
    ["trace"],
    ["help", "table"],
    ["help", "--form", "markdown"],
)

VALUES = {
    "P": ["0:2", "5"],
    "FILE": ["out.npy", "missing.npy", "x.npy"],
    "KEY=VALUE": ["rope_theta=7", "head_dim=4", "bias_max=4", "buckets=8"],
    "NAME": ["alibi"],
    "A,B": ["vllm,mlx"],
    "JSON": ['{"rope_theta": 7}', '{"bias_max": 4}'],
    "FLAGS": ["--rope-scale 2"],
    "T": ["full_attention", "none"],
    "X,Y,...": ["1,2", "1,2,3,4"],
}
NUMBERS = ["0", "1", "2", "3", "7", "64", "99999999", "0.5"]


class UnusedOptionsTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.write_config(TWO_TYPES, "two.json")
        self.write_config(SUSPICIOUS, "warns.json")
        self.write_config(LLAMA | {"model_type": "phi"}, "phi.json")
        self.write_config({"model_type": "unheard_of"}, "unknown.json")
        np.save(self.path / "one.npy", 10000.0 ** (-np.arange(8) / 8))
        np.save(self.path / "other.npy", 500.0 ** (-np.arange(8) / 8))
        q = np.random.default_rng(3).normal(size=(3, 2, 16)).astype(np.float32)
        np.save(self.path / "q.npy", q)
        np.save(self.path / "q8.npy", q[..., :8])
        np.save(self.path / "x.npy", q[0])
        np.save(self.path / "ids.npy", np.array([0, 1, 0]))
        np.save(self.path / "half.npy", q[:, 0, :8])

    def answer(self, call):
        result = self.run_tool(*call, "--json")
        written = [path.read_bytes() for path in sorted(self.path.glob("out.npy"))]
        for path in self.path.glob("out.npy"):
            path.unlink()
        return result.returncode, result.stdout, result.stderr, written

    def test_every_option_changes_the_answer_or_is_refused(self):
        for call in CALLS:
            usual = self.answer(call)
            self.assertIn(usual[0], (0, 1, 6, 7), (call, usual))
            facts = json.loads(self.run_tool("help", call[0], "--json").stdout)
            for option in facts["options"]:
                name, value = option["names"][-1], option["value"]
                if name in ("--help", "--json", "--color") or name in call:
                    continue
                values = value.split("|") if value and "|" in value else VALUES.get(value, NUMBERS)
                tries = [[name, each] for each in values] if value else [[name]]
                with self.subTest(call=" ".join(call), option=name):
                    self.assertTrue(any(self.answer([*call, *each]) != usual for each in tries))
