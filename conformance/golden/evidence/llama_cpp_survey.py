# SPDX-License-Identifier: Apache-2.0
"""Runs llama.cpp's converter on configs. Answers with the GGUF keys and rope tensors.

    llama_cpp_survey.py LLAMA_CPP    its folder

Answers as in survey.py, but with {"gguf": the file in base64} for a config. Does not run
src/llama-model.cpp and src/models, which read that file.
"""

import base64
import json
import logging
import pathlib
import sys
import tempfile

sys.path[:0] = [sys.argv[1], sys.argv[1] + "/gguf-py"]
logging.disable(logging.CRITICAL)

import conversion  # noqa: E402
import gguf  # noqa: E402

from survey import answer_lines  # noqa: E402


class Lenient(dict):
    """A config with a number for each required key that is not about rope."""

    def __missing__(self, key):
        if "rope" in key or "rotary" in key or "original" in key:
            raise KeyError(key)
        return 1


def answer(asked):
    if "names" in asked:
        return {"names": sorted(conversion.TEXT_MODEL_MAP)}
    config = asked["config"]
    cls = conversion.get_model_class(config["architectures"][0])
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.gguf")
        pathlib.Path(folder, "config.json").write_text(json.dumps(config), encoding="utf-8")
        model = cls(pathlib.Path(folder), gguf.LlamaFileType.ALL_F32, path,
                    hparams=Lenient(config))
        model.set_gguf_parameters()
        for tensor_name, tensor in model.generate_extra_tensors():
            model.gguf_writer.add_tensor(tensor_name, tensor.numpy())
        writer = model.gguf_writer
        writer.write_header_to_file(path)
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return {"gguf": base64.b64encode(path.read_bytes()).decode()}


if __name__ == "__main__":
    answer_lines(answer)
