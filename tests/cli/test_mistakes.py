# SPDX-License-Identifier: Apache-2.0
"""The answer to a mistyped command names the mistake and the next step."""

import json
import os
import pty

import numpy as np

from tool import LLAMA, ToolTest

# (command line, exit code, parts of the message)
MISTAKES = [
    ([], 2, ["a command is required", "inspect", "`rotary --help`"]),
    (["bogus"], 2,
     ["inspect, check, diff, table, rotate, encode, bias, positions, explain, claims, plot, "
      "report, models, permute, identify, trace, stretch, bench, help, completions, got 'bogus'"]),
    (["inspct", "config.json"], 2, ["'inspct'", "did you mean inspect?", "`rotary --help`"]),
    (["version"], 2, ["'version'", "did you mean --version?"]),
    (["explain", "rotation"], 2, ["explain rotation needs a CONFIG, or numbers to rotate"]),
    (["diff", "config.json", "config.json", "--between", "vllm,mlx"], 2, ["got both"]),
    (["diff", "config.json"], 2, ["needs another model", "got none"]),
    (["inspect", "config.json", "--set", 'rope_scaling={"type": "yarnn"}'], 5,
     ["rope_scaling.type must be one of", 'got "yarnn"; did you mean yarn?']),
    (["TABLE", "config.json"], 2, ["'TABLE'", "did you mean table?"]),
    (["--inspect", "config.json"], 2, ["'--inspect'", "did you mean inspect?"]),
    (["help", "tabel"], 2, ["'rotary tabel'", "did you mean rotary table?"]),
    (["inspect"], 2, ["rotary inspect: CONFIG is required", "`rotary inspect --help`"]),
    (["inspect", "config.json", "extra"], 2, ["extra'; an example: rotary inspect config.json\n"]),
    (["inspect", "config.json", "--contxt", "5"], 2, ["'--contxt'", "did you mean --context?"]),
    (["inspect", "config.json", "--context"], 2, ["--context needs a value"]),
    (["inspect", "config.json", "--context", "1", "--context", "2"], 2,
     ["--context must be given once"]),
    (["inspect", "config.json", "--context", "0"], 2, ["at least 1, got 0"]),
    (["inspect", "config.json", "--context", "4k"], 2, ["'4k'; write 4096 for 4 * 1024"]),
    (["stretch", "config.json", "1M"], 2, ["TOKENS must be", "write 1048576 for 1 * 1048576"]),
    (["inspect", "config.json", "--numerics", "gmml"], 2, ["'gmml'", "did you mean ggml?"]),
    (["inspect", "config.json", "--pairing", "neox"], 2, ["half, interleaved", "'neox'"]),
    (["inspect", "config.json", "--set", "rope_theta"], 2, ["rope_theta=500000", "'rope_theta'"]),
    (["inspect", "config.json", "--set", "rope_thetta=5"], 5,
     ["rope_thetta", "did you mean rope_theta?"]),
    (["inspect", "config.json", "--set", 'rope_scaling={"type": "linear", "factr": 8}'], 5,
     ["rope_scaling.factr", "did you mean factor?"]),
    (["inspect", "config.json", "--set", "hidden_sise=128"], 2, ["did you mean hidden_size?"]),
    (["inspect", "config.json", "--set", "layer_norm_eps=1"], 2,
     ["must be one that is read for this model", "layer_norm_eps"]),
    (["inspect", "confg.json"], 4, ["confg.json", "No such file", "`rotary models`"]),
    (["inspect", "lama-3.1-8b"], 4,
     ["lama-3.1-8b: No such file, and no model card has this name; the nearest names: "
      "llama-3.1-8b"]),
    (["inspect", "empty/llama-3.1-8b"], 4, ["empty/llama-3.1-8b: No such file"]),
    (["inspect", "Qwen/Qwen9-1B"], 4,
     ["no model card", "`curl -LO https://huggingface.co/Qwen/Qwen9-1B/resolve/main/config.json`"]),
    (["inspect", "empty"], 4, ["empty", "must have a config.json", "has none"]),
    (["inspect", "model.gguf"], 3, ["GGUF: general.architecture must be given as a string"]),
    (["inspect", "model.safetensors"], 5, ["safetensors", "give the config.json"]),
    (["inspect", "broken.json"], 3, ["broken.json", "valid JSON", "byte 24"]),
    (["table", "config.json"], 2, ["needs --positions LIST, such as 0:16"]),
    (["table", "alibi", "--heads", "4", "--positions", "0:3"], 2, ["encodings take --distances"]),
    (["table", "config.json", "--positions", "0:4", "--out", "rows.txt"], 2, [".npz or .npy"]),
    (["rotate", "--config", "config.json", "--q", "q.npy", "--out-q", "o.npy"], 2,
     ["--layout is required: one of bthd, bhtd, thd"]),
    (["rotate", "--config", "config.json", "--layout", "btdh", "--q", "q.npy", "--out-q", "o.npy"],
     2, ["'btdh'", "did you mean bthd?"]),
    (["rotate", "--config", "config.json", "--layout", "bthd", "--q", "q.npy"], 2,
     ["--q and --out-q go together"]),
    (["inspect", "config.json", "-o"], 2, ["takes no option '-o'; an example: rotary inspect"]),
    (["rotate", "--config", "config.json", "--layout", "bthd", "--q", "broken.json", "--out-q",
      "o.npy"], 3, ["must begin with \\x93NUMPY", "numpy.save()"]),
    (["rotate", "--config", "config.json", "--layout", "thd", "--q", "q.npy", "--out-q", "o.npy"],
     2, ["[tokens, heads, features] of --layout", "got [1, 3, 4, 16]"]),
    (["identify", "q.npy"], 2, ["else: --before FILE --after FILE), got q.npy"]),
    (["identify", "--before", "q.npy", "--after", "q.npy", "--positions", "0:3"], 2,
     ["--positions must be an NPY file here, got '0:3'; for consecutive tokens give",
      "--first-position instead"]),
    (["bias", "t6", "--rows", "0:2", "--cols", "0:2"], 2, ["'t6'", "did you mean t5?"]),
    (["plot", "wavelengts"], 2, ["'wavelengts'", "did you mean wavelengths?"]),
    (["plot", "decay", "-o", "decay.pdf"], 2, [".svg or .png", "decay.pdf"]),
    (["models", "serch", "llama"], 2, ["'serch'", "did you mean search?"]),
    (["models", "llama"], 2, ["got 'llama'; `rotary models search llama` lists"]),
    (["models", "mistrl"], 2, ["got 'mistrl'; the nearest names: mistral-7b"]),
    (["models", "list"], 2, ["search, show, families, rules, got 'list'"]),
    (["models", "search"], 2, ["rotary models search TEXT"]),
    (["models", "show"], 2, ["rotary models show NAME"]),
    (["models", "show", "gpt2", "more"], 2, ["no further argument 'more'"]),
    (["models", "show", "Llama_3.1_8B.json"], 2, ["the nearest names: llama-3.1-8b, "]),
    (["models", "show", "meta-llama/Llama-3.1-8B-Instruct"], 2, ["names: llama-3.1-8b\n"]),
    (["models", "show", "kimik2"], 2,
     ["no model card is called 'kimik2'; the nearest names: kimi-k2, kimi-k2.5\n"]),
    (["models", "show", "quen"], 2, ["the nearest names: qwen"]),
    (["models", "show", "xyzzy"], 2, ["called 'xyzzy'; `rotary models` lists the names\n"]),
    (["encode", "--like", "transfomer", "--dim", "8", "--positions", "0:4"], 2,
     ["'transfomer'", "did you mean transformer?"]),
    (["claims", "99"], 2, ["1 to", "`rotary claims`", "'99'"]),
    (["report", "config.json"], 2, ["--out is required"]),
    (["bench", "atention"], 2, ["'atention'", "did you mean attention?"]),
    (["completions", "bsh"], 2, ["'bsh'", "did you mean bash?"]),
]


class MistakesTest(ToolTest):
    def setUp(self):
        super().setUp()
        (self.path / "empty").mkdir()
        (self.path / "model.gguf").write_bytes(b"GGUF\x03\0\0\0" + bytes(16))
        (self.path / "model.safetensors").write_bytes(b"\x10" + bytes(7) + b'{"a": 1}')
        (self.path / "broken.json").write_text('{"model_type": "llama",}')
        np.save(self.path / "q.npy", np.ones((1, 3, 4, 16), np.float32))

    def test_each_mistake_is_named_with_the_next_step(self):
        for arguments, code, parts in MISTAKES:
            with self.subTest(arguments=arguments):
                before = self.contents()
                result = self.run_tool(*arguments)
                message = result.stderr.decode()
                self.assertEqual(result.returncode, code, message)
                self.assertEqual(result.stdout, b"")
                for part in parts:
                    self.assertIn(part, message)
                self.assertEqual(self.contents(), before)


class NamesOfModelsTest(ToolTest):
    def test_a_card_is_found_in_any_case_and_by_its_id(self):
        expected = self.run_ok("inspect", "qwen2.5-7b")
        self.assertEqual(self.run_ok("inspect", "Qwen2.5-7B"), expected)
        result = self.run_tool("inspect", "Qwen/Qwen2.5-7B")
        self.assertEqual(result.stdout.decode(), expected)
        self.assertIn("is read as the model card qwen2.5-7b", result.stderr.decode())

    def test_five_near_names_are_listed_at_most(self):
        message = self.run_tool("models", "show", "qwen").stderr.decode()
        self.assertEqual(message.splitlines()[0].count(", "), 4)

    def test_a_folder_is_read_as_its_config(self):
        (self.path / "model").mkdir()
        self.write_config(LLAMA, "model/config.json")
        self.assertEqual(self.run_ok("inspect", "model"),
                         self.run_ok("inspect", "model/config.json"))

    def test_a_file_is_preferred_to_a_card(self):
        (self.path / "Qwen").mkdir()
        self.write_config(LLAMA, "Qwen/Qwen2.5-7B")
        document = json.loads(self.run_ok("inspect", "Qwen/Qwen2.5-7B", "--json"))
        self.assertEqual(document["model_type"], "llama")


class ColourTest(ToolTest):
    def test_colours_appear_only_on_request(self):
        for arguments in (["help", "inspect"], ["help", "inspect", "--color", "never"]):
            self.assertNotIn("\x1b", self.run_ok(*arguments))
        text = self.run_ok("help", "inspect", "--color", "always")
        self.assertIn("\x1b[1mExamples:\x1b[0m\n", text)
        self.assertIn('{"schema_version"', self.run_ok("inspect", "config.json", "--json",
                                                       "--color", "always"))
        self.assert_fails(2, ["auto, always, never"], "inspect", "config.json", "--color", "red")

    def test_a_terminal_gets_colours_unless_the_environment_forbids_them(self):
        def on_terminal(**environment):
            controller, terminal = pty.openpty()
            result = self.run_tool("help", "inspect", stdout=terminal, environment=environment)
            os.close(terminal)
            text = os.read(controller, 1 << 16)
            os.close(controller)
            self.assertEqual(result.returncode, 0)
            return text

        self.assertIn(b"\x1b[1m", on_terminal(TERM="xterm", NO_COLOR=""))
        self.assertNotIn(b"\x1b", on_terminal(TERM="xterm", NO_COLOR="1"))
        self.assertNotIn(b"\x1b", on_terminal(TERM="dumb", NO_COLOR=""))
