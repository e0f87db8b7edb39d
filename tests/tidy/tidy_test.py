# SPDX-License-Identifier: Apache-2.0
"""Each rule of tools/tidy must find a planted violation, and nothing in a clean tree.

Usage: tidy_test.py TIDY_PY
"""

import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

TIDY = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(TIDY.parent))
sys.dont_write_bytecode = True
from formatting import check_format  # noqa: E402
from subjects import check_subjects, refusal  # noqa: E402
from tidy import CHECKS  # noqa: E402
from tree import Tree  # noqa: E402

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
SCRIPT_LICENCE = "# SPDX-License-Identifier: Apache-2.0\n"

CLEAN = {
    ".clang-format": "BasedOnStyle: Google\nColumnLimit: 100\n",
    "README.md": "See [the guide](docs/guide.md#start) and [a site](https://example.com).\n",
    "docs/guide.md": "[back](../README.md) `[x](code)`\n\n```\n[x](fenced)\n```\n",
    "include/rotary/rotate.hpp": LICENCE + "#pragma once\n\n#include <cstdint>\n",
    "include/rotary/scaling.hpp": LICENCE + "#pragma once\n",
    "src/CMakeLists.txt": SCRIPT_LICENCE + "add_library(rotary model/resolve.cpp)\n",
    "src/kernels/kernels.hpp": LICENCE + "#pragma once\n\n#include <cstdint>\n",
    "src/kernels/rows.hpp": LICENCE
    + '#include <hwy/highway.h>\n\n#include "kernels/kernels.hpp"\n',
    "src/rotation/rotate.hpp": LICENCE
    + '#include "kernels/kernels.hpp"\n#include "rotary/rotate.hpp"\n',
    "src/rotation/scaling/rules.hpp": LICENCE + '#include "rotary/scaling.hpp"\n',
    "src/model/resolve.cpp": LICENCE + "#include <nlohmann/json.hpp>\n",
    "reference/forms.hpp": LICENCE + '#include <mpfr.h>\n\n#include "rotary/scaling.hpp"\n',
    "cli/main.hpp": LICENCE + '#include <fmt/core.h>\n\n#include "rotary/rotate.hpp"\n',
    "bench/timer.hpp": LICENCE + '#include "reference/forms.hpp"\n',
    "build/dev/generated.cpp": "int \t x;\n",
}


# The checks that start no program. Two tests run all checks.
QUICK = tuple(check for check in CHECKS if check not in (check_format, check_subjects))


def tidy(planted, checks=QUICK):
    """Returns the findings in the clean tree with these files added or replaced."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (CLEAN | planted).items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return "".join(f"{each}\n" for check in checks for each in check(Tree(folder)))


def include(name):
    return LICENCE + f"#include {name}\n"


class TidyTest(unittest.TestCase):
    def assert_finds(self, path, text, *expected):
        output = tidy({path: text})
        for part in expected:
            self.assertIn(part, output)

    def assert_clean(self, path, text):
        self.assertEqual(tidy({path: text}), "")

    def test_a_clean_tree_has_no_finding(self):
        self.assertEqual(tidy({}, CHECKS), "")

    def test_the_program_exits_with_1_on_a_finding(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "x.txt").write_text("a \n")
            done = subprocess.run([sys.executable, "-B", str(TIDY), folder], capture_output=True,
                                  text=True)
        self.assertEqual((done.returncode, done.stdout),
                         (1, "x.txt:1: white space at the end of the line\n"))

    def test_forbidden_includes_are_found(self):
        refused = {
            "include/rotary/x.hpp": ('"kernels/kernels.hpp"', "<fstream>", "<hwy/highway.h>"),
            "src/x/x.hpp": ('"model/resolve.hpp"', "<thread>", "<cstdio>", "<nlohmann/json.hpp>"),
            "src/kernels/x.hpp": ('"rotary/rotate.hpp"', "<vector>", '"rotation/rotate.hpp"'),
            "src/rotation/x.hpp": ('"model/resolve.hpp"', "<hwy/highway.h>", "<iostream>"),
            "src/rotation/scaling/x.hpp": ('"rotary/rotate.hpp"', '"kernels/kernels.hpp"'),
            "src/model/x.hpp": ('"kernels/kernels.hpp"', "<mpfr.h>"),
            "reference/x.hpp": ('"rotation/rotate.hpp"', "<fmt/core.h>"),
            "cli/x.hpp": (
                '"src/rotation/rotate.hpp"', '"../src/kernels/kernels.hpp"', '"bench/timer.hpp"',
                '"reference/forms.hpp"',
            ),
            "bench/x.hpp": ('"rotation/rotate.hpp"', "<mpfr.h>"),
            "fuzz/x.hpp": ('"kernels/kernels.hpp"', "<fmt/core.h>"),
            "examples/x.hpp": ('"reference/forms.hpp"', "<fmt/core.h>"),
            "tests/x.hpp": ("<hwy/highway.h>",),
        }
        more = {"src/model/resolve.hpp": LICENCE}
        for path, names in refused.items():
            for name in names:
                with self.subTest(path=path, name=name):
                    folder = path.rsplit("/", 1)[0]
                    self.assertRegex(tidy(more | {path: include(name)}),
                                     rf"^{path}:2: (src/|{folder}/) does not include")

    def test_includes_in_the_wrong_form_are_found(self):
        absent, angled = include('"rotary/gone.hpp"'), include("<rotary/rotate.hpp>")
        self.assert_finds("cli/x.hpp", absent, "cli/x.hpp:2:", "names no file")
        self.assert_finds("cli/x.hpp", angled, "cli/x.hpp:2:", "included as")
        self.assert_finds(
            "src/kernels/x.hpp",
            LICENCE + '#define HWY_TARGET_INCLUDE "rotary/rotate.hpp"\n',
            "src/kernels/x.hpp:2: src/kernels/ does not include",
        )

    def test_only_bench_may_include_the_timer(self):
        self.assert_clean("cli/commands/bench.hpp", include('"bench/timer.hpp"'))
        self.assert_finds(
            "cli/commands/bench.hpp", include('"reference/forms.hpp"'),
            "cli/commands/bench does not include reference/forms.hpp",
        )

    def test_a_folder_without_a_rule_is_found(self):
        self.assert_finds("elsewhere/x.hpp", LICENCE, "elsewhere/x.hpp:1: no rule")

    def test_long_lines_and_files_are_found(self):
        line = LICENCE + "// " + "é" * 98 + "\n"
        self.assert_finds("cli/x.hpp", line, "x.hpp:2: a line has at most 100 columns, got 101")
        self.assert_clean("cli/x.hpp", line.replace("é", "", 1))
        self.assert_finds("cli/x.hpp", LICENCE + "//\n" * 400, "x.hpp:401: a file has", "got 401")
        self.assert_clean("cli/x.hpp", LICENCE + "//\n" * 399)
        self.assert_clean("include/rotary/rotate.hpp", LICENCE + "#pragma once\n" + "//\n" * 400)

    def test_long_functions_are_found(self):
        # (text before the function, its head, text after it)
        cases = (
            ("", "void f(int) {\n", ""),
            ("", "template <class T, template <class> class U>\nT f() {\n", ""),
            ("struct S {\n  int a = 0;\n\n private:\n", "  int f() const {\n", "};\n"),
            ("template <class T>\nstruct S {\n", "  int f() const {\n", "};\n"),
            ("namespace a {\nint b{0};\nint c = {};\n", "void f() {\n", "}  // namespace a\n"),
            ('extern "C" {\n#define X \\\n  {\n', "void f() {\n", "}\n"),
        )
        for before, head, after in cases:
            before = LICENCE + "// clang-format off\n" + before
            first = before.count("\n") + 1
            body = "  // '{\" {\n" * (57 - head.count("\n")) + "  g(\"}\", '}', R\"(})\", 1'0);\n"
            column = " " * (len(head) - len(head.lstrip()))
            text = before + head + textwrap.indent(body + "  h();\n}\n", column) + after
            with self.subTest(before=before, head=head):
                self.assert_clean("cli/x.hpp", text)
                self.assert_finds(
                    "cli/x.hpp", text.replace("  h();\n", "  h();\n" + column + "  h();\n"),
                    f"cli/x.hpp:{first}: a function has at most 60 lines, got 61",
                )

    def test_long_functions_in_scripts_are_found(self):
        body = "  a=1\n" * 59
        python = SCRIPT_LICENCE + "def f():\n" + "    a = 1\n" * 60
        self.assert_finds("tools/x.py", python, "x.py:2: a function has")
        bash = SCRIPT_LICENCE + "f() {\n" + body + "}\n"
        self.assert_finds("tools/x.sh", bash, "x.sh:2: a function has")
        cmake = SCRIPT_LICENCE + "function(f)\n" + body + "endfunction()\n"
        self.assert_finds("cmake/x.cmake", cmake, "x.cmake:2: a function has")
        javascript = LICENCE + "function f() {\n" + body + "}\n"
        self.assert_finds("cli/x.js", javascript, "x.js:2: a function has")

    def test_files_that_nothing_builds_are_found(self):
        self.assert_finds("src/model/x.cpp", LICENCE, "src/model/x.cpp:1: no CMakeLists.txt lists")
        from_here = 'f("${CMAKE_CURRENT_SOURCE_DIR}/model/x.cpp" model/resolve)\n'
        planted = {"src/model/x.cpp": LICENCE, "src/CMakeLists.txt": SCRIPT_LICENCE + from_here}
        self.assertEqual(tidy(planted), "")
        commented = CLEAN["src/CMakeLists.txt"] + "# model/x.cpp\n"
        self.assertIn("no CMakeLists.txt lists",
                      tidy({"src/model/x.cpp": LICENCE, "src/CMakeLists.txt": commented}))

    def test_a_part_includes_only_parts_that_it_is_built_with(self):
        added = {
            "src/CMakeLists.txt": CLEAN["src/CMakeLists.txt"]
            + "rotary_sources(rotary_core GROUP a rotation/turn.cpp)\n"
            + "rotary_sources(rotary_attention COLD GROUP b\n  runtime/way.cpp)\n"
            + "rotary_sources(rotary_models model/way.cpp)\n",
            "src/rotation/turn.cpp": include('"rotation/turn.hpp"'),
            "src/rotation/turn.hpp": LICENCE,
            "src/runtime/way.cpp": include('"runtime/way.hpp"'),
            "src/runtime/way.hpp": LICENCE,
            "src/model/way.cpp": include('"model/way.hpp"'),
            "src/model/way.hpp": LICENCE,
        }
        self.assertEqual(tidy(added), "")
        for path, part in (("rotation/turn.hpp", "core"), ("model/way.hpp", "models")):
            self.assertIn(f"{path}:2: {part} is built without attention",
                          tidy(added | {"src/" + path: include('"runtime/way.hpp"')}))
        in_the_whole = LICENCE + '#ifndef ROTARY_CORE_ONLY\n#include "runtime/way.hpp"\n#endif\n'
        self.assertEqual(tidy(added | {"src/rotation/turn.hpp": in_the_whole}), "")

    def test_forbidden_text_is_found(self):
        self.assert_finds("docs/x.txt", "a \nb\n", "docs/x.txt:1: white space")
        self.assert_finds("docs/x.txt", "a\r\n", "docs/x.txt:1: white space")
        self.assert_finds("docs/x.txt", "a\tb\n", "docs/x.txt:1: a tab")
        self.assert_finds("docs/x.txt", "a", "docs/x.txt:1: the last line")
        self.assert_clean("fuzz/corpus/npy/x.npy", "a \t")
        self.assert_clean("docs/figures/x.svg", "\ta \n\n")
        self.assert_finds("docs/x.txt", "in /" + "work/a\n", "docs/x.txt:1: /" + "work/ is a path")
        self.assert_finds("docs/x.txt", "//deb.debian" + ".org/\n", "docs/x.txt:1: debian" + ".org")
        self.assert_finds("cli/x.hpp", "// A header\n", "x.hpp:1: the first line is the licence")
        self.assert_finds("tool", "#!/bin/bash\n\n", "tool:2: the first line is the licence")
        self.assert_finds("cli/x.js", "f();\n", "x.js:1: the first line is the licence")
        self.assert_finds("cli/x.css", "a {}\n", "x.css:1: the first line is the licence")
        self.assert_clean("tool", "#!/bin/bash\n" + SCRIPT_LICENCE)
        for opening in ("Of the elements.", "What is plain passes.", "Whose memory it is."):
            planted = LICENCE + "// " + opening + "\n"
            self.assert_finds("src/model/x.hpp", planted, "x.hpp:2: say subject, verb, object")

    def test_calls_that_drop_a_nan_are_found(self):
        for call in ("std::max(a, b)", "std::min({a, b})", "std::fmax(a, b)", "fmin(a, b)",
                     "std::max<double>(a, b)", "std::ranges::max(table)",
                     "std::ranges::max_element(table)", "std::minmax(a, b)"):
            planted = LICENCE + f"double f() {{ return {call}; }}\n"
            for folder in ("cli/difference", "cli/identify", "src/identify",
                           "src/model/difference"):
                self.assert_finds(f"{folder}/x.hpp", planted, "x.hpp:2: ", "may drop a NaN")
            self.assert_clean("cli/x.hpp", planted)
        for call in ("larger(a, b)", "smaller(a, b)", "std::max<std::int64_t>(a, b)",
                     "std::min<std::size_t>(a, b)", "std::numeric_limits<float>::max()",
                     "std::clamp(a, 0.0, 1.0)",
                     "std::max<std::optional<std::int64_t>>(a, b)"):
            self.assert_clean("src/identify/x.hpp", LICENCE + f"int f() {{ return {call}; }}\n")

    def test_broken_links_are_found(self):
        self.assert_finds("docs/x.md", "[a](gone.md#b)\n", "x.md:1: the link's target docs/gone")
        self.assert_finds("docs/x.md", "\n[a]: gone.md\n", "x.md:2: the link's target docs/gone")

    def test_unclear_names_and_sentences_are_found(self):
        for name in ("OfTheElements", "WhatIsWrongIsNamed", "So"):
            planted = LICENCE + f"TEST_P(Cli, {name}) {{}}\n"
            self.assert_finds("cli/x.cpp", planted, "x.cpp:2: a test's name is a claim", name[:2])
        planted = SCRIPT_LICENCE + "def test_when_it_ends(self):\n    g()\n"
        self.assert_finds("lab/test_x.py", planted, "x.py:2: a test's name is a claim")
        self.assert_finds("docs/x.txt", "Tokens, so\nmany of them.\n", "x.txt:1: name the number")
        long = "word " * 36 + "end."
        self.assert_finds("docs/x.md", f"One.\n* {long}\n", "x.md:2: a sentence has at most 35")
        self.assert_clean("docs/x.md", f"# {long}\n\n| {long} |\n\n```\n{long}\n```\n")
        self.assert_clean("docs/x.md", "word " * 20 + "end.\n" + "word " * 20 + "end.\n")

    def test_a_subject_without_an_imperative_is_refused(self):
        for subject in ("cli: refuse a FIFO at once", "cuda, docs: pass what is given",
                        "tests/cli: embed one page"):
            self.assertIsNone(refusal(subject))
        for subject in ("attend: rows that are not there", "cuda: a second reading",
                        "docs: 43 more reports", "cli: refused a FIFO", "cli: refusing a FIFO",
                        "docs: what GPUs do", "refuse a FIFO"):
            self.assertRegex(refusal(subject), "^a subject ")

    def test_unformatted_code_is_found(self):
        self.assertEqual(tidy({"cli/x.hpp": LICENCE + "int  a;\n"}, CHECKS),
                         "cli/x.hpp:2: not formatted; ./dev tidy --fix formats\n")

    def test_unformatted_schemas_are_found(self):
        self.assert_finds("docs/schema/x.json", '{ }\n', "docs/schema/x.json:1: not formatted")


if __name__ == "__main__":
    unittest.main()
