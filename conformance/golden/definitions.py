# SPDX-License-Identifier: Apache-2.0
"""Executes some definitions of a module without the module's imports.

A modeling file of Transformers imports most of the library, and new releases refuse Debian 12's
torch. Rotating q and k needs few classes and functions. This module cuts them out, with every name
in the file that they need. Names from other modules come from the caller or the standard library,
or become a Stub.
"""

import __future__

import ast
import builtins
import importlib
import sys


class Stub:
    """Replaces definitions of other modules. It can be called and has attributes, but no value."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Stub(f"{self._name}.{attribute}")

    def __call__(self, *arguments, **named):
        return Stub(f"{self._name}()")

    def __bool__(self):
        raise TypeError(f"{self._name} is a stub and has no value")


def load_definitions(source, names, given, filename="<module>"):
    """Returns a dict of the named top-level definitions and all that they need."""
    tree = WithoutAnnotations().visit(ast.parse(source, filename))
    defined, imported = top_level(tree)
    for name in names:
        if name not in defined:
            raise NameError(f"{filename} must define {name}")
    scope = {"__name__": filename, **given}
    needed, waiting = set(), list(names)
    while waiting:
        name = waiting.pop()
        if name in scope or name in needed or hasattr(builtins, name):
            continue
        if name in defined:
            needed.add(name)
            drop_stubbed_decorators(defined[name], defined, scope)
            waiting += (inner.id for inner in ast.walk(defined[name])
                        if isinstance(inner, ast.Name))
        elif name in imported:
            scope[name] = standard(*imported[name]) or Stub(name)
    body = [node for node in tree.body if any(defined[name] is node for name in needed)]
    module = ast.fix_missing_locations(ast.Module(body=body, type_ignores=[]))
    flags = __future__.annotations.compiler_flag
    exec(compile(module, filename, "exec", flags=flags, dont_inherit=True), scope)
    return scope


class WithoutAnnotations(ast.NodeTransformer):
    """Drops annotations, whose types are not needed here."""

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_arg(self, node):
        node.annotation = None
        return node


def top_level(tree):
    """Returns {defined name: statement} and {imported name: (module, attribute or None)}."""
    defined, imported = {}, {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined[node.name] = node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    defined[target.id] = node
        elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            defined[node.target.id] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom, ast.If, ast.Try)):
            # A conditional import may be needed, whatever the condition.
            for inner in ast.walk(node):
                imported.update(imports_of(inner))
    return defined, imported


def imports_of(node):
    if isinstance(node, ast.Import):
        return {(alias.asname or alias.name.split(".")[0]): (alias.name, None)
                for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        return {(alias.asname or alias.name): (module, alias.name) for alias in node.names}
    return {}


def standard(module, attribute):
    """The module, or its attribute, if it is in the standard library."""
    if module.split(".")[0] not in sys.stdlib_module_names:
        return None
    found = importlib.import_module(module)
    return found if attribute is None else getattr(found, attribute, None)


def drop_stubbed_decorators(node, defined, scope):
    """Drops decorators of missing modules, since they document or register and do not rotate."""
    kept = {*defined, *scope, *dir(builtins), "wraps"}
    for inner in ast.walk(node):
        if isinstance(inner, (ast.FunctionDef, ast.ClassDef)):
            inner.decorator_list = [decorator for decorator in inner.decorator_list
                                    if root_name(decorator) in kept]


def root_name(expression):
    while not isinstance(expression, ast.Name):
        expression = expression.func if isinstance(expression, ast.Call) else expression.value
    return expression.id
