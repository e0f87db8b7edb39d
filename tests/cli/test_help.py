# SPDX-License-Identifier: Apache-2.0
"""Tests help, manual pages and completions. Examples must use only listed options."""

import os
import re
import subprocess

from tool import SCHEMAS, TOOL, ToolTest

COMMANDS = ["inspect", "check", "diff", "table", "rotate", "encode", "bias", "positions",
            "explain", "claims", "plot", "report", "models", "permute",
            "identify", "trace", "stretch", "bench", "help",
            "completions"]
# The words of each command and subcommand.
ALL = [*([command] for command in COMMANDS), ["bench", "attention"]]


class HelpTest(ToolTest):
    def test_help_begins_with_examples(self):
        for arguments in [["--help"], ["-h"], *([*command, "--help"] for command in ALL)]:
            text = self.run_ok(*arguments)
            self.assertTrue(text.startswith("Examples:\n  rotary "), arguments)
            self.assertLess(text.index("Examples:"), text.index("Usage:"))
            self.assertLess(text.index("Usage:"), text.index("Options:"))

    def test_lines_are_at_most_88_columns(self):
        for command in ALL:
            for line in self.run_ok(*command, "--help").splitlines():
                self.assertLessEqual(len(line), 88, line)

    def test_the_help_of_the_tool_fits_40_lines_of_80_columns(self):
        lines = self.run_ok("--help").splitlines()
        self.assertLessEqual(len(lines), 40)
        self.assertLessEqual(max(map(len, lines)), 80)

    def test_the_tool_lists_its_commands_and_exit_codes(self):
        text = self.run_ok("--help")
        for command in COMMANDS:
            self.assertRegex(text, rf"\n  {command} +\w")
        codes = text[text.index("Exit codes:"):]
        for code in [0, 1, 2, 3, 4, 5, 6, 7, 70]:
            self.assertRegex(codes, rf"\s{code}\s+\w")

    def test_every_option_of_examples_is_listed(self):
        for command in ALL:
            facts = self.run_json("help", "help", *command)
            listed = {name for option in facts["options"] for name in option["names"]}
            lines = facts["examples"].replace("\\\n", "").split("\n")
            own = " ".join(line for line in lines if line.startswith(f"  {facts['command']} "))
            own = re.sub(r"'[^']*'", "", own)  # the value of --flags has another program's options
            self.assertLessEqual(set(re.findall(r"--[a-z-]+", own)), listed, command)
            self.assertIn("--json", listed)

    def test_version_prints_number_and_instruction_sets(self):
        self.assertRegex(
            self.run_ok("--version"),
            r"^rotary \d+\.\d+\.\d+\ninstruction sets here, best first: \w+(, \w+)*\n$")
        self.assertEqual(self.run_ok("-V"), self.run_ok("--version"))

    def test_the_command_help_and_the_option_print_the_same(self):
        self.assertEqual(self.run_ok("help"), self.run_ok("--help"))
        for command in ALL:
            self.assertEqual(self.run_ok("help", *command), self.run_ok(*command, "--help"))

    def test_the_documentation_equals_the_printed_help(self):
        page = (SCHEMAS.parent / "tool.md").read_text()
        self.assertEqual(self.run_ok("help", "--form", "markdown"), page)

    def test_manual_pages_have_all_sections(self):
        (self.path / "man").mkdir()
        self.run_ok("help", "--man-pages", "man")
        pages = {path.name for path in (self.path / "man").iterdir()}
        self.assertEqual(pages, {"rotary.1", *(f"rotary-{'-'.join(each)}.1" for each in ALL)})
        for command in ALL:
            page = (self.path / "man" / f"rotary-{'-'.join(command)}.1").read_text()
            self.assertTrue(page.startswith(".TH "), page)
            for section in ["NAME", "SYNOPSIS", "EXAMPLES", "OPTIONS", "EXIT STATUS", "SEE ALSO"]:
                self.assertIn(f"\n.SH {section}\n", page)
            self.assertEqual(page, self.run_ok("help", *command, "--form", "man"))

    def test_bash_completes_commands_options_values_and_files(self):
        def completed(*words):
            line = f"""source <({TOOL} completions bash); COMP_WORDS=(rotary {' '.join(words)})
                COMP_CWORD={len(words)}; _rotary rotary "${{COMP_WORDS[-1]}}" "${{COMP_WORDS[-2]}}"
                printf '%s\\n' "${{COMPREPLY[@]}}" """
            result = subprocess.run(["bash", "-c", line], capture_output=True, text=True,
                                    cwd=self.path, timeout=60, check=True)
            self.assertEqual(result.stderr, "")
            return set(result.stdout.split())

        self.assertEqual(completed("ins"), {"inspect"})
        self.assertEqual(completed("inspect", "--nu"), {"--numerics"})
        self.assertEqual(completed("inspect", "--numerics", "g"), {"ggml"})
        self.assertEqual(completed("plot", "--theme", "''"), {"light", "dark"})
        self.assertIn("llama-3.1-8b", completed("inspect", "llama"))
        self.assertIn("attention", completed("bench", "att"))
        self.assertEqual(completed("bench", "attention", "--kv"), {"--kv-heads"})
        (self.path / "mine.json").touch()
        self.assertIn("mine.json", completed("inspect", "mi"))

    def test_bash_completes_names_with_special_characters_as_one_word(self):
        """Types the start of a name, bare or quoted, and a tab at a terminal."""
        names = ["A b.json", "B*.json", "C$x.json", "D'q.json", 'E"q.json', "F;g&h.json",
                 "G\\j.json", "H`l`.json", "I[m].json", "J~n.json", "K #o.json", "L(p).json",
                 "M:u.json", "N=w.json", "O?.json", "é b.json", "*.json", "$HOME.json"]
        for name in names:
            (self.path / name).touch()
        (self.path / "rc").write_text(f"""source <({TOOL} completions bash)
            rotary() {{ printf '%s\\n' "$2" >> words; }}\n""")
        typed = [quote + name[0] for name in names[:-2] for quote in ("", '"', "'")]
        typed += ["A\\ ", "'A b", '"K #o', "\\*", "'*", "\\$", "'$"]
        expected = [name for name in names[:-2] for _ in range(3)]
        expected += [names[0], names[0], "K #o.json", *["*.json"] * 2, *["$HOME.json"] * 2]
        terminal, keyboard = os.openpty()
        with subprocess.Popen(["bash", "--noprofile", "--rcfile", "rc", "-i"], cwd=self.path,
                              stdin=keyboard, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=os.environ | {"LC_ALL": "C.UTF-8", "HISTFILE": ""}) as shell:
            for each in typed:
                os.write(terminal, f"rotary inspect {each}\t\n".encode())
            os.write(terminal, b"exit\n")
            said, _ = shell.communicate(timeout=60)
        os.close(terminal)
        os.close(keyboard)
        self.assertEqual((self.path / "words").read_text().splitlines(), expected, said.decode())

    def test_scripts_for_zsh_and_fish_are_printed(self):
        for shell in ["zsh", "fish"]:
            document = self.run_json("completions", "completions", shell)
            self.assertEqual(document["script"], self.run_ok("completions", shell))
        for command in COMMANDS:
            self.assertIn(f" -f -a {command} ", document["script"])
        self.assert_fails(2, ["bash, zsh, fish", "'tcsh'"], "completions", "tcsh")

    def test_a_mistyped_subcommand_gets_a_suggestion(self):
        self.assert_fails(2, ["did you mean rotary bench attention?"], "help", "bench", "atention")
