# SPDX-License-Identifier: Apache-2.0
"""Engines beside the tool, for each way to write a config: tests/golden/evidence/*.json."""

import importlib
import pathlib
import zipfile

from readings import ROOT

MODULES = {"mlx": "engine_mlx", "llama.cpp": "engine_llama_cpp", "vllm": "engine_vllm",
           "onnxruntime": "engine_onnxruntime"}


def unpacked(source):
    """The Python files of a wheel; a folder is itself."""
    source = pathlib.Path(source)
    if source.is_dir():
        return source
    folder = ROOT / "build/golden/sources" / source.stem
    with zipfile.ZipFile(source) as wheel:
        wheel.extractall(folder, [name for name in wheel.namelist() if name.endswith(".py")])
    return folder


def write_evidence(engine, source):
    """Answers that an engine gave before are kept in build/golden/evidence."""
    made = importlib.import_module(MODULES[engine]).evidence(
        [], *([unpacked(source)] if source else []))
    made.write()
    print(f"{engine}: " + ", ".join(f"{count} {kind}" for kind, count in made.counts().items()))
