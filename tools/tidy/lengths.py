# SPDX-License-Identifier: Apache-2.0
"""Lengths of files, lines and functions.

C++ functions are found by a brace at namespace or class level after text with a parameter list.
This is exact enough for this repository's format.
"""

import ast
import re

from tree import Finding, line_of

FILE_LINES = 400
# Public headers, tables of rows, and generated files.
MAY_BE_LONG = re.compile(r"^include/|_(rows|data)\.cpp$")
LINE_COLUMNS = 100
FUNCTION_LINES = 60

# Matches comments, string and character literals; not a digit separator (1'000).
QUIET = re.compile(
    r'//[^\n]*|/\*.*?\*/'
    r'|R"([^()\\ ]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
# Preprocessor lines and access labels: they belong to no declaration.
ASIDE = re.compile(
    r"^[ \t]*(?:#(?:[^\n\\]|\\.|\\\n)*|(?:public|protected|private):)", re.MULTILINE
)
TYPE = re.compile(r"\b(?:class|struct|union|enum|namespace)\b")
TEMPLATE = re.compile(r"\btemplate\s*<")


def check_lengths(tree):
    for file in tree.of("cpp", "python", "bash", "cmake", "javascript", "css"):
        if len(file.lines) > FILE_LINES and not MAY_BE_LONG.search(file.path):
            yield Finding(
                file.path, FILE_LINES + 1,
                f"a file has at most {FILE_LINES} lines, got {len(file.lines)}",
            )
        for number, line in enumerate(file.lines, 1):
            if len(line) > LINE_COLUMNS:
                yield Finding(
                    file.path, number, f"a line has at most {LINE_COLUMNS} columns, got {len(line)}"
                )
        for first, last in FUNCTIONS[file.language](file.text):
            if last - first + 1 > FUNCTION_LINES:
                yield Finding(
                    file.path, first,
                    f"a function has at most {FUNCTION_LINES} lines, got {last - first + 1}",
                )


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def cpp_functions(text):
    """(first line, last line) of each function, including its head."""
    code = ASIDE.sub(blank, QUIET.sub(blank, text))
    head, position = 0, 0  # start of the text before the next brace
    while position < len(code):
        character = code[position]
        if character == "{":
            before = code[head:position]
            end = position if opens_scope(before) else closing_brace(code, position)
            if is_function(before):
                first = head + len(before) - len(before.lstrip())
                yield line_of(code, first), line_of(code, end)
            position = end
        if character in ";{}":
            head = position + 1
        position += 1


def opens_scope(before):
    """Whether a namespace, class or extern "C" starts here, which may contain functions."""
    plain = without_template(before).split("(", 1)[0]
    return bool(TYPE.search(plain)) or before.strip() == "extern"


def without_template(before):
    """Removes template parameters from the head, since their `class T` names no class."""
    match = TEMPLATE.search(before)
    while match:
        depth, end = 1, match.end()
        while depth > 0 and end < len(before):
            depth += {"<": 1, ">": -1}.get(before[end], 0)
            end += 1
        before = before[end:]
        match = TEMPLATE.search(before)
    return before


def is_function(before):
    return not opens_scope(before) and ")" in before and not before.rstrip().endswith("=")


def closing_brace(code, position):
    depth = 0
    for index in range(position, len(code)):
        depth += {"{": 1, "}": -1}.get(code[index], 0)
        if depth == 0:
            return index
    return len(code) - 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno


def delimited_functions(begin, end):
    """Functions in a language whose format puts their first and last line at column 0."""
    def functions(text):
        first = None
        for number, line in enumerate(text.splitlines(), 1):
            if re.match(begin, line):
                first = number
            elif first is not None and re.match(end, line):
                yield first, number
                first = None
    return functions


FUNCTIONS = {
    "cpp": cpp_functions,
    "python": python_functions,
    "bash": delimited_functions(r"\w+\(\) \{$", r"\}$"),
    "cmake": delimited_functions(r"(?:function|macro)\(", r"end(?:function|macro)\("),
    "javascript": delimited_functions(r"(?:async )?function\b", r"\}$"),
    "css": lambda text: (),
}
