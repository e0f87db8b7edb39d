# SPDX-License-Identifier: Apache-2.0
"""Dumps heads before and after rotary embedding by five packages' own code.

Run: identify_dumps.py tests/golden/identify [ROPE_DUMP], by an interpreter that has one or more of
the packages. ROPE_DUMP is GGML_PROGRAM below, compiled and linked with ggml. Without arguments,
prints GGML_PROGRAM. Makes a file for each package that can be imported. A case has two arrays: 8
tokens at positions 1000 to 1007, one head, 64 features, float32 (bf16 cases hold bf16 numbers).
tests/golden/PROVENANCE.md has the versions.
"""

import importlib.util
import pathlib
import subprocess
import sys

import numpy as np

GGML_PROGRAM = r"""#include "ggml-cpu.h"
#include "ggml.h"
#include <stdio.h>
#include <stdlib.h>
/* MODE FIRST TOKENS DIMS BASE < x > y: float32 [tokens][dims], one head */
int main(int argc, char **argv) {
  const int mode = atoi(argv[1]), first = atoi(argv[2]), tokens = atoi(argv[3]);
  const int dims = atoi(argv[4]);
  const size_t count = (size_t)(dims * tokens);
  struct ggml_init_params memory = {64u << 20, NULL, 0};
  struct ggml_context *ctx = ggml_init(memory);
  struct ggml_tensor *x = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, dims, 1, tokens);
  struct ggml_tensor *places = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, tokens);
  if (fread(x->data, 4, count, stdin) != count) return 1;
  for (int t = 0; t < tokens; ++t) ((int *)places->data)[t] = first + t;
  struct ggml_tensor *y = ggml_rope_ext(ctx, x, places, NULL, dims, mode, 0, strtof(argv[5], NULL),
                                        1.0f, 0.0f, 1.0f, 32.0f, 1.0f);
  struct ggml_cgraph *graph = ggml_new_graph(ctx);
  ggml_build_forward_expand(graph, y);
  if (ggml_graph_compute_with_ctx(ctx, graph, 1) != GGML_STATUS_SUCCESS) return 2;
  return fwrite(y->data, 4, count, stdout) == count ? 0 : 3;
}
"""

FIRST, TOKENS, WIDTH = 1000, 8, 64
X = np.random.default_rng(3).standard_normal((TOKENS, WIDTH)).astype(np.float32)
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
# gpt-oss's parameters.
YARN = {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0, "beta_fast": 32.0,
        "beta_slow": 1.0, "truncate": False, "original_max_position_embeddings": 4096}


def transformers_cases():
    import torch
    import transformers
    from transformers.models.cohere import modeling_cohere as cohere
    from transformers.models.llama import modeling_llama as llama

    sizes = {"hidden_size": WIDTH * 4, "num_attention_heads": 4, "max_position_embeddings": 131072}
    places = torch.arange(FIRST, FIRST + TOKENS)[None]
    plain = {"rope_type": "default", "rope_theta": 10000.0}
    for dtype, name in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
        q = torch.from_numpy(X).to(dtype)[None, None]
        for case, module, family, rope in (
                ("llama3", llama, "Llama", LLAMA3), ("yarn", llama, "Llama", YARN),
                ("yarn_without_factor", llama, "Llama", YARN | {"attention_factor": 1.0}),
                ("cohere", cohere, "Cohere", plain)):
            config = getattr(transformers, f"{family}Config")(rope_parameters=rope, **sizes)
            cos, sin = getattr(module, f"{family}RotaryEmbedding")(config)(q, places)
            after = module.apply_rotary_pos_emb(q, q, cos, sin)[0]
            yield f"{case}_{name}", q.float().numpy(), after.float().numpy()


def rotary_embedding_torch_cases():
    import torch
    from rotary_embedding_torch import RotaryEmbedding

    for dtype, name in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
        q = torch.from_numpy(X).to(dtype)[None, None]
        after = RotaryEmbedding(WIDTH).rotate_queries_or_keys(q, offset=FIRST)
        yield name, q.float().numpy(), after.float().detach().numpy()


def onnxruntime_cases():
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    angles = np.outer(np.arange(FIRST + TOKENS, dtype=np.float32),
                      (1e4 ** (-np.arange(0, WIDTH, 2) / WIDTH)).astype(np.float32))
    shape = [1, 1, TOKENS, WIDTH]
    for interleaved in (0, 1):
        node = helper.make_node("RotaryEmbedding", ["x", "places", "cos", "sin"], ["y"],
                                domain="com.microsoft", interleaved=interleaved)
        graph = helper.make_graph(
            [node], "rope",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
             helper.make_tensor_value_info("places", TensorProto.INT64, [1, TOKENS])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
            [numpy_helper.from_array(np.cos(angles), "cos"),
             numpy_helper.from_array(np.sin(angles), "sin")])
        model = helper.make_model(graph, ir_version=9, opset_imports=[
            helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
        session = onnxruntime.InferenceSession(model.SerializeToString(),
                                               providers=["CPUExecutionProvider"])
        places = np.arange(FIRST, FIRST + TOKENS)[None]
        [after] = session.run(None, {"x": X.reshape(shape), "places": places})
        yield f"interleaved_{interleaved}", X, after


def mlx_cases():
    import mlx.core as mx

    for dtype, name in ((mx.float32, "f32"), (mx.bfloat16, "bf16")):
        q = mx.array(X[None, None]).astype(dtype)
        for traditional in (False, True):
            after = mx.fast.rope(q, WIDTH, traditional=traditional, base=10000.0, scale=1.0,
                                 offset=FIRST)
            yield (f"{'traditional' if traditional else 'plain'}_{name}",
                   np.array(q.astype(mx.float32)), np.array(after.astype(mx.float32)))


def ggml_cases(program):
    for mode, name in ((0, "normal"), (2, "neox")):
        done = subprocess.run([program, str(mode), str(FIRST), str(TOKENS), str(WIDTH), "10000"],
                              input=X.tobytes(), capture_output=True, check=True)
        yield name, X, np.frombuffer(done.stdout, np.float32)


def main():
    if len(sys.argv) == 1:
        print(GGML_PROGRAM, end="")
        return
    folder = pathlib.Path(sys.argv[1])
    made = {}
    for package, cases in (("transformers", transformers_cases), ("mlx", mlx_cases),
                           ("rotary_embedding_torch", rotary_embedding_torch_cases),
                           ("onnxruntime", onnxruntime_cases)):
        if importlib.util.find_spec(package):
            made[package] = cases()
    if len(sys.argv) > 2:
        made["ggml"] = ggml_cases(sys.argv[2])
    for package, cases in made.items():
        arrays = {}
        for name, before, after in cases:
            arrays[f"{name}_before"] = before.reshape(TOKENS, WIDTH)
            arrays[f"{name}_after"] = after.reshape(TOKENS, WIDTH)
        np.savez(folder / f"{package}.npz", **arrays)
        print(package)


if __name__ == "__main__":
    main()
