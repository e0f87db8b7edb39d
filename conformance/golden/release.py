# SPDX-License-Identifier: Apache-2.0
"""One Transformers release: its rope functions, models' rotary code, and configs."""

import ast
import copy
import functools
import pathlib
import re
import types
import zipfile

from definitions import WithoutAnnotations, load_definitions, top_level
from wheels import wheel_of

ROPE_UTILS = ("ROPE_INIT_FUNCTIONS", "dynamic_rope_update", "RotaryEmbeddingConfigMixin")
TEXT_ROTARY = re.compile("(?!.*(Vision|Audio)).*RotaryEmbedding")
# Members of config classes about rope parameters.
ROPE_MEMBERS = ("default_theta", "default_rope_type", "_rope_type_labels",
                "ignore_keys_at_rope_validation", "convert_rope_params_to_dict")


def release_of(version):
    from torch_parts import GIVEN  # needs torch; the rest does not

    wheels = pathlib.Path(__file__).resolve().parents[2] / "build/golden/wheels"
    return Release(version, wheel_of(version, wheels), GIVEN)


class Release:
    def __init__(self, version, wheel, given):
        """`given`: the values of names that the wheel's code imports."""
        self.version = version
        self.archive = zipfile.ZipFile(wheel)
        self.given = given

    def has(self, path):
        return path in self.archive.namelist()

    def source(self, path):
        return self.archive.read(path).decode("utf-8")

    @functools.cached_property
    def rope_utils(self):
        """ROPE_UTILS from modeling_rope_utils.py, except what older releases lack."""
        path = "transformers/modeling_rope_utils.py"
        if not self.has(path):
            return {}
        source = self.source(path)
        names = [name for name in ROPE_UTILS if name in top_level_names(source)]
        scope = load_definitions(source, names, self.given, path)
        return {name: scope[name] for name in names}

    def model(self, name, *definitions):
        """Loads these definitions of the model's modeling file."""
        path = f"transformers/models/{name}/modeling_{name}.py"
        given = self.given | self.rope_utils
        scope = load_definitions(self.source(path), definitions, given, path)
        return types.SimpleNamespace(**{name: scope[name] for name in definitions})

    def model_names(self, name):
        return top_level_names(self.source(f"transformers/models/{name}/modeling_{name}.py"))

    def config(self, family, values):
        """The family's rotary config with these config.json values."""
        values = copy.deepcopy(values)
        mixin = self.rope_utils.get("RotaryEmbeddingConfigMixin")
        if mixin is None:
            return old_config(values)
        path = f"transformers/models/{family}/configuration_{family}.py"
        node = self.config_class(family, path)
        fields = fields_of(node)
        config = reduced(node, mixin, path)()
        # Transformers' order: fields, then values under older names, then the rest.
        for key in fields & values.keys():
            setattr(config, key, values.pop(key))
        if "rope_parameters" in fields:
            config.rope_parameters = getattr(config, "rope_parameters", None)
            values = defaults_of(node) | values
            values = config.convert_rope_params_to_dict(**values)
        for key, value in values.items():
            setattr(config, key, value)
        return config

    def config_class(self, family, path):
        """The class statement of the config that the family's rotary embedding takes."""
        name = self.annotated_config(family)
        classes = {node.name: node for node in ast.parse(self.source(path), path).body
                   if isinstance(node, ast.ClassDef)}
        # Some rotary embeddings name the full model's config, which contains the text's.
        for candidate in (name, name.replace("Config", "TextConfig")):
            if candidate in classes and fields_of(classes[candidate]) & {"rope_parameters",
                                                                         "rope_theta"}:
                return classes[candidate]
        raise NameError(f"{path} must define {name} with rope_parameters or rope_theta")

    def annotated_config(self, family):
        path = f"transformers/models/{family}/modeling_{family}.py"
        for node in ast.walk(ast.parse(self.source(path), path)):
            if isinstance(node, ast.ClassDef) and TEXT_ROTARY.fullmatch(node.name):
                for argument in arguments_of(method(node, "__init__")):
                    if argument.arg == "config" and argument.annotation is not None:
                        return ast.unparse(argument.annotation)
        raise NameError(f"{path} must define a rotary embedding that names its config's class")


def top_level_names(source):
    return set(top_level(ast.parse(source))[0])


def method(node, name):
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and inner.name == name:
            return inner
    return None


def arguments_of(function):
    return [] if function is None else function.args.args + function.args.kwonlyargs


def fields_of(node):
    """The config keys that the class declares: as fields, or parameters in older releases."""
    declared = {inner.target.id for inner in node.body
                if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name)}
    passed = {argument.arg for argument in arguments_of(method(node, "__init__"))}
    return declared | passed - {"self"}


def defaults_of(node):
    """The class's defaults by kwargs.setdefault("partial_rotary_factor", 0.5) and similar calls."""
    return {call.args[0].value: call.args[1].value
            for name in ("__init__", "__post_init__")
            for call in ast.walk(method(node, name) or ast.Pass())
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "kwargs.setdefault"
            and all(isinstance(argument, ast.Constant) for argument in call.args)}


def reduced(node, mixin, path):
    """The config class with only its rope parameters."""
    node = WithoutAnnotations().visit(copy.deepcopy(node))
    members = [inner for inner in node.body if member_name(inner) in ROPE_MEMBERS]
    reduced_node = ast.ClassDef(
        name=node.name, bases=[ast.Name("Mixin", ast.Load())], keywords=[], decorator_list=[],
        body=members or [ast.Pass()])
    module = ast.Module(body=[reduced_node], type_ignores=[])
    text = ast.unparse(ast.fix_missing_locations(module))
    base = type("Mixin", (Homogeneous, mixin), {})
    return load_definitions(text, [node.name], {"Mixin": base}, path)[node.name]


class Homogeneous:
    """Replaces the config's base class: one config for all layers, and no validation, which only
    warns or refuses."""

    is_heterogeneous = False

    def __getitem__(self, layer):
        return self

    @property
    def per_layer_config(self):
        return self

    def validate_rope(self, **named):
        pass


def member_name(node):
    if isinstance(node, ast.Assign):
        return node.targets[0].id if isinstance(node.targets[0], ast.Name) else None
    if isinstance(node, ast.AnnAssign):
        return getattr(node.target, "id", None)
    return getattr(node, "name", None)


def old_config(values):
    """Before 5.0, rope functions read config.json's own keys from attributes."""
    config = types.SimpleNamespace(**{"rope_scaling": None, "rope_theta": 10000.0, **values})
    if config.rope_scaling is not None and "type" in config.rope_scaling:
        config.rope_scaling.setdefault("rope_type", config.rope_scaling["type"])
    return config
