# SPDX-License-Identifier: Apache-2.0
"""Installed manual pages and completions equal what the installed tool prints."""

import os
import pathlib
import subprocess
import unittest

PREFIX = pathlib.Path(os.environ["ROTARY_PREFIX"])
COMPLETIONS = {
    "bash": "bash-completion/completions/rotary",
    "zsh": "zsh/site-functions/_rotary",
    "fish": "fish/vendor_completions.d/rotary.fish",
}


def printed(*arguments):
    return subprocess.run([PREFIX / "bin/rotary", *arguments], capture_output=True, check=True,
                          timeout=600).stdout


class ManualTest(unittest.TestCase):
    def test_manual_pages_equal_what_the_tool_prints(self):
        pages = {path.name: path.read_bytes() for path in (PREFIX / "share/man/man1").iterdir()}
        self.assertEqual(pages.pop("rotary.1"), printed("help", "--form", "man"))
        self.assertGreaterEqual(len(pages), 13)
        for name, page in pages.items():
            words = name.removeprefix("rotary-").removesuffix(".1").split("-")
            self.assertEqual(page, printed("help", *words, "--form", "man"), name)

    def test_completions_equal_what_the_tool_prints(self):
        for shell, place in COMPLETIONS.items():
            self.assertEqual((PREFIX / "share" / place).read_bytes(), printed("completions", shell))


if __name__ == "__main__":
    unittest.main()
