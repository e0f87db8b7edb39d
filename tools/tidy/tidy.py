#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that need no build. Prints `file:line: message` for each finding, exits with 1 on any."""

import argparse
import pathlib
import sys

from parts import check_parts
from formatting import check_format, fix_format
from includes import check_includes
from lengths import check_lengths
from listed import check_listed
from schemas import check_schemas, fix_schemas
from subjects import check_subjects
from text_rules import check_text
from tree import Tree
from words import check_words

CHECKS = (check_text, check_includes, check_parts, check_lengths, check_listed, check_format,
          check_schemas, check_subjects, check_words)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    here = pathlib.Path(__file__).resolve()
    parser.add_argument("root", nargs="?", default=here.parents[2], help="the tree to check")
    parser.add_argument("--fix-format", action="store_true", help="format instead")
    options = parser.parse_args()
    tree = Tree(options.root)
    if options.fix_format:
        fix_format(tree)
        fix_schemas(tree)
        return 0
    findings = [finding for check in CHECKS for finding in check(tree)]
    for finding in findings:
        print(finding)
    print(f"{len(tree.files)} files, {len(findings)} findings", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
