# SPDX-License-Identifier: Apache-2.0
"""Measures the worst configs, GGUF files, headers of safetensors and indexes (measured.py)."""

import itertools
import json

import gguf_files
from calls import CALLS, PERMUTE, SHAPES
from measured import MeasuredTest, head
from tool import LLAMA, TWO_TYPES

# These calls do more with the text of a config than resolve it.
READERS = [CALLS[each][0] for each in (
    ("inspect", "CONFIG"), ("check", "FILE"), ("diff", "ONE"), ("explain", "NAME"),
    ("report", "CONFIG"))]
RESOLVERS = READERS + ["inspect ? --json"] + [CALLS[each][0] for each in (
    ("table", "NAME"), ("explain", "CONFIG"), ("plot", "CONFIG"), ("rotate", "--config"),
    ("identify", "--config"))]
# permute and stretch take no GGUF file.
PERMUTE_BY = CALLS["permute", "--config"][0]
STRETCH = [CALLS["stretch", option][0] for option in ("MODEL", "--drafter")]
FIGURES = [f"plot {figure} ? --csv" for figure in (
    "scaling", "similarity", "decay", "numerics", "clipped", "rotation", "tables", "attention")]


def names(count):
    """Returns tensors of `count` modules. Layers of one module would be counted together."""
    letters = itertools.product("abcdefghijklmnop", repeat=5)
    return {f"{''.join(next(letters))}.q_proj.weight": [64, 0] for _ in range(count)}


def factors(features):
    return head(features) | {
        "original_max_position_embeddings": 512,
        "rope_scaling": {"rope_type": "longrope", "short_factor": [1.0] * (features // 2),
                         "long_factor": [1.0625] * (features // 2)}}


def types(features):
    rope = {f"t{i}": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e4 + i,
                      "original_max_position_embeddings": 512} for i in range(16)}
    return TWO_TYPES | {"head_dim": features, "num_hidden_layers": 16, "layer_types": list(rope),
                        "rope_parameters": rope}


def dynamic(features):
    return head(features) | {"max_position_embeddings": 1 << 40,
                             "rope_scaling": {"type": "dynamic", "factor": 2.0}}


def nested(levels):
    return json.dumps(LLAMA)[:-1] + ', "deep": ' + '{"a":' * levels + "1" + "}" * levels + "}"


# Configs with much text, whose models are small.
TEXTS = {
    "many unknown keys": LLAMA | {f"k{i}": i for i in range(200_000)},
    "the most keys that explain takes": LLAMA | {f"{'key' * 150}{i}": i for i in range(490)},
    "unknown keys of a rule": LLAMA | {"rope_scaling": {"rope_type": "linear", "factor": 2.0}
                                       | {f"factos{i}": i for i in range(5_000)}},
    "a long name": LLAMA | {"k" * 4_000_000: 1},
    "a long text": LLAMA | {"text": "v" * 4_000_000},
    "a long type": LLAMA | {"model_type": "v" * 4_000_000},
    "a long list": LLAMA | {"list": list(range(200_000))},
    "too many factors": head(64) | {"rope_scaling": factors(65_536)["rope_scaling"]},
    "deep": nested(61),
    "too deep": nested(1_000_000),
}
# Configs of large models.
SIZES = {
    "the most layers": LLAMA | {"num_hidden_layers": 100_000},
    "alternate layers rotate": LLAMA | {"num_hidden_layers": 100_000, "model_type": "smollm3",
                                        "no_rope_layers": [i % 2 for i in range(100_000)]},
    "the widest head of a report": head(8_192),
    "the widest head that figures take": head(4_096),
    "the widest head with a factor for each pair": factors(65_536),
    "the most layer types": types(128),
    "layer types with wide heads": types(4_096),
    "all contexts": dynamic(64),
}


def gguf_head(features):
    return gguf_files.llama(attention__key_length=features, rope__dimension_count=features)


GGUF_TEXTS = {
    "many keys": gguf_files.llama() | {f"k{i}": i for i in range(65_000)},
    "the most keys that explain takes": gguf_files.llama() | {f"{'key' * 150}{i}": i
                                                              for i in range(490)},
    "long names": gguf_files.llama() | {f"{'k' * 65_000}{i}": i for i in range(200)},
    "a long text": gguf_files.llama() | {"text": "v" * 16_000_000},
    "many tokens": gguf_files.llama() | {"tokenizer.ggml.tokens": ["token"] * 500_000},
}
KEYS_OF_LAYERS = {"block_count": 4_096, "attention__sliding_window": 128,
                  "attention__temperature_scale": 0.1}


def keys_and_layers(architecture):
    """Returns keys with similar names, which take long to compare."""
    keys = {f"{architecture}.attention.temperature_{i:05}": True for i in range(65_000)}
    for name, value in gguf_files.llama(**KEYS_OF_LAYERS).items():
        keys[name.replace("llama", architecture)] = value
    return keys | {"general.architecture": architecture}


GGUF_SIZES = {
    "the most keys and layers": keys_and_layers("mistral3"),
    "the most keys and layers without rotation": keys_and_layers("llama4"),
    "the most layers": gguf_files.llama(
        block_count=4_096, attention__head_count_kv=[1 + i % 8 for i in range(4_096)]),
    "the widest head of a report": gguf_head(8_192),
    "the widest head that figures take": gguf_head(4_096),
    "the widest head with the most keys that explain takes":
        gguf_head(1 << 20) | {f"llama.k{i}": i for i in range(400)},
    "all tensors": (gguf_files.llama(), ["tensor"] * (1 << 20)),
}
HEADERS = {
    "many names": names(100_000),
    "a long name": {"k" * 4_000_000 + ".q_proj.weight": [64, 0]},
    "a long name that is refused": {"k" * 4_000_000 + ".q_proj.weight": [63, 0]},
    "a name with many dots": {"k." * 2_000_000 + "q_proj.weight": [64, 0]},
    "billions of rows": {f"{i}.q_proj.weight": [1 << 30, 0] for i in range(4)},
}
INDEXES = {
    "many numbers": '{"metadata": [' + "0," * 10_000_000 + "0]}",
    "deep nesting": '{"metadata": ' + "[" * 10_000_000,
    "many files without a name": json.dumps({"weight_map": {str(i): "" for i in range(1_000_000)}}),
}


class ResourcesTest(MeasuredTest):
    def test_every_input_is_measured(self):
        """test_inputs.py compares CALLS with the inputs that `rotary help` lists."""
        here = {*RESOLVERS, *STRETCH, PERMUTE_BY, PERMUTE}
        self.assertEqual({name for name, calls in CALLS.items() if calls[0] not in here}
                         - SHAPES.keys(), set())

    def test_limits_name_the_limited_quantity(self):
        name = self.write_config(head(65_536))
        self.assert_fails(2, ["config.json: ", "a head of at most 4096 features, got 65536"],
                          "plot", "similarity", name)
        rope = ["--set", "head_dim=32768", "--set", "base=10000", "--set", "pairing=half"]
        self.assert_fails(2, ["at most 4096 features, got 32768"], "plot", "attention", "rope",
                          *rope)
        self.assert_fails(2, ["at most 4096 pairs of features that turn", "got 32768 or more"],
                          "report", name, "-o", "page.html")
        self.assert_fails(2, ["at most 2048 pairs of features that turn", "got 32768"], "explain",
                          name)
        name = self.write_config(LLAMA | {f"k{i}": i for i in range(2_000)})
        self.assert_fails(2, ["at most 500 keys, got 2006 or more"], "explain", name)
        for limit, keys in {
            "500 keys, got 509": gguf_files.llama() | {f"k{i}": i for i in range(501)},
            "262144 bytes of keys, got 3": gguf_files.llama() | {"k" * 60_000 + str(i): i
                                                                 for i in range(5)},
            "2048 pairs of features that turn, over its layer types, got 4096": gguf_head(8_192),
        }.items():
            self.write_gguf("large", keys)
            self.assert_fails(2, [f"a GGUF file to explain must have at most {limit}"], "explain",
                              "large.gguf")

    def test_the_worst_configs_stay_within_limits(self):
        for name, config in ({"plain": LLAMA} | TEXTS | SIZES).items():
            self.write_config(config, f"{name}.json")
        for call in READERS + [PERMUTE_BY, *STRETCH]:
            self.check(call, [f"{name}.json" for name in TEXTS], "plain.json")
        for call in RESOLVERS + [PERMUTE_BY, *STRETCH, *FIGURES]:
            self.check(call, [f"{name}.json" for name in SIZES], "plain.json")

    def test_the_worst_gguf_files_stay_within_limits(self):
        """Other commands depend only on the model, so the test of configs covers them."""
        for name, content in ({"plain": gguf_files.llama()} | GGUF_TEXTS | GGUF_SIZES).items():
            self.write_gguf(name, *(content if isinstance(content, tuple) else (content,)))
        for call in READERS:
            self.check(call, [f"{name}.gguf" for name in GGUF_TEXTS | GGUF_SIZES], "plain.gguf")

    def write_gguf(self, name, keys, tensors=()):
        (self.path / f"{name}.gguf").write_bytes(gguf_files.encoded(keys, tensors))

    def test_the_worst_headers_of_safetensors_stay_within_limits(self):
        for name, shapes in ({"plain": names(10_000)} | HEADERS).items():
            self.write_weights(name, shapes)
        self.check(PERMUTE, HEADERS, "plain")

    def test_the_worst_indexes_stay_within_limits(self):
        self.write_weights("one", {"a.q_proj.weight": [64, 0]})
        plain = json.dumps({"weight_map": {"a.q_proj.weight": "one"}})
        for name, text in ({"plain": plain} | INDEXES).items():
            (self.path / f"{name}.json").write_text(text)
        self.check(PERMUTE, [f"{name}.json" for name in INDEXES], "plain.json")

    def test_an_index_of_many_files_stays_within_limits(self):
        for count in (200, 3_000):
            files = {f"{i}.q_proj.weight": f"{i} of {count}" for i in range(count)}
            for tensor, name in files.items():
                self.write_weights(name, {tensor: [64, 0]})
            (self.path / f"{count}.json").write_text(json.dumps({"weight_map": files}))
        self.check(PERMUTE, ["3000.json"], "200.json")
