# SPDX-License-Identifier: Apache-2.0
"""rotary-lab results, report and figures: evaluates finished cells."""

import argparse
import os
import pathlib
import sys
import tempfile
import unicodedata

from cells import IO, USAGE, Failure, load_experiments
from document import as_json, results_of

HERE = pathlib.Path(__file__).resolve().parent


def printable(text):
    """Escapes control characters, which a terminal would obey."""
    return "".join(f"\\u{ord(c):04x}" if c != "\n" and unicodedata.category(c) in
                   ("Cc", "Cf", "Cs", "Zl", "Zp") else c for c in text)


def write_files(files, force):
    """Writes each file completely or not at all. Without force, writes nothing if one exists."""
    for path in files:
        if path.exists() and not force:
            raise Failure(IO, f"{path} exists; --force replaces it")
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
            part.write(content)
        pathlib.Path(part.name).chmod(0o644)
        os.replace(part.name, path)
        print(printable(f"{path}: {(len(content) + 999) // 1000} kB"))


def show(asked, found):
    if asked.json:
        sys.stdout.write(as_json([document for document, _ in found]))
        return
    from text import text_of  # pylint: disable=import-outside-toplevel
    for n, (document, comparisons) in enumerate(found):
        sys.stdout.write(printable("\n\n" * (n > 0) + text_of(document) + "".join(comparisons())))


def report(asked, found):
    from page import page_of  # pylint: disable=import-outside-toplevel
    documents = [document for document, _ in found]
    page = page_of(documents).encode()
    write_files({pathlib.Path(asked.out): page}, asked.force)
    for document in documents:
        print(f"  {document['name']}: {len(document['arms'])} encodings")


def figures(asked, found):
    import text  # pylint: disable=import-outside-toplevel
    from figures import figures_of  # pylint: disable=import-outside-toplevel
    files = {}
    for document, _ in found:
        files |= {pathlib.Path(asked.out, name): made for name, made in figures_of(document)}
        for suffix, write in (("", text.measures_csv), ("-curves", text.curves_csv),
                              ("-pairs", text.pairs_csv)):
            if content := write(document):
                files[pathlib.Path(asked.out, f"{document['name']}{suffix}.csv")] = content.encode()
    write_files(files, asked.force)


def parse(name, words):
    parser = argparse.ArgumentParser(prog=f"rotary-lab {name}", description=COMMANDS[name][0])
    add = parser.add_argument
    add("names", nargs="*", metavar="EXPERIMENT",
        help="files, or names of lab/experiments/; default: all with finished cells")
    add("--experiments", default=str(HERE.parent / "experiments"), help="where experiments are")
    add("--preset", default="quick", help="one of their presets")
    add("--runs", default="lab-runs", help="where run directories are")
    add("--data-dir", default="lab-data", help="where data sets are kept")
    add("--only", default="", help="encodings, with commas between")
    add("--seeds", default="", help="only these, with commas between")
    if name == "results":
        add("--json", action="store_true", help="everything, for programs")
    else:
        add("-o", "--out", required=True, help="one HTML file" if name == "report" else
            "a folder, made if missing")
        add("--force", action="store_true", help="replace existing files")
    asked = parser.parse_intermixed_args(words)
    asked.only = list(filter(None, asked.only.split(",")))
    try:
        asked.seeds = [int(seed) for seed in filter(None, asked.seeds.split(","))]
    except ValueError:
        parser.error(f"--seeds must be whole numbers, got '{asked.seeds}'")
    return asked


COMMANDS = {"results": ("losses and verdicts of the finished cells", show),
            "report": ("a page of losses and verdicts", report),
            "figures": ("pictures and CSV of the finished cells", figures)}


def main(name, *words):
    asked = parse(name, words)
    found = [results_of(experiment, asked) for experiment in load_experiments(asked)]
    if not asked.names:
        found = [one for one in found if one[0]["arms"]]
    if not found:
        raise Failure(USAGE, "--runs must be a folder with finished cells of the preset "
                      f"{asked.preset}, got {asked.runs}; rotary-lab run --preset {asked.preset} "
                      "makes them")
    COMMANDS[name][1](asked, found)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Failure, OSError) as failure:
        sys.stderr.write(printable(f"rotary-lab: {failure}") + "\n")
        sys.exit(getattr(failure, "code", IO))
