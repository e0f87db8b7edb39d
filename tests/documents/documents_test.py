#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documents show what the programs do.

A ```console block has commands after "$ ", each with its exact output. They run in the repository,
with the built tool and the example programs on PATH. A ```cpp block has lines of an example, word
for word. A page of docs/how-to/ links the example above its block and runs the example below it.
guide_test.py tests docs/guide.md.

Usage: documents_test.py REPOSITORY DIRECTORY_OF_THE_TOOL
"""

import os
import pathlib
import re
import subprocess
import sys
import textwrap
import unittest

repository = pathlib.Path(sys.argv[1])
tool_directory = sys.argv[2]
GUIDE = repository / "docs/guide.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def documents():
    return [repository / "README.md", *sorted((repository / "docs").rglob("*.md"))]


def blocks(language):
    for document in documents():
        if document == GUIDE:
            continue
        for match in FENCE.finditer(document.read_text(encoding="utf-8")):
            if match.group(1) == language:
                yield document.relative_to(repository), match.group(2)


def example_programs():
    """Maps the name of each example to its text."""
    return {path.name: path.read_text() for path in (repository / "examples").glob("*.cpp")}


def programs_with(block):
    """Returns the names of examples that contain these lines, indented by 0 or 2 blanks."""
    forms = [f"\n{textwrap.indent(block, indentation)}" for indentation in ("", "  ")]
    programs = example_programs().items()
    return [name for name, text in programs if any(form in text for form in forms)]


def commands(block):
    """Yields each (command, output) of a console block."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def run(command):
    environment = dict(os.environ, PATH=f"{tool_directory}:{os.environ['PATH']}")
    return subprocess.run(
        ["bash", "-c", command], cwd=repository, env=environment, capture_output=True, text=True
    )


class Documents(unittest.TestCase):
    maxDiff = None

    def test_console_blocks_show_what_the_tool_prints(self):
        seen = 0
        for document, block in blocks("console"):
            for command, output in commands(block):
                with self.subTest(document=str(document), command=command):
                    done = run(command)
                    self.assertEqual(done.stdout + done.stderr, output)
                    seen += 1
        self.assertGreater(seen, 0, "README.md must show the tool")

    def test_cpp_blocks_are_lines_of_example_programs(self):
        seen = 0
        for document, block in blocks("cpp"):
            with self.subTest(document=str(document)):
                first = block.partition("\n")[0]
                self.assertTrue(programs_with(block), f"no program of examples/ has '{first}' …")
                seen += 1
        self.assertGreater(seen, 0, "README.md must show the library")

    def test_each_how_to_page_runs_the_programs_that_it_shows(self):
        for page in sorted((repository / "docs/how-to").glob("*.md")):
            above, fence, rest = page.read_text(encoding="utf-8").partition("```cpp\n")
            while fence:
                block, _, below = rest.partition("```\n")
                with self.subTest(page=page.name, first=block.partition("\n")[0]):
                    self.assertTrue(
                        any(f"examples/{name})" in above
                            and f"$ {name.removesuffix('.cpp')}\n" in below
                            for name in programs_with(block)),
                        "a program with these lines must be linked above and run below")
                between, fence, rest = below.partition("```cpp\n")
                above += between

    def test_the_index_names_every_document(self):
        index = (repository / "docs/README.md").read_text(encoding="utf-8")
        linked = set(re.findall(r"\]\(([^)#]+)\)", index))
        for document in sorted((repository / "docs").rglob("*.md")):
            name = document.relative_to(repository / "docs").as_posix()
            if name not in ("README.md", "api/main.md"):
                self.assertIn(name, linked)

    def test_the_site_has_every_document(self):
        index = (repository / "docs/README.md").read_text(encoding="utf-8")
        linked = {(repository / "docs" / link).resolve() for link in
                  re.findall(r"\]\(([^)#]+\.md)\)", index)}
        site = (repository / "docs/mkdocs.yml").read_text(encoding="utf-8")
        pages = {repository / page for page in re.findall(r"([\w./-]+\.md)$", site, re.MULTILINE)}
        self.assertEqual(linked, pages - {repository / "docs/README.md"})

    def test_the_glossary_uses_names_of_the_headers(self):
        glossary = (repository / "docs/glossary.md").read_text(encoding="utf-8")
        headers = "".join(path.read_text() for path in (repository / "include/rotary").iterdir())
        rows = [line.split("|")[1:-1] for line in glossary.splitlines() if line.startswith("| ")]
        wide = [row for row in rows if len(row) > 2]
        self.assertGreater(len(wide), 30)
        self.assertEqual({len(row) for row in wide}, {6})
        names = {name for row in wide for name in re.findall(r"`([^`]+)`", row[0])}
        for name in sorted(names):
            with self.subTest(name=name):
                self.assertRegex(headers, rf"\b{name.rpartition('::')[2]}\b")

    def test_the_sources_page_has_full_rows_and_existing_names(self):
        page = (repository / "docs/sources.md").read_text(encoding="utf-8")
        rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| ")]
        self.assertGreater(len(rows), 60)
        self.assertEqual({len(row) for row in rows}, {3})
        self.assertTrue(all(cell.strip() for row in rows for cell in row), "no empty cell")
        headers = "".join(path.read_text() for path in (repository / "include/rotary").iterdir())
        for name in sorted({name for row in rows for name in re.findall(r"`([^`]+)`", row[1])}):
            with self.subTest(name=name):
                if name.startswith("rotary "):
                    draws = name.startswith("rotary plot ")
                    done = run(f"{name} --csv" if draws else name)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                elif "/" in name:
                    self.assertTrue((repository / name).exists())
                else:
                    self.assertRegex(headers, rf"\b{name}\b")

    def test_theory_and_glossary_name_every_scaling_rule(self):
        header = (repository / "include/rotary/scaling.hpp").read_text(encoding="utf-8")
        alternatives = re.search(r"using ScalingRules =\s*std::variant<([^>]*)>;", header)[1]
        rules = re.findall(r"\w+", alternatives)
        for rule in rules:
            for document, word in (
                ("docs/theory/scaling.md", f"`{rule}"),
                ("docs/glossary.md", f"`{rule}`"),
            ):
                with self.subTest(rule=rule, document=document):
                    text = (repository / document).read_text(encoding="utf-8")
                    self.assertTrue(word in text, f"{document} must say {word}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
