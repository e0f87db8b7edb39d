# SPDX-License-Identifier: Apache-2.0
"""Processor time and peak memory of the commands for the largest and oddest configs, GGUF files and
headers of safetensors: beside what the same command takes for a plain one. Limits are of the whole
corpus, several times what it takes today, and a quadratic loop or a table of everything is beyond
them."""

import itertools
import json
import subprocess
import sys

import gguf_files
import safetensors_files
from tool import LLAMA, TOOL, TWO_TYPES, ToolTest

# The peak memory of a process includes what its parent had when it was started, so a small
# interpreter starts the tool: it reads a command from each line, and answers with its exit code,
# seconds of processor time and KiB. AddressSanitizer would keep what was freed.
MEASURE = """
import json, os, sys
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
nowhere = os.open(os.devnull, os.O_RDWR)
actions = [(os.POSIX_SPAWN_DUP2, nowhere, number) for number in (0, 1, 2)]
for line in sys.stdin:
    command = json.loads(line)
    child = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    print(json.dumps([code, used.ru_utime + used.ru_stime, used.ru_maxrss]), flush=True)
"""

FIGURES = ["wavelengths", "scaling", "similarity", "decay", "numerics", "clipped", "rotation",
           "tables", "attention"]
COMMANDS = {
    "inspect": lambda name: ["inspect", name],
    "inspect --json": lambda name: ["inspect", name, "--json"],
    "table": lambda name: ["table", name, "--positions", "0:4"],
    "explain": lambda name: ["explain", name],
    "report": lambda name: ["report", name, "-o", "page.html", "--force"],
} | {f"plot {figure}": lambda name, figure=figure: ["plot", figure, name, "--csv"]
     for figure in FIGURES}
OF_MODELS = list(COMMANDS)
COMMANDS["permute"] = lambda name: ["permute", name, "--config", "plain.json", "--to",
                                    "interleaved", "--out", f"{name}.out", "--force"]
OF_TEXT = ["inspect", "table", "explain", "report", "plot wavelengths"]


def head(features):
    return LLAMA | {"head_dim": features}


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


# Much text: its size is all that there is to it.
TEXTS = {
    "many unknown keys": LLAMA | {f"k{i}": i for i in range(20_000)},
    "as many keys as are explained": LLAMA | {f"{'key' * 150}{i}": i for i in range(490)},
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
# Much to compute.
SIZES = {
    "all layers that there may be": LLAMA | {"num_hidden_layers": 100_000},
    "layers by turns": LLAMA | {"num_hidden_layers": 100_000, "model_type": "smollm3",
                                "no_rope_layers": [i % 2 for i in range(100_000)]},
    "the widest head of a report": head(8_192),
    "the widest head that figures take": head(4_096),
    "the widest head, and as many factors": factors(65_536),
    "as many layer types as there may be": types(128),
    "layer types with wide heads": types(4_096),
    "all contexts": dynamic(64),
}


def gguf_head(features):
    return gguf_files.llama(attention__key_length=features, rope__dimension_count=features)


GGUF_TEXTS = {
    "many keys": gguf_files.llama() | {f"k{i}": i for i in range(65_000)},
    "as many keys as are explained": gguf_files.llama() | {f"{'key' * 150}{i}": i
                                                           for i in range(490)},
    "long names": gguf_files.llama() | {f"{'k' * 65_000}{i}": i for i in range(200)},
    "a long text": gguf_files.llama() | {"text": "v" * 16_000_000},
    "many tokens": gguf_files.llama() | {"tokenizer.ggml.tokens": ["token"] * 500_000},
}
GGUF_SIZES = {
    "all layers that there may be": gguf_files.llama(
        block_count=4_096, attention__head_count_kv=[1 + i % 8 for i in range(4_096)]),
    "the widest head of a report": gguf_head(8_192),
    "the widest head that figures take": gguf_head(4_096),
    "the widest head, and as many keys as are explained":
        gguf_head(1 << 20) | {f"llama.k{i}": i for i in range(400)},
    "all tensors": (gguf_files.llama(), ["tensor"] * (1 << 20)),
}



def names(count):
    """Of as many modules, since layers of one are counted together."""
    letters = itertools.product("abcdefghijklmnop", repeat=4)
    return {f"{''.join(next(letters))}.q_proj.weight": [128, 0] for _ in range(count)}


# Shapes of tensors without data, by name.
PLAIN_HEADER = names(4_000)
HEADERS = {
    "many names": names(40_000),
    "a long name": {"k" * 4_000_000 + ".q_proj.weight": [128, 0]},
    "a long name that is refused": {"k" * 4_000_000 + ".q_proj.weight": [127, 0]},
    "a name of many parts": {"k." * 2_000_000 + "q_proj.weight": [128, 0]},
    "billions of rows": {f"{i}.q_proj.weight": [1 << 30, 0] for i in range(4)},
}
FILES_OF_INDEXES = (200, 3_000)

# Times a plain config's. A key that is read costs `explain` some trials of the whole config, and
# `report` has figures of 100 random vectors each.
MOST_TIMES_OF_TEXTS = 30
MOST_TIMES_OF_SIZES = {"explain": 200, "report": 100}
MOST_TIMES_OF_OTHERS = 80
MOST_MEMORY = 8
# A plain config takes the start of a process, 4 to 20 ms as the machine likes: it counts as these.
LEAST_SECONDS = 0.02


class ResourcesTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.helper = subprocess.Popen([sys.executable, "-S", "-E", "-c", MEASURE], cwd=self.path,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end_helper)

    def end_helper(self):
        self.helper.stdin.close()
        self.helper.stdout.close()
        self.helper.wait()

    def measured(self, arguments):
        print(json.dumps([TOOL, *arguments]), file=self.helper.stdin, flush=True)
        return json.loads(self.helper.stdout.readline())

    def check(self, command, files, plain, most_times):
        seconds_of_plain, memory_of_plain = plain
        for name in files:
            arguments = COMMANDS[command](name)
            code, seconds, memory = self.measured(arguments)
            if seconds / seconds_of_plain > most_times:  # another program may have been in the way
                seconds = min(self.measured(arguments)[1] for _ in range(3))
            with self.subTest(command=command, file=name):
                self.assertIn(code, (0, 2, 3, 5))
                self.assertLessEqual(seconds / seconds_of_plain, most_times)
                self.assertLessEqual(memory / memory_of_plain, MOST_MEMORY)

    def of_plain(self, command, name):
        """The least of a few runs: what is short varies the most."""
        runs = [self.measured(COMMANDS[command](name)) for _ in range(3)]
        self.assertEqual({code for code, _, _ in runs}, {0}, command)
        seconds = max(min(seconds for _, seconds, _ in runs), LEAST_SECONDS)
        return seconds, min(memory for _, _, memory in runs)

    def test_limits_say_what_they_are_about(self):
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

    def test_the_worst_configs(self):
        self.write_config(head(128), "plain.json")
        for name, config in (TEXTS | SIZES).items():
            self.write_config(config, f"{name}.json")
        self.check_all("json", TEXTS, SIZES)

    def test_the_worst_gguf_files(self):
        self.write_gguf("plain", gguf_files.llama())
        for name, content in (GGUF_TEXTS | GGUF_SIZES).items():
            self.write_gguf(name, *(content if isinstance(content, tuple) else (content,)))
        self.check_all("gguf", GGUF_TEXTS, GGUF_SIZES)

    def write_gguf(self, name, keys, tensors=()):
        (self.path / f"{name}.gguf").write_bytes(gguf_files.encoded(keys, tensors))

    def test_the_worst_headers_of_safetensors(self):
        self.write_config(head(128) | {"num_attention_heads": None}, "plain.json")
        for name, shapes in ({"plain": PLAIN_HEADER} | HEADERS).items():
            self.write_weights(name, shapes)
        plain = self.of_plain("permute", "plain")
        self.check("permute", HEADERS, plain, MOST_TIMES_OF_TEXTS)

    def test_an_index_of_many_files(self):
        self.write_config(head(128) | {"num_attention_heads": None}, "plain.json")
        for count in FILES_OF_INDEXES:
            files = {f"{i}.q_proj.weight": f"{i} of {count}" for i in range(count)}
            for tensor, name in files.items():
                self.write_weights(name, {tensor: [128, 0]})
            (self.path / f"{count}.json").write_text(json.dumps({"weight_map": files}))
        plain, many = (f"{count}.json" for count in FILES_OF_INDEXES)
        self.check("permute", [many], self.of_plain("permute", plain), MOST_TIMES_OF_TEXTS)

    def write_weights(self, name, shapes):
        safetensors_files.save_bytes(self.path / name, "U8",
                                     {name: (shape, b"") for name, shape in shapes.items()})

    def check_all(self, ending, texts, sizes):
        texts, sizes = ([f"{name}.{ending}" for name in names] for names in (texts, sizes))
        for command in OF_MODELS:
            plain = self.of_plain(command, f"plain.{ending}")
            if command in OF_TEXT:
                self.check(command, texts, plain, MOST_TIMES_OF_TEXTS)
            self.check(command, sizes, plain,
                       MOST_TIMES_OF_SIZES.get(command, MOST_TIMES_OF_OTHERS))
