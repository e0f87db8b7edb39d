# SPDX-License-Identifier: Apache-2.0
"""Sets up everything that measuring needs, once, under build/peers."""

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import time

HERE = pathlib.Path(__file__).parent
# ggml's sources and licence inside the source distribution.
GGML = "vendor/llama.cpp/ggml/"
GGML_LICENCE = "vendor/llama.cpp/LICENSE"


class PeersError(Exception):
    """Something that the comparison needs is missing or has failed."""


def prepare(root, folder):
    """Returns the interpreter with all peers; also builds the native library."""
    folder.mkdir(parents=True, exist_ok=True)
    once(folder / "venv.done", HERE / "requirements.txt", lambda: make_venv(folder / "venv"))
    once(folder / "ggml.done", HERE / "ggml.txt", lambda: fetch_ggml(folder))
    build_native(root, folder)
    return folder / "venv/bin/python"


def once(stamp, pins, action):
    """Runs the action unless the stamp says that it finished with these pins."""
    wanted = pins.read_text(encoding="utf-8")
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    stamp.unlink(missing_ok=True)
    action()
    stamp.write_text(wanted, encoding="utf-8")


def make_venv(folder):
    say("virtual environment with torch, onnxruntime, openvino and mlx, some 6 GB, for minutes")
    shutil.rmtree(folder, ignore_errors=True)
    call([sys.executable, "-m", "venv", str(folder)])
    call([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--no-deps",
          "--only-binary=:all:", "--require-hashes", "-r", str(HERE / "requirements.txt")])


def fetch_ggml(peers_folder):
    say("sources of ggml, from the source distribution of llama-cpp-python")
    folder = peers_folder / "ggml"
    # Removes the native build, too: unpacked files have the archive's times, so a build of an older
    # archive would seem up to date.
    for stale in (folder, peers_folder / "native"):
        shutil.rmtree(stale, ignore_errors=True)
    folder.mkdir(parents=True)
    call([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes",
          "--no-binary", "llama-cpp-python", "--dest", str(folder), "-r", str(HERE / "ggml.txt")])
    archives = list(folder.glob("*.tar.gz"))
    if len(archives) != 1:
        raise PeersError(f"one source distribution must be in {folder}, got {len(archives)}")
    unpack(archives[0], folder / "source")
    archives[0].unlink()


def unpack(archive, folder):
    with tarfile.open(archive) as tar:
        wanted = []
        for member in tar.getmembers():
            inner = member.name.partition("/")[2]
            plain = member.isfile() and ".." not in pathlib.PurePosixPath(inner).parts
            if plain and (inner.startswith(GGML) or inner == GGML_LICENCE):
                member.name = inner
                wanted.append(member)
        tar.extractall(folder, members=wanted)
    if not (folder / GGML / "CMakeLists.txt").exists():
        raise PeersError(f"{archive.name} must hold {GGML}, got {len(wanted)} files of it")


def build_native(root, folder):
    build = folder / "native"
    if not (build / "build.ninja").exists():
        say("configure ggml and rotary, -O3")
        call(["cmake", "-S", str(root / "conformance/peers/native"), "-B", str(build),
              "-G", "Ninja", "-D", "CMAKE_BUILD_TYPE=Release",
              "-D", f"GGML_SOURCE={folder / 'ggml/source' / GGML}"])
    say("build what changed of ggml and rotary")
    # The build prints its own progress, since the first one takes minutes.
    command = ["cmake", "--build", str(build), "--target", "rotary_peers"]
    if subprocess.run(command, stdout=sys.stderr).returncode != 0:
        raise PeersError(f"{' '.join(command)} failed, see above")


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


def say(what):
    print(f"== peers: {what} (at {time.strftime('%H:%M:%S')})", file=sys.stderr, flush=True)


def call(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        last = "\n".join(result.stdout.strip().splitlines()[-20:])
        raise PeersError(f"{' '.join(command[:4])} … failed with {result.returncode}:\n{last}")
