# SPDX-License-Identifier: Apache-2.0
"""Measures in the interpreter that environment.py made, and writes the report as JSON.

    measure.py OPTIONS    JSON: peers.py's options, the topic, the library's path, the commit
"""

import gc
import json
import pathlib
import sys
import types

import mlx.core
import onnxruntime
import torch

import attention_measure
import machine
import native
import openvino_peer
import rotation_measure
import timing


def main():
    options = types.SimpleNamespace(**json.loads(sys.argv[1]))
    topic = attention_measure if options.topic == "attention" else rotation_measure
    library = native.load(options.library)
    torch.set_num_threads(options.threads)
    gc.disable()
    try:
        report = described(library, options, topic.SETTINGS) | topic.report(library, options)
    except timing.DiffersError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 1
    pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


def described(library, options, settings):
    peers = {"ggml": (library.peers_ggml_version().decode(), "MIT"),
             "onnxruntime": (onnxruntime.__version__, "MIT"),
             "torch": (torch.__version__, "BSD-3-Clause"),
             "openvino": (openvino_peer.version(), "Apache-2.0"),
             "mlx": (mlx.core.__version__, "MIT")}
    return {
        "rotary": {"version": library.rotary_version().decode(), "commit": options.commit,
                   "instruction_set": library.rotary_instruction_set().decode()},
        "machine": machine.described(),
        "threads": options.threads,
        "peers": [{"name": name, "version": version, "licence": licence,
                   "settings": settings[name]} for name, (version, licence) in peers.items()],
    }


if __name__ == "__main__":
    sys.exit(main())
