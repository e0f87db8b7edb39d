# SPDX-License-Identifier: Apache-2.0
"""Sets up everything that measuring needs, once, under build/peers."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "golden"))

from wheels import llama_cpp, python_with  # noqa: E402


class PeersError(Exception):
    """A report is missing, or the measurement has failed."""


def prepare(root, folder):
    """Returns the interpreter with all peers; also builds the native library."""
    python = python_with(HERE / "requirements.txt", folder / "environments")
    build_native(root, folder / "native", llama_cpp(folder) / "ggml")
    return python


def build_native(root, build, ggml):
    # Both print their own progress, since the first build takes minutes.
    for command in (["-S", root / "conformance/peers/native", "-B", build, "-G", "Ninja", "-D",
                     "CMAKE_BUILD_TYPE=Release", "-D", f"GGML_SOURCE={ggml}"],
                    ["--build", build, "--target", "rotary_peers"]):
        subprocess.run(["cmake", *command], stdout=sys.stderr, check=True)


def variables(folder, threads):
    """Returns the environment of the measurement: each peer at its best, none with an advantage.

    Without the first two variables torch page-faults again in every page of every result: 7136
    faults in a float32 call of 512 tokens, 8160 with only the first variable, none with both.
    Spinning OpenMP threads (torch, ggml) would take processors from the contestant being measured.
    torch keeps what it compiles.
    """
    named = dict(os.environ)
    named.update(MALLOC_MMAP_MAX_="0", MALLOC_TRIM_THRESHOLD_=str(2**40),
                 OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive",
                 TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"))
    if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        named.update(ATEN_CPU_CAPABILITY="avx512")
    return named


def commit(root):
    """Returns the measured commit, with + if the tree differs outside docs; "" without git."""
    git = ["git", "-C", str(root)]
    found = subprocess.run(git + ["rev-parse", "--short=12", "HEAD"], capture_output=True,
                           text=True)
    if found.returncode != 0:
        return ""
    changes = subprocess.run(git + ["status", "--porcelain", "--", ".", ":(exclude)docs"],
                             capture_output=True, text=True)
    return found.stdout.strip() + ("+" if changes.stdout else "")
