# SPDX-License-Identifier: Apache-2.0
"""Compares Llama 3.1's rotated queries by the tool (numerics transformers) and by Transformers.
Counts the elements that differ, at every seventh position from 100000 to 131071. Needs
transformers, torch and NumPy.

    far_positions.py build/release/bin/rotary
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

CONFIG = {"hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 1,
          "max_position_embeddings": 131072, "rope_theta": 500000.0,
          "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                           "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}}
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}


def bits(tensor):
    return tensor.contiguous().view(torch.uint16).numpy()


def rotated_by_tool(tool, folder, dtype, q):
    # NPY has no bf16; the tool reads the bits.
    numpy.save(folder / "q.npy", bits(q) if dtype == "bf16" else q.numpy())
    subprocess.run([tool, "rotate", "--config", "config.json", "--layout", "thd", "--dtype", dtype,
                    "--positions", "p.npy", "--q", "q.npy", "--out-q", "out.npy", "--force",
                    "--numerics", "transformers"], cwd=folder, check=True, capture_output=True)
    return numpy.load(folder / "out.npy").view(numpy.uint16)


def main():
    tool = pathlib.Path(sys.argv[1]).resolve()
    positions = torch.arange(100000, 131072, 7)
    rope = LlamaRotaryEmbedding(LlamaConfig(**CONFIG))
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "config.json").write_text(json.dumps(CONFIG | {"model_type": "llama"}))
        numpy.save(folder / "p.npy", positions.numpy())
        for dtype, of_torch in DTYPES.items():
            q = torch.randn(1, 1, len(positions), 128).to(of_torch)
            wanted, _ = apply_rotary_pos_emb(q, q, *rope(q, positions[None]))
            got = rotated_by_tool(tool, folder, dtype, q[0, 0][:, None, :].contiguous())
            differ = int((got[:, 0, :] != bits(wanted[0, 0])).sum())
            print(f"{dtype}: {differ} of {got.size} elements differ")


if __name__ == "__main__":
    main()
