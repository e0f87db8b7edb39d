# SPDX-License-Identifier: Apache-2.0
"""Data sets that lab/data/prepare.py makes from files and folders."""

import contextlib
import gzip
import io
import json
import pathlib
import sys
import unittest

from lab_case import scratch_folder

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "data"))
import prepare  # pylint: disable=wrong-import-position

PAGE = r""".TH OPEN 2
.SH NAME
open \- open a file
.SH SYNOPSIS
.BI "int open(const char *" pathname ", int " flags );
.SH RETURN VALUE
.BR open ()
returns \-1
on \fIerror\fP.
"""


class Prepare(unittest.TestCase):
    def setUp(self):
        self.folder = scratch_folder(self.addCleanup)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def add(self, name, source, *options):
        with contextlib.redirect_stdout(io.StringIO()):
            prepare.main(["add", name, "--from", source, "--data-dir", str(self.folder / "data"),
                          *options])
        made = self.folder / "data" / name
        return ((made / "text.bin").read_bytes().decode(),
                json.loads((made / "manifest.json").read_text(encoding="utf-8")))

    def refuses(self, message, *arguments):
        with self.assertRaises(prepare.Failure) as caught:
            self.add(*arguments)
        self.assertIn(message, str(caught.exception))

    def test_a_folder_keeps_texts_and_paths_and_skips_other_files(self):
        for name, content in (("b.txt", "second"), ("a.txt", "first "), ("c.txt", "bi\0nary"),
                              ("empty.txt", ""), ("d.md", "not asked for")):
            self.write(f"from/{name}", content)
        (self.folder / "from" / "again.txt").symlink_to("a.txt")
        (self.folder / "from" / "e.txt").symlink_to(self.write("elsewhere", " third"))
        source = str(self.folder / "from")
        text, manifest = self.add("three", source, "--suffix", ".txt", "--licence", "mine")
        self.assertEqual(text, "first second third")
        self.assertEqual(manifest, {
            "schema_version": 1, "name": "three", "origin": source, "licence": "mine",
            "documents": [6, 6, 6], "paths": ["a.txt", "b.txt", "e.txt"],
            "sha256": "c26d5c3681c97e53b32d3f11f774e88a150afd174eeb4d0129e9ca9dfeed5932"})

    def test_generated_data_have_the_recorded_hashes(self):
        for name, start, documents in (("grammar", "974028164b9b7125", None),
                                       ("grammar-pairs", "f633165b6373c331", 2000)):
            with contextlib.redirect_stdout(io.StringIO()):
                prepare.main(["add", name, "--data-dir", str(self.folder)])
            manifest = json.loads((self.folder / name / "manifest.json").read_text())
            self.assertTrue(manifest["sha256"].startswith(start), manifest["sha256"])
            self.assertEqual(manifest["licence"], "none needed")
            if documents:
                self.assertEqual(len(manifest["documents"]), documents)
                self.assertTrue(manifest["pieces_sha256"].startswith("f9724f63c050c697"))

    def test_a_refused_source_leaves_no_data_set(self):
        text = self.write("text", "some text")
        self.add("once", text)
        self.refuses("exists; choose another name", "once", text)
        self.refuses("got '../up'", "../up", text)
        self.refuses("not grammar", "grammar", text)
        self.refuses("no such file", "none", str(self.folder / "nothing"))
        self.refuses("no text in it", "none", self.write("nul", "\0"))
        for package in ("", "-o", "../x", "a b", "x;y", "P"):
            self.refuses("deb: takes the name of a package", "none", f"deb:{package}")
        self.assertEqual([path.name for path in (self.folder / "data").iterdir()], ["once"])

    def test_manual_pages_lose_their_title_line_and_name_section(self):
        self.write("man/man2/open.2.gz", gzip.compress(PAGE.encode()))
        self.write("man/man2/openat.2", ".so man2/open.2\n")
        text, manifest = self.add("pages", str(self.folder / "man"), "--format", "manual")
        self.assertEqual(text.split("\n"),
                         ["SYNOPSIS", "int open(const char *pathname, int flags);", "RETURN VALUE",
                          "open() returns -1 on error.", ""])
        self.assertEqual(manifest["paths"], ["man2/open.2.gz"])

    def test_paragraphs_become_text_without_tags_and_entities(self):
        page = ("<!DOCTYPE html><body><nav>no</nav><p class='a'>Dr&uuml;cken Sie\n  <em>Strg&nbsp;"
                "&amp;&#160;C</em>&lt;&#x263a;&gt;</p><div><p>one<br>two<script>var no;</script> "
                "three<!-- no --></p></div><p></p><p> \t </p>")
        self.assertEqual(prepare.html_paragraphs(page.encode()),
                         ["Drücken Sie Strg\u00a0&\u00a0C<☺>", "one two three", "", ""])
        self.assertEqual(prepare.html_paragraphs("<meta charset=latin1><p>Größe".encode()),
                         ["Größe"])
        self.assertEqual(prepare.html_paragraphs(b"<p>one<p>two</b></div><p>three &nosuch; <i>end"),
                         ["one", "two", "three &nosuch; end"])
        self.assertEqual(prepare.html_paragraphs(b""), [])

    def write_pages(self, count):
        for n in range(count):
            for language in ("en-US", "de"):
                self.write(f"{language}/help/{language}/part{n % 3}/page{n}.html",
                           "".join(f"<p>{language} {n}-<b>{k}</b>" for k in range(4)))
        return str(self.folder / "en-US"), "--translation", str(self.folder / "de")

    def test_pairs_are_paragraphs_of_pages_with_the_same_name(self):
        sources = self.write_pages(120)
        # Not pairs: different numbers of paragraphs, a missing page, equal texts, a repeated pair.
        german = self.folder / "de" / "help" / "de"
        (german / "part0" / "page0.html").write_text("<p>one")
        (german / "part1" / "page1.html").unlink()
        (german / "part2" / "page2.html").write_text("".join(f"<p>en-US 2-{k}" for k in range(4)))
        for language in ("en-US", "de"):
            folder = self.folder / language / "help" / language
            (folder / "part0" / "page3.html").write_bytes(
                (folder / "part1" / "page4.html").read_bytes())
        text, manifest = self.add("pages", *sources)
        self.assertEqual(len(manifest["documents"]), 116)
        pairs = [line.split("\t") for line in text.splitlines()]
        self.assertEqual(len(pairs), 4 * 116)
        for one, other in pairs:
            self.assertEqual(one.replace("en-US", "de"), other)

    def test_few_pages_make_each_pair_a_document(self):
        self.assertEqual(len(self.add("few", *self.write_pages(30))[1]["documents"]), 120)

    def test_pairs_are_lines_of_two_files(self):
        english = "".join(f"  the {n}\tthing\r\n" for n in range(150)) + "the last one\n"
        german = "".join(f"das {n} Ding\n" for n in range(150)) + "\n"
        text, manifest = self.add("lines", self.write("en", english), "--translation",
                                  self.write("de", german))
        self.assertEqual(len(manifest["documents"]), 150)
        self.assertEqual(text.splitlines()[7], "the 7 thing\tdas 7 Ding")
        self.assertTrue((self.folder / "data" / "lines" / "pieces.model").exists())

    def test_texts_that_do_not_align_are_refused(self):
        two, three = self.write("two", "one\ntwo\n"), self.write("three", "one\ntwo\nthree")
        latin = self.write("latin", b"gr\xfc\xdf\nzwei\n")
        empty = self.folder / "empty"
        empty.mkdir()
        for one, other, message in ((two, three, "as many lines as"), (two, three, "2, got 3"),
                                    (two, latin, "must be UTF-8"),
                                    (two, two, "at least 100 pairs"),
                                    (two, str(empty), "two files or two folders"),
                                    (str(empty), str(empty), "no HTML pages")):
            self.refuses(message, "none", one, "--translation", other)
