# SPDX-License-Identifier: Apache-2.0
"""rotary check: findings of configs, one line each, and what fails."""

import json

from tool import LLAMA, YARN, ToolTest, validate

# The ratio of the lengths is 4, as the factor says, but for a factor of 8.
SUSPICIOUS = YARN | {"rope_scaling": YARN["rope_scaling"] | {"factor": 8.0}}


class CheckTest(ToolTest):
    def check(self, *arguments):
        """(exit code, lines, document)"""
        text = self.run_tool("check", *arguments)
        as_json = self.run_tool("check", *arguments, "--json")
        self.assertEqual(text.returncode, as_json.returncode)
        document = json.loads(as_json.stdout)
        validate(document, "check")
        return text.returncode, text.stdout.decode().splitlines(), document

    def test_nothing_to_say(self):
        code, lines, document = self.check(self.write_config(LLAMA), "llama-3.1-8b")
        self.assertEqual((code, lines), (0, []))
        self.assertEqual([file["passed"] for file in document["files"]], [True, True])

    def test_warnings_fail_when_strict(self):
        name = self.write_config(SUSPICIOUS)
        code, [line], document = self.check(name)
        self.assertEqual(code, 0)
        self.assertTrue(line.startswith("config.json: warning: "), line)
        self.assertIn("factor 8", line)
        self.assertTrue(document["files"][0]["passed"])
        code, lines, document = self.check(name, "--strict")
        self.assertEqual((code, lines), (1, [line]))
        self.assertFalse(document["files"][0]["passed"])

    def test_each_file_is_checked(self):
        good = self.write_config(LLAMA, "good.json")
        bad = self.write_config("{", "bad.json")
        code, [line], document = self.check(bad, good)
        self.assertEqual(code, 1)
        self.assertTrue(line.startswith("bad.json: error: "), line)
        self.assertEqual([file["passed"] for file in document["files"]], [False, True])

    def test_a_family_that_nobody_knows(self):
        name = self.write_config(LLAMA | {"model_type": "never_seen"})
        code, [line], _ = self.check(name)
        self.assertEqual(code, 1)
        self.assertTrue(line.startswith("config.json: unsupported: model_type must be"), line)
        self.assertEqual(self.check(name, "--skip-unsupported")[0], 0)

    def test_a_file_that_is_not_there(self):
        code, [line], _ = self.check(self.write_config(LLAMA), "gone.json")
        self.assertEqual(code, 4)
        self.assertTrue(line.startswith("gone.json: error: No such file"), line)

    def test_a_folder(self):
        (self.path / "model").mkdir()
        self.write_config(SUSPICIOUS, "model/config.json")
        code, [line], _ = self.check("model", "--strict")
        self.assertEqual(code, 1)
        self.assertTrue(line.startswith("model: warning: "), line)

    def test_usage(self):
        self.assert_fails(2, ["FILE is required"], "check")
        self.assert_fails(2, ["once"], "check", "-", "-")
