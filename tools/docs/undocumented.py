#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints public types and free functions without a comment, by Doxygen's XML. Exits with 1 on any.

Members and values of enums need no comment, and overloads of a function share one.
Usage: undocumented.py FOLDER_OF_XML
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as xml

TYPES = ("struct", "class", "concept")
# Clear without a comment: unnamed enums, the _free function of each handle, and Describe.
CLEAR = re.compile(r"^@|_free$|^rotary::Describe<")


def documented(element):
    parts = [element.find(name) for name in ("briefdescription", "detaileddescription")]
    return any("".join(part.itertext()).strip() for part in parts if part is not None)


def undocumented(compound):
    """Yields names without a comment: the type, or functions and enums of a scope."""
    name = compound.findtext("compoundname")
    if compound.get("kind") in TYPES:
        if not documented(compound) and not CLEAR.search(name):
            yield name
        return
    members = [
        member
        for member in compound.iter("memberdef")
        if member.get("kind") in ("function", "enum")
    ]
    explained = {member.findtext("name") for member in members if documented(member)}
    for member in members:
        member_name = member.findtext("name")
        if member_name not in explained and not CLEAR.search(member_name):
            yield member_name


def main():
    paths = sorted(pathlib.Path(sys.argv[1]).glob("*.xml"))
    compounds = [each for path in paths for each in xml.parse(path).getroot().iter("compounddef")]
    if not any(compound.get("kind") in TYPES for compound in compounds):
        print("the XML has no type: did the headers' filter stop?")
        return 1
    missing = {name for compound in compounds for name in undocumented(compound)}
    for name in sorted(missing):
        print(f"{name}: public, but has no comment")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
