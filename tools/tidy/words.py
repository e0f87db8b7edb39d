# SPDX-License-Identifier: Apache-2.0
"""Rules of plain words: test names, sentences in documents, and vague counts."""

import re

from tree import Finding, line_of

# A test's name that opens with one of these words has no subject, so it claims nothing.
OPENINGS = ("of", "what", "where", "so", "whether", "how", "when", "with", "in", "on", "at", "by",
            "for", "to")
NAMES = {
    "cpp": re.compile(r"\b(?:TYPED_)?(?:TEST|RC_GTEST)(?:_\w+)?\(\s*\w+,\s*([A-Z][a-z0-9]*)"),
    "python": re.compile(r"^\s*def test_([a-z0-9]+)_", re.MULTILINE),
}
SO_MANY = re.compile(r"\bso(?:\s|//|#|\*)+many\b", re.IGNORECASE)

SENTENCE_WORDS = 35
# Text that is not prose: code, tables, headings, pictures, comments.
ASIDE = re.compile(r"^ *```.*?^ *```|^(?:    | *\||#)[^\n]*|<!--.*?-->|^---\n.*?^---",
                   re.DOTALL | re.MULTILINE)
# A paragraph or a list item.
BLOCK = re.compile(r"^[^\n]*\S[^\n]*(?:\n(?! *(?:[*-]|\d+\.) )[^\n]*\S[^\n]*)*", re.MULTILINE)
LINK_TARGET = re.compile(r"\]\([^)]*\)")
CODE = re.compile(r"`[^`]*`")
SENTENCE = re.compile(r"(?<=[.!?])[\"')*_]*\s+")
WORD = re.compile(r"[^\W_]")


def check_words(tree):
    for file in tree.files:
        for match in SO_MANY.finditer(file.text):
            yield Finding(file.path, line_of(file.text, match.start()), "name the number")
        if file.language in NAMES:
            yield from names(file)
        if file.path.startswith("docs/") and file.language == "markdown":
            yield from long_sentences(file)


def names(file):
    for match in NAMES[file.language].finditer(file.text):
        if match[1].lower() in OPENINGS:
            yield Finding(file.path, line_of(file.text, match.start(1)),
                          f"a test's name is a claim, it does not open with '{match[1]}'")


def long_sentences(file):
    prose = ASIDE.sub(lambda match: re.sub(r"[^\n]", "", match[0]), file.text)
    for block in BLOCK.finditer(prose):
        for sentence in SENTENCE.split(CODE.sub("code", LINK_TARGET.sub("]", block[0]))):
            words = [word for word in sentence.split() if WORD.search(word)]
            if len(words) > SENTENCE_WORDS:
                yield Finding(file.path, line_of(prose, block.start()),
                              f"a sentence has at most {SENTENCE_WORDS} words, got {len(words)}: "
                              f"{' '.join(sentence.split()[:6])} …")
