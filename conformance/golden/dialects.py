#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/dialects.json: frequencies and factors that engines compute from configs.

    dialects.py [--write] [--from ENGINE=PATH]... [ENGINE]...

Engine transformers runs the pinned wheels on torch (history.py). onnxruntime runs the builder code
of onnxruntime-genai on torch. mlx runs mlx-lm's rope_utils.py on MLX. llama.cpp compiles ggml's
functions that make angles. --from names an engine's source: the wheel of onnxruntime-genai or
mlx-lm, or the folder vendor/llama.cpp of llama_cpp_python's sdist. Without --write: compares.
"""

import ctypes
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import zipfile

import numpy as np

from definitions import load_definitions

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATH = ROOT / "tests/golden/dialects.json"
SAME = 2.0**-20

YARN = {"model_type": "llama", "hidden_size": 3584, "num_attention_heads": 28,
        "max_position_embeddings": 131072, "rope_theta": 1000000.0,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32, "beta_slow": 1,
                         "original_max_position_embeddings": 32768}}
GPT_OSS = {"model_type": "llama", "hidden_size": 2880, "num_attention_heads": 64, "head_dim": 64,
           "max_position_embeddings": 131072, "rope_theta": 150000.0,
           "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "truncate": False,
                            "beta_fast": 32.0, "beta_slow": 1.0,
                            "original_max_position_embeddings": 4096}}
PHI = {"model_type": "phi3", "hidden_size": 3072, "num_attention_heads": 32,
       "max_position_embeddings": 131072, "original_max_position_embeddings": 4096,
       "rope_theta": 10000.0,
       "rope_scaling": {"rope_type": "longrope", "short_factor": [1.0 + i / 48 for i in range(48)],
                        "long_factor": [8.0 + i for i in range(48)], "factor": 16.0}}
QWEN3_VL = {"model_type": "qwen3_vl_text", "hidden_size": 4096, "num_attention_heads": 32,
            "head_dim": 128, "max_position_embeddings": 262144, "rope_theta": 5000000.0,
            "rope_scaling": {"rope_type": "default", "mrope_section": [24, 20, 20],
                             "mrope_interleaved": True}}


def with_rope(config, **keys):
    return config | {"rope_scaling": config["rope_scaling"] | keys}


YARN_CASES = [
    ("YaRN", YARN),
    ("YaRN with an attention factor", with_rope(YARN, attention_factor=1.0)),
    ("YaRN with mscale alone", with_rope(YARN, mscale=0.5)),
    ("YaRN with mscale and mscale_all_dim", with_rope(YARN, mscale=1.0, mscale_all_dim=0.5)),
    ("YaRN without truncation", GPT_OSS),
]
LONGROPE = ("LongRoPE with a factor of 16 besides", PHI)


def head_dim_of(config):
    return config.get("head_dim", config["hidden_size"] // config["num_attention_heads"])


def case(engine, title, config, numbers):
    inv_freq, factor = numbers
    return {"engine": engine, "title": title, "config": config, "calls": [1],
            "inv_freq": [[float(each) for each in inv_freq]], "factor": float(factor),
            "missing": ""}


def transformers_case(history, first, last, seen):
    return {"engine": "transformers", "first": first, "last": last, "title": history.title,
            "config": {"model_type": history.family} | history.config,
            "calls": [position + 1 for position in history.calls],
            "inv_freq": [[float(np.float32(each)) for each in row] for row in seen.inv_freq],
            "factor": float(np.float32(seen.factor)), "missing": seen.missing}


def transformers_cases(_source):
    from golden import histories
    from history import observe
    from history_cases import Case
    from release import release_of
    from wheels import pins
    for history, periods in histories():
        for first, last, seen in periods:
            yield transformers_case(history, first, last, seen)
    newest = release_of(pins()["default"])
    for title, config in [*YARN_CASES, LONGROPE]:
        history = Case(title, config["model_type"], config, None, {})
        yield transformers_case(history, newest.version, newest.version,
                                observe(history, newest))


def onnxruntime_cases(source):
    import torch
    text = zipfile.ZipFile(source).read("onnxruntime_genai/models/builders/base.py").decode()
    builder = load_definitions(text, ["Model"], {"np": np, "torch": torch})["Model"]
    for title, config in YARN_CASES:
        config = config | {"model_type": "qwen2"}  # the builder's LlamaModel ignores yarn
        rope = config["rope_scaling"]
        made = object.__new__(builder)
        made.head_size = head_dim_of(config)
        made.original_context_length = rope["original_max_position_embeddings"]
        made.rope_attrs = {"theta": config["rope_theta"]}
        made.make_rope_init(types.SimpleNamespace(rope_parameters=rope))
        dim = made.head_size
        plain = 1.0 / config["rope_theta"] ** (torch.arange(0, dim, 2).float() / dim)
        inv_freq = made.make_inv_freq_rescaled_with_ntk(plain)
        yield case("onnxruntime", title, config, (inv_freq.numpy(), made.rope_attrs["mscale"]))


def mlx_cases(source):
    import mlx.core as mx
    import mlx.nn as nn
    mx.set_default_device(mx.cpu)
    text = zipfile.ZipFile(source).read("mlx_lm/models/rope_utils.py").decode()
    scope = {}
    exec(compile(text, "rope_utils.py", "exec"), scope)
    for title, config in [*YARN_CASES, LONGROPE]:
        dims = head_dim_of(config)
        rope = {"original_max_position_embeddings":
                config.get("original_max_position_embeddings")} | config["rope_scaling"]
        made = scope["initialize_rope"](dims, config["rope_theta"], False, rope,
                                        config["max_position_embeddings"])
        assert isinstance(made, nn.Module)
        factor = made.mscale if hasattr(made, "mscale") else made._scale
        yield case("mlx", title, config, (1.0 / np.array(made._freqs, np.float64), factor))


GGML = """
#include <cmath>
#include <cstdint>
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define GGML_ASSERT(x)
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
%s
extern "C" void corr_dims(int n, int ctx, float base, float fast, float slow, float* dims) {
  ggml_rope_yarn_corr_dims(n, ctx, base, fast, slow, dims);
}
extern "C" void rope(float p, float scale, float* dims, int64_t ne0, float ext, float m, float* out,
                     float step) {
  ggml_rope_cache_init(p, scale, nullptr, dims, ne0, ext, m, out, 1.0f, step);
}
extern "C" void mrope(const float* p, const int* sections, float* dims, int64_t ne0, float* out,
                      float step) {
  ggml_mrope_cache_init(p[0], p[1], p[2], p[3], const_cast<int*>(sections), true, false, 1.0f,
                        nullptr, dims, ne0, 0.0f, 1.0f, out, 1.0f, step);
}
"""


def c_function(text, name):
    """The text from the line with its name to the closing brace in column 0."""
    found = re.search(rf"^[^\n;]*\b{name}\([^;{{]*{{.*?^}}", text, re.MULTILINE | re.DOTALL)
    return found.group(0)


def ggml_library(source, folder):
    ggml = (source / "ggml/src/ggml.c").read_text()
    ops = (source / "ggml/src/ggml-cpu/ops.cpp").read_text()
    parts = [c_function(ggml, "ggml_rope_yarn_corr_dim"),
             c_function(ggml, "ggml_rope_yarn_corr_dims"),
             c_function(ops, "rope_yarn_ramp"), c_function(ops, "rope_yarn"),
             c_function(ops, "ggml_rope_cache_init"), c_function(ops, "ggml_mrope_cache_init")]
    code = folder / "ggml.cpp"
    code.write_text(GGML % "\n".join(parts))
    library = folder / "ggml.so"
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-o", library, code], check=True)
    return ctypes.CDLL(str(library))


def floats(*values):
    return (ctypes.c_float * len(values))(*values)


def numbers_of(out):
    pairs = np.array(out, np.float64).reshape(-1, 2)
    return np.arctan2(pairs[:, 1], pairs[:, 0]), np.hypot(*pairs[0])


def llama_cpp_cases(source):
    real = ctypes.c_float
    with tempfile.TemporaryDirectory() as folder:
        ggml = ggml_library(pathlib.Path(source), pathlib.Path(folder))
        for title, config in YARN_CASES:
            rope = config["rope_scaling"]
            dim = head_dim_of(config)
            base, factor = config["rope_theta"], rope["factor"]
            dims, out = floats(0, 0), floats(*[0] * dim)
            ggml.corr_dims(dim, rope["original_max_position_embeddings"], real(base), real(32),
                           real(1), dims)
            # llama-context.cpp divides get_mscale(factor, 1) by what ggml multiplies later.
            attn = (0.1 * math.log(factor) + 1) * (1 / (1 + 0.1 * math.log(factor)))
            ggml.rope(real(1), real(1 / factor), dims, ctypes.c_int64(dim), real(1), real(attn),
                      out, real(base ** (-2 / dim)))
            yield case("llama.cpp", title, config, numbers_of(out))
        dims, out = floats(0, 0), floats(*[0] * 128)
        base, sections = QWEN3_VL["rope_theta"], (ctypes.c_int * 4)(24, 20, 20, 0)
        # For text the fourth coordinate is 0 (src/llama-graph.cpp, llm_graph_input_pos).
        ggml.mrope(floats(1, 1, 1, 0), sections, dims, ctypes.c_int64(128), out,
                   real(base ** (-2 / 128)))
        yield case("llama.cpp", "interleaved M-RoPE, of text", QWEN3_VL, numbers_of(out))


def shortened(made):
    """Nine digits identify a float32."""
    rows = [[float(f"{each:.9g}") for each in row] for row in made["inv_freq"]]
    return made | {"inv_freq": rows, "factor": float(f"{made['factor']:.9g}")}


MAKERS = {"transformers": transformers_cases, "llama.cpp": llama_cpp_cases, "mlx": mlx_cases,
          "onnxruntime": onnxruntime_cases}


def alike(one, other):
    if one.keys() != other.keys() or one["missing"] != other["missing"]:
        return False
    rows = zip(one["inv_freq"], other["inv_freq"], strict=True)
    return (abs(one["factor"] - other["factor"]) <= SAME and
            all(abs(a - b) <= SAME * abs(b) for x, y in rows for a, b in zip(x, y, strict=True)))


def main(words):
    write = "--write" in words
    sources = dict(words[i + 1].split("=", 1) for i, word in enumerate(words) if word == "--from")
    chosen = [word for word in words if word in MAKERS] or list(MAKERS)
    for engine in chosen:
        if engine != "transformers" and engine not in sources:
            print(f"dialects: --from {engine}=PATH is required", file=sys.stderr)
            return 2
    recorded = json.loads(PATH.read_text())["cases"] if PATH.exists() else []
    made = {engine: list(map(shortened, MAKERS[engine](sources.get(engine))))
            for engine in chosen}
    if write:
        cases = [each for engine in MAKERS
                 for each in made.get(engine, [old for old in recorded if old["engine"] == engine])]
        lines = ",\n".join(json.dumps(each) for each in cases)
        head = '{"produced_by": "conformance/golden/dialects.py", "cases": [\n'
        PATH.write_text(head + lines + "\n]}\n")
        return 0
    for engine in chosen:
        old = [each for each in recorded if each["engine"] == engine]
        if len(old) != len(made[engine]) or not all(map(alike, made[engine], old)):
            print(f"dialects: {engine} makes other numbers than those recorded", file=sys.stderr)
            return 1
        print(f"{engine}: {len(old)} cases as recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
