#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes data sets for rotary-lab from files, folders and Debian packages.

DATA-DIR/NAME/ holds text.bin with the concatenated documents, manifest.json with their origin and
SHA-256, and for pairs SentencePiece's pieces.model.
"""

import argparse
import contextlib
import gzip
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import grammar
from lxml import etree

# Licences as in the packages' debian/copyright.
DEFAULTS = {
    "prose": {"what": "English prose with code in it: the documentation of Perl, 9 MB",
              "source": "deb:perl-doc", "suffix": ".pod", "licence": "GPL-1+ or Artistic"},
    "pairs": {"what": "English and German: the help of LibreOffice, 34,000 pairs, 7 MB",
              "source": "deb:libreoffice-help-en-us", "licence": "MPL-2.0",
              "translation": "deb:libreoffice-help-de"},
    "pairs-from-german": {"what": "the same pairs, from German into English",
                          "source": "deb:libreoffice-help-de", "licence": "MPL-2.0",
                          "translation": "deb:libreoffice-help-en-us"},
    "pairs-into-french": {"what": "English and French: the help of LibreOffice",
                          "source": "deb:libreoffice-help-en-us", "licence": "MPL-2.0",
                          "translation": "deb:libreoffice-help-fr"},
    "manuals": {"what": "manual pages of Linux, by section, 6 MB",
                "source": "deb:manpages,deb:manpages-dev", "format": "manual",
                "licence": "several free licences, each page's own"},
}
# Data that grammar.py makes: (description, function that returns the documents, number of subword
# pieces for pairs or 0).
GENERATED = {
    "grammar": ("generated text, for language models without other data",
                lambda: grammar.text_documents(grammar.SEED, grammar.TEXT_BYTES), 0),
    "grammar-pairs": ("generated sentences and their translations",
                      lambda: grammar.pair_documents(grammar.SEED, grammar.PAIRS), 600),
}
PIECES = 4000  # shared by both languages
LEAST = 100  # pairs. If there are as many pages, each page is a document; otherwise each pair is.
VALIDATION_EVERY = 20  # one document in 20 validates, as lab/data/dataset.cpp splits


class Failure(Exception):
    """The message says the requirement and the value."""


def run(command, folder):
    try:
        subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(f"{' '.join(command[:2])} failed: {error}") from error


@contextlib.contextmanager
def opened(source):
    """Yields the source's path and its manifest text; unpacks packages temporarily."""
    if not source.startswith("deb:"):
        if not os.path.exists(source):
            raise Failure(f"{source}: no such file or folder")
        yield source, source
        return
    package = source.removeprefix("deb:")
    if not re.fullmatch("[a-z0-9][a-z0-9+.-]+", package):  # Debian Policy, 5.6.1
        raise Failure(f"deb: takes the name of a package, got '{package}'")
    with tempfile.TemporaryDirectory(prefix="rotary-lab-") as folder:
        run(["apt-get", "download", "--quiet", package], folder)
        archive, = pathlib.Path(folder).glob("*.deb")
        run(["dpkg-deb", "--extract", archive.name, "."], folder)
        archive.unlink()
        yield folder, archive.name


def files_of(source, suffixes):
    """Sorted paths, without links to files of the same source, which would repeat documents."""
    if not os.path.isdir(source):
        return [source]
    root = os.path.realpath(source) + os.sep
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(source) for name in names]
    return sorted(path for path in paths if path.endswith(suffixes) and os.path.isfile(path)
                  and not (os.path.islink(path) and os.path.realpath(path).startswith(root)))


def manual_words(page):
    """A manual page's text by mandoc, without the parts that reveal page and section: the title
    line and the section NAME. b"" for a page that only refers to another."""
    if page.startswith(b"\x1f\x8b"):
        page = gzip.decompress(page)
    if page.startswith(b".so "):
        return b""
    made = subprocess.run(["mandoc", "-T", "html", "-O", "fragment"], input=page, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    inside = "//section[@class='Sh'][position() > 1]//"
    blocks = " | ".join(inside + name for name in "h1 h2 p dt dd li tr div pre br".split())
    text = ""
    for part in html(made).xpath(f"{inside}text() | {blocks}"):
        if not isinstance(part, str):
            text += "\n"
        elif part.getparent().xpath("ancestor-or-self::pre"):
            text += part
        else:
            text += re.sub("[ \n]+", " ", part)
    lines = re.sub("\n (?! )", "\n", text).split("\n")
    return "".join(f"{line.rstrip()}\n" for line in lines if line.strip()).encode()


def html(page):
    tree = etree.fromstring(page, etree.HTMLParser(encoding="utf-8"))
    return etree.Element("html") if tree is None else tree


def cleaned(text):
    return re.sub("[ \t\n\r\f]+", " ", text).strip(" ")


def html_paragraphs(page):
    """Each <p> in page order, including empty ones."""
    parts = ".//text()[not(ancestor::script or ancestor::style)] | .//br"
    return [cleaned("".join(part if isinstance(part, str) else " " for part in p.xpath(parts)))
            for p in html(page).iter("p")]


def text_documents(source, suffix, form):
    """Yields (path within the source, bytes); skips empty files and files that are not text."""
    for path in files_of(source, suffix):
        text = pathlib.Path(path).read_bytes()
        if form == "manual":
            text = manual_words(text)
        if text and b"\0" not in text:
            yield os.path.relpath(path, source if os.path.isdir(source) else
                                  os.path.dirname(path) or "."), text


def pages_of(folder):
    """HTML pages by path relative to their innermost common folder."""
    pages = files_of(folder, (".html", ".htm"))
    if not pages:
        raise Failure(f"{folder}: no HTML pages in it")
    common = os.path.commonpath([os.path.dirname(page) for page in pages])
    return {os.path.relpath(page, common): page for page in pages}


def lines_of(path):
    try:
        text = pathlib.Path(path).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise Failure(f"{path} must be UTF-8") from error
    return [cleaned(line) for line in text.removesuffix("\n").split("\n")]


def aligned(source, target):
    """For each document, a list of texts and a list of as many translations."""
    if os.path.isdir(source) != os.path.isdir(target):
        raise Failure(f"{source} and {target} must be two files or two folders")
    if not os.path.isdir(source):
        sides = lines_of(source), lines_of(target)
        if len(sides[0]) != len(sides[1]):
            raise Failure(f"{target} must have as many lines as {source}, {len(sides[0])}, "
                          f"got {len(sides[1])}")
        yield sides
        return
    pages, translations = pages_of(source), pages_of(target)
    for name in sorted(pages.keys() & translations.keys()):
        sides = [html_paragraphs(pathlib.Path(page).read_bytes())
                 for page in (pages[name], translations[name])]
        if len(sides[0]) == len(sides[1]):
            yield sides


def pair_documents(source, target):
    """Documents of lines "text TAB translation", without repeated, equal or half empty pairs."""
    seen = set()
    documents = []
    for sides in aligned(source, target):
        lines = [f"{one}\t{other}\n" for one, other in zip(*sides)
                 if one and other and one != other]
        lines = [line for line in dict.fromkeys(lines) if line not in seen]
        seen.update(lines)
        if lines:
            documents.append([line.encode() for line in lines])
    if len(seen) < LEAST:
        raise Failure(f"there must be at least {LEAST} pairs of a text and its translation, "
                      f"got {len(seen)}")
    lines = [line for document in documents for line in document]
    return [b"".join(each) for each in documents] if len(documents) >= LEAST else lines


def train_pieces(documents, count=PIECES):
    """Returns a SentencePiece model, the same bytes each time. Options and paths are fixed, because
    the model contains them; one thread sums in one order. Normalization is "identity", because
    BLEU's references are the unchanged text."""
    trained = b"".join(document for number, document in enumerate(documents, 1)
                       if number % VALIDATION_EVERY)
    with tempfile.TemporaryDirectory(prefix="rotary-lab-") as folder:
        pathlib.Path(folder, "sentences").write_bytes(trained.replace(b"\t", b"\n"))
        run(["spm_train", "--input=sentences", "--model_prefix=pieces", "--model_type=unigram",
             f"--vocab_size={count}", "--hard_vocab_limit=false", "--byte_fallback=true",
             "--character_coverage=0.9995", "--normalization_rule_name=identity", "--pad_id=0",
             "--unk_id=1", "--bos_id=2", "--eos_id=3", "--num_threads=1", "--minloglevel=2"],
            folder)
        return pathlib.Path(folder, "pieces.model").read_bytes()


def made_text(asked):
    documents, paths, origins = [], [], []
    for source in asked.source.split(","):
        with opened(source) as (path, origin):
            origins.append(origin)
            for within, text in text_documents(path, asked.suffix, asked.format):
                paths.append(within)
                documents.append(text)
    if not documents:
        raise Failure(f"{asked.source}: no text in it")
    return documents, {"origin": ", ".join(origins), "paths": paths}, {}


def made_pairs(asked):
    with opened(asked.source) as (source, origin), opened(asked.translation) as (target, other):
        documents = pair_documents(source, target)
    pieces = train_pieces(documents)
    return documents, {"origin": f"{origin} and {other}"} | of_pairs(pieces), {
        "pieces.model": pieces}


def generated(name):
    _, documents, pieces = GENERATED[name]
    documents = list(documents())
    said = {"origin": f"generated, seed {grammar.SEED}", "licence": "none needed"}
    if not pieces:
        return documents, said, {}
    model = train_pieces(documents, pieces)
    return documents, said | of_pairs(model), {"pieces.model": model}


def of_pairs(pieces):
    return {"kind": "pairs", "pieces_sha256": hashlib.sha256(pieces).hexdigest()}


def add(asked):
    folder = pathlib.Path(asked.data_dir)
    is_taken = asked.name in GENERATED and asked.source
    if not re.fullmatch("[a-z0-9_-][a-z0-9_.-]*", asked.name) or is_taken:
        raise Failure("the name of a data set must be lower-case letters, digits, '-', '_' and "
                      f"'.', not first, and not {' or '.join(GENERATED)}, got '{asked.name}'")
    if (folder / asked.name).exists():
        raise Failure(f"{folder / asked.name} exists; choose another name, or remove it")
    documents, manifest, files = (
        generated(asked.name) if not asked.source else
        (made_pairs if asked.translation else made_text)(asked))
    text = b"".join(documents)
    manifest = {"schema_version": 1, "name": asked.name, "licence": asked.licence,
                "sha256": hashlib.sha256(text).hexdigest(),
                "documents": [len(document) for document in documents]} | manifest
    written = json.dumps(manifest, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    files |= {"text.bin": text, "manifest.json": written.encode() + b"\n"}
    folder.mkdir(parents=True, exist_ok=True)
    # Written completely or not at all.
    with tempfile.TemporaryDirectory(prefix=".", dir=folder) as scratch:
        made = pathlib.Path(scratch, asked.name)
        made.mkdir()
        for name, content in files.items():
            (made / name).write_bytes(content)
        made.rename(folder / asked.name)
    show(manifest)


def show(manifest):
    print(f"{manifest['name']}: {'pairs, ' if 'kind' in manifest else ''}"
          f"{sum(manifest['documents'])} bytes, {len(manifest['documents'])} documents, from "
          f"{manifest['origin']}, licence: {manifest['licence']}, sha256 {manifest['sha256']}")


def add_defaults(asked):
    for name in DEFAULTS:
        if pathlib.Path(asked.data_dir, name).exists():
            print(f"{name}: already there")
        else:
            main(["add", name, "--data-dir", asked.data_dir])


def list_all(asked):
    for path in sorted(pathlib.Path(asked.data_dir).glob("*/manifest.json")):
        show(json.loads(path.read_text(encoding="utf-8")))
    whats = {name: default["what"] for name, default in DEFAULTS.items()}
    whats |= {name: what for name, (what, _, _) in GENERATED.items()}
    for name, what in whats.items():
        if not pathlib.Path(asked.data_dir, name).exists():
            print(f"{name}: not here; data add {name}: {what}")


def main(words):
    parser = argparse.ArgumentParser(prog="data", description="text for rotary-lab to train on")
    commands = parser.add_subparsers(required=True)
    adding = commands.add_parser("add", help="copy a file, or the files of a folder")
    adding.add_argument("name", help=f"its name; these need no --from: "
                        f"{', '.join((*DEFAULTS, *GENERATED))}")
    adding.add_argument("--from", dest="source", help="a file, a folder with a file for "
                        "each document, or deb:PACKAGE,deb:PACKAGE")
    adding.add_argument("--format", choices=("text", "manual"), default="text",
                        help="manual: the words of man pages")
    adding.add_argument("--suffix", default="", help="takes only files of the folder "
                        "that end so: \".txt\"")
    adding.add_argument("--translation", help="makes pairs with this text in another language: "
                        "a file with as many lines, or a folder or deb:PACKAGE with the same pages")
    adding.add_argument("--licence", default="not stated", help="kept in the manifest")
    adding.set_defaults(call=add)
    commands.add_parser("defaults", help="fetch the data sets of the presets").set_defaults(
        call=add_defaults)
    commands.add_parser("list", help="list the data sets").set_defaults(call=list_all)
    for command in commands.choices.values():
        command.add_argument("--data-dir", default="lab-data", help="where data sets are kept")
    asked = parser.parse_args(words)
    if asked.call is add and not asked.source and asked.name not in GENERATED:
        if asked.name not in DEFAULTS:
            parser.error(f"--from must say where {asked.name} comes from; without it there are "
                         f"{', '.join(DEFAULTS)}")
        vars(asked).update(DEFAULTS[asked.name])
    asked.call(asked)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Failure, OSError) as failure:
        sys.exit(f"data: {failure}")
