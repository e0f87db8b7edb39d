# SPDX-License-Identifier: Apache-2.0
"""Commands that read each input of the tool, and the small files that the commands need."""

import numpy as np

import safetensors_files

ROTATE = "rotate --config c.json --layout bthd --force"
PERMUTE = "permute ? --config c.json --to interleaved --out o --force"
# Maps each input, (command, argument), to calls that read it. "?" stands for the input's file. The
# calls of one input read that file in different ways.
CALLS = {
    ("inspect", "CONFIG"): ["inspect ?"],
    ("check", "FILE"): ["check ?", "check c.json ? c.json"],
    ("diff", "ONE"): ["diff ? c.json", "diff ?.npy c.json", "diff ?.npz c.json",
                      "diff ? --between transformers,mlx"],
    ("diff", "OTHER"): ["diff c.json ?", "diff c.json ?.npy", "diff c.json ?.npz"],
    ("table", "NAME"): ["table ? --positions 0"],
    ("table", "--parameters"): ["table alibi --distances 0 --parameters ?"],
    ("rotate", "--config"): ["rotate --config ? --layout bthd --q q.npy --out-q o.npy --force"],
    ("rotate", "--q"): [f"{ROTATE} --q ? --out-q o.npy"],
    ("rotate", "--k"): [f"{ROTATE} --k ? --out-k o.npy"],
    ("rotate", "--positions"): [f"{ROTATE} --q q.npy --out-q o.npy --positions ?"],
    ("encode", "--table"): ["encode --table ? --x x.npy --out o.npy --force"],
    ("encode", "--x"): ["encode --like marian --x ? --out o.npy --force"],
    ("encode", "--positions"): ["encode --like marian --x x.npy --positions ? --out o.npy --force"],
    ("bias", "--parameters"): ["bias alibi --rows 0:2 --cols 0:2 --parameters ?"],
    ("positions", "--mask"): ["positions --mask ?"],
    ("positions", "--ids"): ["positions --ids ?"],
    ("explain", "NAME"): ["explain ?"],
    ("explain", "CONFIG"): ["explain relative ?"],
    ("plot", "CONFIG"): ["plot wavelengths ? --csv", "plot scaling c.json ? --csv"],
    ("plot", "--table"): ["plot tables --csv --table ?"],
    ("report", "CONFIG"): ["report ? -o o.html --force", "report c.json ? -o o.html --force"],
    ("permute", "WEIGHTS"): [PERMUTE, PERMUTE.replace("?", "?.json")],
    ("permute", "--config"): ["permute w.safetensors --config ? --to interleaved --out o --force"],
    ("stretch", "MODEL"): ["stretch ? 65536"],
    ("stretch", "--drafter"): ["stretch c.json 65536 --drafter ?"],
    ("identify", "TRACE"): ["identify ?.npz", "identify ?.safetensors"],
    ("identify", "--config"): ["identify --before q.npy --after q.npy --config ?"],
    ("identify", "--positions"): ["identify --before q.npy --after q.npy --config c.json "
                                  "--positions ?"],
} | {("identify", option): [f"identify {option} ?{ending} {other}"
                            for ending in ("", ".npz", ".safetensors")]
     for option, other in {"--before": "--after q.npy", "--after": "--before q.npy",
                           "--other": "--before q.npy --after q.npy --config c.json",
                           "--ours": "--theirs q.npy --config c.json --first-position 0",
                           "--theirs": "--ours q.npy --config c.json --first-position 0",
                           "--cos": "--sin x.npy", "--sin": "--cos x.npy",
                           "--inv-freq": ""}.items()}
# Maps each input that takes an array to accepted shapes.
SHAPES = {
    ("rotate", "--q"): [(1, 4, 2, 16)], ("rotate", "--k"): [(1, 4, 2, 16)],
    ("rotate", "--positions"): [(1, 4)],
    ("encode", "--x"): [(2, 4, 8)], ("encode", "--table"): [(8, 8)],
    ("encode", "--positions"): [(1, 4)],
    ("bias", "--parameters"): [(4,)], ("table", "--parameters"): [(4,)],
    ("positions", "--mask"): [(1, 4)], ("positions", "--ids"): [(1, 4)],
    ("plot", "--table"): [(8, 8)],
    ("diff", "ONE"): [(2, 8, 8), (8,)], ("diff", "OTHER"): [(2, 8, 8), (8,)],
    ("identify", "TRACE"): [(4, 2, 16)],
    **{("identify", option): [(1, 4, 2, 16)]
       for option in ("--before", "--after", "--other", "--ours", "--theirs")},
    ("identify", "--cos"): [(4, 8)], ("identify", "--sin"): [(4, 8)],
    ("identify", "--inv-freq"): [(8,)], ("identify", "--positions"): [(1, 4)],
}


def write_files(test, config):
    """Writes the other files that the calls read. They go to the test's folder."""
    test.write_config(config, "c.json")
    np.save(test.path / "q.npy", np.ones((1, 4, 2, 16), np.float32))
    np.save(test.path / "x.npy", np.ones((4, 8), np.float32))
    safetensors_files.save(test.path / "w.safetensors",
                           {"a.q_proj.weight": np.ones((64, 2), np.float32)})
