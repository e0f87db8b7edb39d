# SPDX-License-Identifier: Apache-2.0
"""rotary permute reorders rows of q and k, and refuses invalid files."""

import json

import numpy as np

from safetensors_files import BITS, encoded, load, save, save_bytes
from tool import INTERLEAVED, LLAMA, PARTIAL, ToolTest, rotated

GQA = LLAMA | {"num_key_value_heads": 2}
MLA = {"model_type": "deepseek_v3", "hidden_size": 32, "num_attention_heads": 2,
       "num_hidden_layers": 1, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "kv_lora_rank": 6,
       "max_position_embeddings": 64, "rope_theta": 10000.0}
TO_INTERLEAVED = ["--to", "interleaved"]
BACK = ["--from", "interleaved", "--to", "half"]


def to_interleaved(weight, heads, window=None, first=0):
    """Puts rows i and i + n/2 of a head's window of n rows side by side, as llama.cpp does."""
    weight = np.array(weight)
    rows = weight.reshape(heads, -1, *weight.shape[1:])
    window = window or rows.shape[1] - first
    part = rows[:, first:first + window]
    rows[:, first:first + window] = part.reshape(
        heads, 2, window // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(part.shape)
    return rows.reshape(weight.shape)


class PermuteTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(5)

    def array(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def save(self, tensors, name="model.safetensors"):
        save(self.path / name, tensors)
        return name

    def permuted(self, config, tensors, *options):
        self.write_config(config)
        self.save(tensors)
        document = self.run_json("permute", "permute", "model.safetensors", *options, "--out",
                                 "out.safetensors", "--force")
        return load(self.path / "out.safetensors"), document

    def assert_permuted(self, config, tensors, wanted, *options):
        """Permutes, and compares the wanted tensors. Returns the document."""
        out, document = self.permuted(config, tensors, *options)
        for name, array in wanted.items():
            np.testing.assert_array_equal(out[name], array, err_msg=name)
        return document

    def refuses(self, code, *words, path="model.safetensors", to=(*TO_INTERLEAVED, "--out", "o")):
        self.assert_fails(code, words, "permute", path, *to)

    def llama(self, layer=0):
        name = f"model.layers.{layer}.self_attn"
        return {f"{name}.q_proj.weight": self.array(64, 64),
                f"{name}.k_proj.weight": self.array(32, 64),
                f"{name}.v_proj.weight": self.array(32, 64),
                f"{name}.o_proj.weight": self.array(64, 64)}

    def test_rows_of_grouped_heads_and_biases_are_permuted(self):
        tensors = {"model.embed_tokens.weight": self.array(7, 64)} | self.llama(0) | self.llama(1)
        tensors["model.layers.1.self_attn.q_proj.bias"] = self.array(64)
        tensors["model.layers.1.self_attn.k_proj.bias"] = self.array(32)
        heads = {name: 4 if "q_proj" in name else 2 if "k_proj" in name else 0 for name in tensors}
        document = self.assert_permuted(
            GQA, tensors, {name: to_interleaved(array, heads[name]) if heads[name] else array
                           for name, array in tensors.items()}, *TO_INTERLEAVED)
        self.assertEqual(list(load(self.path / "out.safetensors")), list(tensors))
        self.assertEqual(document["from"], "half")
        self.assertEqual(document["copied_tensors"], 5)
        self.assertIn({"name": "model.layers.*.self_attn.k_proj.weight", "tensors": 2, "heads": 2,
                       "head_dim": 16}, document["permuted"])

    def test_permuted_weights_give_the_same_scores_with_the_other_pairing(self):
        out, _ = self.permuted(GQA, tensors := self.llama(), "--to", "interleaved")
        x, y = self.random.standard_normal((2, 64))
        scores = {}
        for pairing, weights in (("half", tensors), ("interleaved", out), ("wrong", tensors)):
            q, k = (weights[f"model.layers.0.self_attn.{which}_proj.weight"].astype(float)
                    for which in "qk")
            turned_q, turned_k = (rotated(head.reshape(1, 1, 16), [at], pairing == "half").ravel()
                                  for head, at in (((q @ x)[16:32], 9000), ((k @ y)[:16], 8951)))
            scores[len(scores)] = turned_q @ turned_k
        self.assertAlmostEqual(scores[0], scores[1], delta=1e-9)
        self.assertGreater(abs(scores[0] - scores[2]), 1e-3)

    def there_and_back(self):
        """Returns the bytes of the model, of its permuted copy, and of the copy permuted back."""
        self.run_ok("permute", "model.safetensors", *TO_INTERLEAVED, "--out", "a", "--force")
        self.run_ok("permute", "a", *BACK, "--out", "b", "--force")
        return [(self.path / name).read_bytes() for name in ("model.safetensors", "a", "b")]

    def test_every_dtype_and_width_is_restored_or_refused(self):
        """Rows that share a byte are refused before anything is written."""
        self.write_config(GQA)
        for dtype, bits in BITS.items():
            for width in (1, 2, 3, 4, 7) if bits < 8 else (1, 7):
                q, bias, v = (self.random.bytes(count * bits // 8)
                              for count in (64 * width, 64, width * 8))
                tensors = {"q_proj.weight": (dtype, [64, width], q),
                           "v_proj.weight": (dtype, [width, 8], v)}
                if bits >= 8:
                    tensors["q_proj.bias"] = (dtype, [64], bias)
                save_bytes(self.path / "model.safetensors", tensors)
                with self.subTest(dtype=dtype, width=width):
                    if width * bits % 8:
                        self.refuses(5, "rows of whole bytes", "got 64 rows", dtype)
                        continue
                    before, a, b = self.there_and_back()
                    rows = np.frombuffer(q, np.uint8).reshape(64, -1)
                    self.assertEqual(len(a), len(before))
                    self.assertIn(to_interleaved(rows, 4).tobytes() + v, a)
                    self.assertEqual(b, before)

    def test_norm_weights_of_half_a_byte_are_refused(self):
        self.write_config(GQA)
        save_bytes(self.path / "model.safetensors",
                   {"layers.0.self_attn.q_norm.weight": ("F4", [16], bytes(8))})
        self.refuses(5, "rows of whole bytes", "got 16 rows of F4 in 8 bytes")

    def test_messages_shorten_long_names(self):
        long = "n" * 2_000_000
        self.write_config(GQA)
        for words, name in {"neither a weight nor a bias of q_proj": f"{long}.q_proj.qweight",
                            "an order that is not known": f"{long}.query_key_value.weight",
                            "must have 16 rows for each head": f"{long}.q_proj.weight"}.items():
            self.save({name: self.array(63, 1)})
            message = self.run_tool("permute", "model.safetensors", *TO_INTERLEAVED, "--out",
                                    "o").stderr.decode()
            with self.subTest(words):
                self.assertIn("nnn...", message)
                self.assertIn(words, message)
                self.assertLess(len(message), 500)

    def test_only_the_rotated_window_of_a_head_is_permuted(self):
        """GPT-J: 8 of 16 features rotate, in pairs of neighbours."""
        name = "transformer.h.1.attn.k_proj.weight"
        want = self.array(64, 64)
        self.assert_permuted(INTERLEAVED, {name: to_interleaved(want, 4, window=8)}, {name: want},
                             "--to", "half")

    def test_norm_weights_of_q_and_k_are_permuted(self):
        config = {"model_type": "qwen3", "hidden_size": 64, "num_attention_heads": 4,
                  "num_key_value_heads": 2, "head_dim": 16, "num_hidden_layers": 1}
        norms = {f"model.layers.0.self_attn.{which}_norm.weight": self.array(16) for which in "qk"}
        self.assert_permuted(config, self.llama() | norms,
                             {name: to_interleaved(norm, 1) for name, norm in norms.items()},
                             *TO_INTERLEAVED)

    def test_fused_heads_of_gpt_neox_are_permuted(self):
        """GPT-NeoX has [query, key, value] for each head and rotates a quarter of 32 features."""
        name = "gpt_neox.layers.0.attention.query_key_value.weight"
        weight = self.array(2, 3, 32, 64)
        want = weight.copy()
        for head in range(2):
            for part in range(2):
                want[head, part] = to_interleaved(weight[head, part], 1, window=8)
        document = self.assert_permuted(PARTIAL, {name: weight.reshape(192, 64)},
                                        {name: want.reshape(192, 64)}, *TO_INTERLEAVED)
        self.assertEqual(document["permuted"][0]["heads"], 4)

    def test_fused_projections_of_phi3_are_permuted(self):
        config = GQA | {"model_type": "phi3"}
        name = "model.layers.2.self_attn.qkv_proj.weight"
        q, k, v = self.array(64, 8), self.array(32, 8), self.array(32, 8)
        want = np.concatenate([to_interleaved(q, 4), to_interleaved(k, 2), v])
        self.assert_permuted(config, {name: np.concatenate([q, k, v])}, {name: want},
                             *TO_INTERLEAVED)

    def test_fused_groups_of_falcon_are_permuted(self):
        """Falcon 40B has the queries of a group, then its key and its value. Falcon 7B has one key
        for all queries."""
        name = "transformer.h.0.self_attention.query_key_value.weight"
        config = {"model_type": "falcon", "hidden_size": 64, "num_attention_heads": 4,
                  "num_kv_heads": 2, "num_hidden_layers": 1, "alibi": False}
        weight = self.array(2, 4, 16, 8)
        want = weight.copy()
        for group in range(2):
            want[group, :3] = to_interleaved(weight[group, :3].reshape(48, 8), 3).reshape(3, 16, 8)
        self.assert_permuted(config | {"new_decoder_architecture": True},
                             {name: weight.reshape(128, 8)}, {name: want.reshape(128, 8)},
                             *TO_INTERLEAVED)
        weight = self.array(96, 8)
        want = np.concatenate([to_interleaved(weight[:80], 5), weight[80:]])
        self.assert_permuted(config, {name: weight}, {name: want}, *TO_INTERLEAVED)
        self.write_config(config | {"multi_query": "yes"})
        self.refuses(3, "multi_query must be true or false, got JSON of type string")

    def test_only_the_rotated_rows_of_latent_attention_are_permuted(self):
        """DeepSeek rotates the last 4 rows of each head of q and of the latent keys."""
        q = "model.layers.0.self_attn.q_b_proj.weight"
        k = "model.layers.0.self_attn.kv_a_proj_with_mqa.weight"
        want = {q: self.array(24, 5), k: self.array(10, 5)}
        tensors = {q: to_interleaved(want[q], 2, first=8), k: to_interleaved(want[k], 1, first=6)}
        self.assert_permuted(MLA, tensors, want, "--to", "half")

    def test_the_vision_tower_and_lora_a_are_not_permuted(self):
        config = {"model_type": "llava", "text_config": GQA,
                  "vision_config": {"model_type": "clip_vision_model"}}
        other = {"vision_tower.encoder.layers.0.self_attn.q_proj.weight": self.array(50, 3),
                 "language_model.model.layers.0.self_attn.q_proj.lora_A.weight": self.array(4, 64)}
        lora = "language_model.model.layers.0.self_attn.q_proj.lora_B.weight"
        tensors = {f"language_model.{name}": array for name, array in self.llama().items()}
        tensors |= other | {lora: self.array(64, 4)}
        self.assert_permuted(config, tensors, other | {lora: to_interleaved(tensors[lora], 4)},
                             *TO_INTERLEAVED)

    def test_layers_without_rotation_are_not_permuted(self):
        config = GQA | {"model_type": "smollm3", "no_rope_layers": [1, 0, 1]}
        tensors = self.llama(0) | self.llama(1)
        moves, stays = (f"model.layers.{layer}.self_attn.q_proj.weight" for layer in range(2))
        self.assert_permuted(config, tensors, {stays: tensors[stays],
                                               moves: to_interleaved(tensors[moves], 4)},
                             *TO_INTERLEAVED)

    def write_shards(self):
        shards = {f"model-0000{i + 1}-of-00002.safetensors": self.llama(i) for i in range(2)}
        for name, tensors in shards.items():
            self.save(tensors, name)
        index = {"metadata": {"total_size": 1},
                 "weight_map": {tensor: name for name in shards for tensor in shards[name]}}
        (self.path / "model.safetensors.index.json").write_text(json.dumps(index))
        self.write_config(GQA)
        return shards, index

    def test_all_files_of_an_index_are_permuted(self):
        shards, _ = self.write_shards()
        text = self.run_ok("permute", "model.safetensors.index.json", "--to", "interleaved",
                           "--out", "permuted")
        self.assertIn("2 x model.layers.*.self_attn.q_proj.weight: 4 heads of 16 rows", text)
        self.assertEqual((self.path / "permuted/model.safetensors.index.json").read_bytes(),
                         (self.path / "model.safetensors.index.json").read_bytes())
        for i, (name, tensors) in enumerate(shards.items()):
            out = load(self.path / "permuted" / name)
            q = f"model.layers.{i}.self_attn.q_proj.weight"
            np.testing.assert_array_equal(out[q], to_interleaved(tensors[q], 4))

    def test_invalid_indexes_are_refused_without_output(self):
        shards, index = self.write_shards()
        first = next(iter(index["weight_map"]))
        path = self.path / "model.safetensors.index.json"
        for file, code, words in (("../model.safetensors", 3, "a file of its own folder"),
                                  ("absent.safetensors", 4, "cannot open"),
                                  (7, 3, "a file of its own folder")):
            path.write_text(json.dumps({"weight_map": index["weight_map"] | {first: file}}))
            self.refuses(code, words, path=path.name)
            self.assertFalse((self.path / "o").exists())
        path.write_text(json.dumps({"weight_map": {"absent": next(iter(shards))}}))
        self.refuses(3, "must have the tensor 'absent' that the index names", path=path.name)
        for text, words in (
                ("[]", "a JSON object with the member weight_map"),
                ("7", "weight_map"), ("{", "weight_map"), ("{}", "weight_map"),
                ('{"weight_map": []}', "weight_map"), ('{"weight_map": 1}', "weight_map"),
                ('{"weight_map": {}}', "must name a file"),
                ('{"weight_map": {"a": {}}}', "a file of its own folder for 'a'"),
                ('{"weight_map": {"a": []}}', "a file of its own folder for 'a'"),
                ('{"weight_map": {"a": "f"}, "weight_map": {}}', "weight_map once"),
                ('{"a": ' + "[" * 64 + "]" * 64 + "}", "not nest deeper than 64 levels"),
                ('{"weight_map": {' + ",".join(f'"t{i}":"f"' for i in range(2**20 + 1)) + "}}",
                 "name at most 1048576 tensors")):
            path.write_text(text)
            self.refuses(3, words, path=path.name)

    def test_wrong_arguments_are_refused(self):
        self.write_config(GQA)
        self.save(self.llama())
        self.refuses(2, "--to must differ from the present order of the rows, half by",
                     to=["--to", "half", "--out", "o"])
        self.refuses(2, "--out is required", to=TO_INTERLEAVED)
        self.refuses(2, "half", "interleaved", to=["--to", "neox", "--out", "o"])
        self.refuses(4, "exists", to=[*TO_INTERLEAVED, "--out", "config.json"])
        self.write_config(GQA | {"num_attention_heads": 8})
        self.refuses(3, "must have 2 heads of 8 rows, got 32 rows: is this the config of these "
                        "weights?")
        self.assertFalse((self.path / "o").exists())

    def test_unknown_and_quantised_tensors_are_refused(self):
        self.write_config(GQA)
        for name, words in (
                ("layers.0.q_proj.qweight", "before they are quantised"),
                ("layers.0.query_key_value.weight", "an order that is not known for the family"),
                ("layers.0.mlp.weight", "no tensor of queries or keys")):
            self.save({name: self.array(64, 64)})
            self.refuses(5, words)

    def test_invalid_headers_are_refused(self):
        """Each kind of invalid header gives one error and no output."""
        self.write_config(GQA)
        q = {"dtype": "F32", "shape": [64, 1], "data_offsets": [0, 256]}
        good = encoded({"q_proj.weight": q}, bytes(256))
        bad = {
            "at least 8 bytes, got 0": b"",
            "at least 8 bytes, got 7": good[:7],
            "truncated?": good[:-1],
            "got 257": good + b"\0",
            "at most 100000000 bytes": b"\xff" * 8 + b"{}",
            "must have the 200 bytes it announces": (200).to_bytes(8, "little") + b"{}",
            "begin with '{'": encoded(b' {"a":1}', b""),
            "is no JSON": encoded(b'{"a": {"dtype": "F32"', b""),
            "no JSON at": encoded(b'{"\xff": 1}', b""),
            "must not have a number there": encoded(b'{"a": 1}', b""),
            "must not have an array there": encoded(b'{"a": [[[[[]]]]]}', b""),
            "the name 'a' twice": encoded(
                b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
                b'"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}', b""),
            "the key 'dtype' twice": encoded(b'{"a":{"dtype":"U8","dtype":"U8"}}', b""),
            "must have dtype, shape and data_offsets": encoded({"a": {"dtype": "U8"}}, b""),
            "must not have the key 'more'": encoded({"a": q | {"more": 1}}, bytes(256)),
            "the dtype 'F5'": encoded({"a": q | {"dtype": "F5"}}, bytes(256)),
            "number below 0": encoded({"a": q | {"shape": [-1]}}, bytes(256)),
            "no integer below 2^64": encoded({"a": q | {"shape": [64.0]}}, bytes(256)),
            "not above the second": encoded({"a": q | {"data_offsets": [256, 0]}}, bytes(256)),
            "got 256 by data_offsets": encoded({"a": q | {"shape": [63, 1]}}, bytes(256)),
            "fewer than 2^61": encoded({"a": q | {"shape": [2, 2**64 - 2]}}, bytes(256)),
            "whole bytes": encoded({"a": q | {"dtype": "F4", "shape": [3]}}, bytes(256)),
            "where the one before ends, got 8": encoded(
                {"a": q | {"data_offsets": [8, 264]}}, bytes(264)),
            "where the one before ends, got 128": encoded(
                {"a": q, "b": q | {"data_offsets": [128, 384]}}, bytes(384)),
            "must not have null there": encoded({"__metadata__": {"a": None}}, b""),
        }
        for words, content in bad.items():
            (self.path / "model.safetensors").write_bytes(content)
            code = 5 if "F5" in words else 3
            with self.subTest(words):
                self.refuses(code, words)

    def test_a_pipe_is_refused_as_a_checkpoint(self):
        self.write_config(GQA)
        self.refuses(5, "regular file", path="/dev/stdin",
                     to=["--config", "config.json", *TO_INTERLEAVED, "--out", "o"])
