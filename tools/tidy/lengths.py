# SPDX-License-Identifier: Apache-2.0
"""Lengths of files, lines and functions.

C++ functions are found by indentation, since clang-format puts the first line of a function and its
closing brace in the same column.
"""

import ast
import re

from tree import Finding

FILE_LINES = 400
# Public headers, tables of rows, and generated files.
MAY_BE_LONG = re.compile(r"^include/|_(rows|data)\.cpp$")
LINE_COLUMNS = 100
FUNCTION_LINES = 60

COMMENT = re.compile(r"\s*(?://.*|/\*.*|\*.*\*/)$")
SCOPE = re.compile(r'extern "C" \{|namespace\b')


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


def cpp_functions(text):
    """(first line, last line) of each function, including its head. Also yields blocks inside."""
    first, opened = None, {}  # a statement's column and line; column: first line of an open block
    for number, line in enumerate(text.splitlines(), 1):
        code, column = COMMENT.sub("", line).strip(), len(line) - len(line.lstrip())
        if not code or code.startswith("#"):
            continue
        if line.strip() == "}" and column in opened:
            yield opened[column], number
        if first is None:
            opened = {each: begin for each, begin in opened.items()
                      if each < column or (each == column and code.startswith("} catch"))}
            first = column, number
        if code.endswith("{") and not SCOPE.match(code):
            opened.setdefault(*first)
        if code.endswith(("{", "}", ";", ":")):
            first = None


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
