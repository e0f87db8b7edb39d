# SPDX-License-Identifier: Apache-2.0
"""Every command escapes text that a terminal, XML, a script or a spreadsheet would obey. The text
comes in names, keys and values."""

import csv
import io
import itertools
import json
import os
import re
import subprocess
import unicodedata
import xml.etree.ElementTree

import numpy as np

from calls import CALLS, SHAPES, write_files
from safetensors_files import save
from tool import LLAMA, TOOL, TWO_TYPES, ToolTest

# OBEYED has characters that end a line, move a cursor, reverse text, are invisible, or are not
# allowed in XML. MARKUP has the quotes of shells, gnuplot and HTML.
OBEYED = "\x1b[31m\x9b31m\x07\x08\t\r\x7f\x85\u061c\u200f\u202e\u2066\u2028\u2029\ufeff\u00ad\ufffe"
MARKUP = "'\"`touch hurt`$(touch hurt)\\'<b>&%s{}"
NAME = f"a\nINJECTED{OBEYED}\U000e0041{MARKUP}é😀"
FILE_NAME = NAME.encode() + b"\xff\xc3("


def is_obeyed(character):
    code_point = ord(character)
    return (unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")
            or code_point & 0xFFFE == 0xFFFE or 0xFDD0 <= code_point <= 0xFDEF)


class HostileTextTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.file = os.fsdecode(FILE_NAME)
        self.write_hostile(LLAMA | {NAME: NAME, "max_position_embeddings": 512})

    def write_hostile(self, config):
        (self.path / self.file).write_text(json.dumps(config))

    def assert_shown(self, written, what):
        """The output must be UTF-8 without obeyed characters, except the tool's own line ends."""
        text = written.decode()
        obeyed = {hex(ord(each)) for each in text if is_obeyed(each) and each != "\n"}
        self.assertEqual(obeyed, set(), what)
        self.assertNotIn("\nINJECTED", text, what)
        return text

    def check(self, *arguments, codes=(0,), stdin=b"", forms=((), ("--json",))):
        """Runs the command in each form and checks all of its output."""
        for form in forms:
            result = self.run_tool(*arguments, *form, stdin=stdin)
            what = (arguments, form, result.returncode)
            self.assertIn(result.returncode, codes, (what, result.stderr))
            shown = self.assert_shown(result.stdout, what)
            if form:
                json.loads(shown)
            self.assert_shown(result.stderr, what)
        self.assertFalse((self.path / "hurt").exists())

    def write_input(self, name, shapes):
        """Writes the input of a call, with a hostile name."""
        path = self.file
        if shapes:
            path += "x.npz" if name == ("identify", "TRACE") else "x.npy"
            array = np.ones(shapes[-1], np.float32)
            dtype = np.int64 if name[1] in ("--positions", "--mask", "--ids") else np.float32
            with open(self.path / path, "wb") as file:
                if path.endswith("npz"):
                    np.savez(file, **{"0.q.before": array, "0.q.after": array})
                else:
                    np.save(file, array.astype(dtype))
        elif name == ("permute", "WEIGHTS"):
            path += "w.safetensors"
            save(self.path / path, {"model.layers.0.self_attn.q_proj.weight":
                                    np.ones((64, 64), np.float32), NAME: np.ones(2, np.float32)})
        return path

    def test_every_command_escapes_hostile_text(self):
        write_files(self, LLAMA)
        commands = {"claims", "models", "trace", "help", "bench", "completions"}
        for name, calls in CALLS.items():
            commands.add(name[0])
            path = self.write_input(name, SHAPES.get(name))
            words = [path if word.startswith("?") else
                     self.file + word if re.match(r"o(\.|$)", word) else word
                     for word in calls[0].split()]
            # The calls of plot have --csv, which excludes --json.
            self.check(*words, codes=(0, 2) if name[0] == "plot" else (0, 1, 6))
        out = ["--out", self.file + "o.npy", "--force"]
        for words in (["table", self.file, "--positions", "0", *out],
                      ["table", "whisper", "--dim", "4", "--positions", "0", *out],
                      ["table", "alibi", "--heads", "2", "--distances", "0", *out],
                      ["table", "shaw", "--left", "2", "--right", "2", "--distances", "0", *out],
                      ["bias", "alibi", "--heads", "2", "--rows", "0:2", "--cols", "0:2", *out],
                      ["positions", "--text", "2", "--as", "qwen2-vl", *out],
                      ["trace", "--out", self.file + "o.py", "--force"],
                      ["diff", self.file, "--between", "transformers,mlx", "--allow-unknown"],
                      ["explain", self.file, "--position", "3", "--values",
                       ",".join(map(str, range(16)))],
                      ["plot", "wavelengths", self.file, "-o", self.file + "o.svg", "--force"],
                      ["claims", "1"], ["models", "search", NAME], ["models", "families", NAME]):
            self.check(*words)
        for words in (["bench", "--operations", NAME], ["help", NAME], ["completions", NAME]):
            self.check(*words, codes=(2,))
        listed = self.run_ok("--help").split("\nCommands:\n")[1].split("\n\n")[0]
        self.assertEqual(commands, set(re.findall(r"^  (\w+)", listed, re.MULTILINE)))

    def test_every_option_escapes_hostile_values(self):
        for command in [*"inspect check diff table rotate encode bias explain claims plot report "
                        "permute".split(),
                        "models", "models search", "models show", "models families", "bench",
                        "bench attention"]:
            words = command.split()
            text = self.run_ok(*words, "--help").split("\nOptions:\n")[-1]
            options = re.findall(r"^ +(?:-\w, +)?(--[\w-]+) [A-Z]", text, re.MULTILINE)
            self.assertTrue(options or command.startswith(("check", "claims", "models")), command)
            self.check(*words, NAME, codes=(0, 2, 4))
            for option, form in zip(options, itertools.cycle([(), ("--json",)])):
                self.check(*words, self.file, option, NAME, codes=(0, 2, 3, 4), forms=[form])
            if "--set" in options:
                for value in (f"{NAME}={NAME}", f"rope_scaling={NAME}"):
                    self.check(*words, self.file, "--set", value, codes=(0, 2, 3, 5))

    def test_errors_escape_text_from_configs(self):
        for config in [
            {"model_type": NAME},
            LLAMA | {"model_type": NAME},
            LLAMA | {f"rope_{NAME}": NAME},
            LLAMA | {"rope_scaling": {"rope_type": NAME}},
            LLAMA | {"rope_scaling": {"rope_type": "linear", "factor": NAME}},
            LLAMA | {"rope_scaling": {"rope_type": "linear", "factor": 2.0, NAME: NAME}},
            LLAMA | {"rope_theta": NAME},
            LLAMA | {"layer_types": [NAME, NAME, NAME]},
            TWO_TYPES | {"layer_types": [NAME, NAME, NAME]},
        ]:
            self.write_hostile(config)
            for command in ["inspect", "explain"]:
                self.check(command, self.file, codes=(0, 3, 5))
            self.check("check", self.file, codes=(0, 1))
            self.check("diff", self.file, "--between", "vllm,llama.cpp",
                       codes=(0, 1, 3, 5, 7))
        for text in [NAME, '{"' + NAME, json.dumps({NAME: 1})[:-1] + ", " + NAME,
                     '{"model_type": "\\u202e"}', '{"a\\u001b": 1, "a\\u001b": 2}']:
            (self.path / self.file).write_text(text)
            self.check("inspect", self.file, codes=(3, 5))
        (self.path / self.file).write_bytes(b'{"model_type": "\xff\x1b"}')
        self.check("inspect", self.file, codes=(3,))

    def test_names_of_layer_types_are_escaped(self):
        rope = dict(TWO_TYPES["rope_parameters"])
        rope[NAME] = rope.pop("sliding_attention")
        self.write_hostile(TWO_TYPES | {"layer_types": ["full_attention", NAME, "full_attention"],
                                 "rope_parameters": rope})
        for arguments in [["inspect", self.file], ["explain", self.file],
                          ["table", self.file, "--positions", "0", "--layer-type", NAME],
                          ["plot", "wavelengths", self.file, "-o", "a.svg", "--force"],
                          ["report", self.file, "-o", "a.html", "--force"]]:
            self.check(*arguments)
        self.check("table", self.file, "--positions", "0", codes=(2,))

    def test_errors_escape_text_from_npy_headers(self):
        for header in [f"{{'descr': '{NAME}', ", f"{{'{NAME}': 1}}", NAME]:
            text = header.encode()
            file = b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text
            self.check("encode", "--like", "whisper", "--x", "-", "--out", "o.npy", stdin=file,
                       codes=(3, 5))

    def test_pictures_escape_hostile_text(self):
        """Pictures are well-formed, and most show the escaped name. No command in the name runs."""
        figures = re.findall(r"^(\w+)", self.run_ok("plot", "--list"), re.MULTILINE)
        of_no_model = {"shaw", "t5", "alibi", "sinusoidal", "axes"}  # text models have no axes
        shown = "a\\u000aINJECTED\\u001b[31m\\u009b31m"
        named = set()
        for figure in figures:
            takes = [] if figure in of_no_model else [self.file]
            words = ["--words", f"one {NAME} two"] if figure == "attention" else []
            out = self.file + figure + ".svg"
            self.check("plot", figure, *takes, *words, "-o", out, "--force")
            written = (self.path / out).read_bytes()
            self.assert_shown(written.replace(b"\t", b" "), figure)  # gnuplot writes tabs
            picture = xml.etree.ElementTree.fromstring(written)
            if shown in "".join(picture.itertext()):
                named.add(figure)
        self.assertEqual(set(figures) - named, {"fast_slow"} | of_no_model)
        self.check("plot", "decay", self.file, "-o", self.file + ".png", "--force")

    def test_csv_escapes_control_characters_and_formulas(self):
        for arguments in [["decay", self.file], ["attention", self.file, "--words", f"a {NAME} b"]]:
            text = self.assert_shown(
                self.run_tool("plot", *arguments, "--csv").stdout, arguments)
            rows = list(csv.reader(io.StringIO(text)))
            self.assertEqual({len(row) for row in rows}, {6})
        for start in "=+-@":
            self.write_config(LLAMA, f"{start}1+1,\"x\".json")
            text = self.run_ok("plot", "decay", f"./{start}1+1,\"x\".json", "--csv")
            self.assertTrue(text.splitlines()[1].startswith('0,"./'))
            text = self.run_ok("plot", "decay", "--csv", "--", f"{start}1+1,\"x\".json")
            rows = list(csv.reader(io.StringIO(text)))
            self.assertEqual(rows[1][1], f"'{start}1+1,\"x\".json")

    def test_pages_escape_hostile_text(self):
        out = self.file + ".html"
        self.check("report", self.file, "-o", out, "--force")
        self.assert_shown((self.path / out).read_bytes(), out)

    def test_values_of_json_are_exact(self):
        """JSON's escapes keep the characters themselves. Bytes that are not UTF-8 are replaced."""
        document = self.run_json("explain", "explain", self.file)
        [key] = [key for key in document["keys"] if key["path"] == NAME]
        self.assertEqual(key["value"], NAME)
        self.write_config(LLAMA, NAME + ".json")
        document = self.run_json("report", "report", NAME + ".json", "-o", self.file + ".html")
        self.assertEqual(document["configs"], [NAME + ".json"])
        self.assertEqual(document["output"], NAME + "��(.html")

    def test_values_are_cut_between_characters(self):
        for blanks in range(4):
            name = self.write_config(LLAMA | {"model_type": "x" * blanks + "😀" * 40})
            text = self.run_ok("explain", name, "--pairing", "half")
            self.assertRegex(text, r'model_type = "x*😀+\.\.\.')
            self.run_ok("report", name, "--pairing", "half", "-o", "a.html", "--force")
            self.assertNotIn("�", (self.path / "a.html").read_text())


class CategoriesTest(ToolTest):
    def test_every_character_that_a_terminal_obeys_is_escaped(self):
        """Puts most characters of planes 0 and 1, and some of others, into messages of the tool."""
        planes = [range(0x20000), range(0x20000, 0x20100), range(0x2FF00, 0x30100),
                  range(0xE0000, 0xE0200), range(0x10FF00, 0x110000)]
        characters = [chr(each) for plane in planes for each in plane
                      if each not in (0, ord("|")) and not 0xD800 <= each <= 0xDFFF]
        for first in range(0, len(characters), 1500):
            part = characters[first : first + 1500]
            argument = "|".join(part)
            result = subprocess.run([TOOL, argument.encode()], capture_output=True, timeout=60)
            shown = result.stderr.decode().split(" got '")[1].split("'\n`rotary --help`")[0]
            expected = "|".join(self.escape(each) for each in part)
            if shown == expected:
                continue
            for each, one, other in zip(part, shown.split("|"), expected.split("|"), strict=True):
                # The tool's Unicode may be newer than Python's and have more characters.
                if unicodedata.category(each) != "Cn" or is_obeyed(each):
                    self.assertEqual(one, other)

    def escape(self, character):
        code_point = ord(character)
        if not is_obeyed(character):
            return character
        return f"\\u{code_point:04x}" if code_point <= 0xFFFF else f"\\U{code_point:08x}"
