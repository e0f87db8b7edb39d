# SPDX-License-Identifier: Apache-2.0
"""Help begins with examples, fits 80 columns, and the examples name real options."""

import re

from tool import ToolTest

COMMANDS = ["inspect", "table", "rotate", "encode", "bias", "explain", "claims", "plot", "report",
            "models", "bench"]
# With those that stand within another.
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

    def test_the_tool_lists_its_commands_and_exit_codes(self):
        text = self.run_ok("--help")
        for command in COMMANDS:
            self.assertRegex(text, rf"\n  {command} +\w")
        codes = text[text.index("Exit codes:"):]
        for code in [0, 1, 2, 3, 4, 5, 70]:
            self.assertRegex(codes, rf"\n +{code}  \w")

    def test_every_option_of_examples_and_usage_is_listed(self):
        for command in ALL:
            text = self.run_ok(*command, "--help")
            head, options = text.split("\nOptions:\n")
            listed = set(re.findall(r"--[a-z-]+", options))
            used = set(re.findall(r"--[a-z-]+", head))
            self.assertLessEqual(used, listed | {"--help"}, command)
            self.assertIn("--json", listed)

    def test_the_version(self):
        self.assertRegex(self.run_ok("--version"), r"^rotary \d+\.\d+\.\d+\n$")
