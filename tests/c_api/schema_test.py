# SPDX-License-Identifier: Apache-2.0
"""docs/schema/rotary-spec.schema.json and the library's reader accept the same specs."""

import copy
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from schemas import validator  # noqa: E402

VALIDATOR = validator("rotary-spec")
SCHEMA = VALIDATOR.schema
RULES = {
    name: rule for name, rule in validator("encodings").schema["$defs"].items()
    if "rope_type" in rule.get("properties", {})
}
# These rules need a rotary_dim of at least 4.
FOUR = ("ntk", "doubling_ntk", "dynamic", "ntk_by_parts", "retnet")
# Keys of lists, which may have too few entries.
LISTS = ("pairs", "bases", "short_factor", "long_factor", "inv_freq")
# Values of every JSON type, and numbers around every bound that the schema has.
VALUES = [
    None, True, False, "half", "interleaved", "exact", "transformers", "ggml",
    "vllm", "every_step", "table", "result", "double_angle", "8", "", [], {},
    -1, 0, 1, 2, 3, 0.5, 1.5, 7, 8.0,
    64, 2**20, 2**20 + 1, 2**20 + 2, -(2**63), 2**70, 1e300, 2.0**-21,
    [1], [1, "8"], [1.5, 2, 3, 4],
]


def read(specs):
    """The library's answers, as a list of (status, error)."""
    lines = "".join(json.dumps(spec) + "\n" for spec in specs)
    done = subprocess.run(
        [os.environ["ROTARY_SPEC_READER"]], input=lines, capture_output=True, text=True, check=True
    )
    return [tuple(line.split(": ", 1)) for line in done.stdout.splitlines()]


def example(rule):
    """A minimal spec with this rule."""
    def value_of(form):
        if form.get("type") == "array":
            return [value_of(form["items"])] * 4
        return form.get("const", min(2, form.get("maximum", 2)))

    scaling = {key: value_of(rule["properties"][key]) for key in rule["required"]}
    return {"head_dim": 8, "base": 10000, "pairing": "half", "scaling": scaling}


EXAMPLES = SCHEMA["examples"] + [example(rule) for rule in RULES.values()]


def changed(spec, path, key, value):
    result = copy.deepcopy(spec)
    (result[path] if path else result)[key] = value
    return result


def without(spec, path, key):
    result = copy.deepcopy(spec)
    del (result[path] if path else result)[key]
    return result


def schema_of(spec, path):
    if path == "scaling":
        return RULES[spec["scaling"]["rope_type"]]
    return SCHEMA["properties"][path] if path else SCHEMA


@functools.cache
def accepted(key):
    """The VALUES that the schema accepts for a key of a spec."""
    property_ = VALIDATOR.evolve(schema=SCHEMA["properties"].get(key, False))
    return [value for value in VALUES if property_.is_valid(value)]


def variants(spec):
    """Yields (spec, key, value) for each change of one key: removed (value None), added, or set to
    another value. Values that a key never takes are tried only with the schema's examples, not with
    each rule."""
    of_rule = spec not in SCHEMA["examples"]
    for path in ["", *(path for path in ("scaling", "xpos", "axes") if path in spec)]:
        present = spec[path] if path else spec
        properties = schema_of(spec, path)["properties"]
        for key in present:
            yield without(spec, path, key), key, None
        for key in [*properties, "unknown", "rope_theta", "type"]:
            for value in accepted(key) if of_rule and not path else VALUES:
                yield changed(spec, path, key, value), key, value


def fits(axes, spec, rotary_dim):
    """Whether the lists of `axes` have one entry per axis and fit the rest of the spec."""
    count = len(axes["pairs"])
    lists = [axes[key] for key in ("order", "bases", "scales") if key in axes]
    alone = count == 1
    return (
        2 * sum(axes["pairs"]) == rotary_dim
        and all(len(each) == count for each in lists)
        and sorted(axes.get("order", range(count))) == list(range(count))
        and ("bases" not in axes or axes["exponents"] == "own")
        and (axes.get("arrangement", "blocks") == "blocks" or alone)
        and (axes["exponents"] != "in_turn" or len(set(axes["pairs"])) == 1)
        and (alone or ("xpos" not in spec and spec.get("numerics") != "ggml"))
        and ("scales" not in axes or spec.get("numerics", "exact") == "exact")
        and "scaling" not in spec
    )


def related(spec):
    """Whether the values fit one another, which a schema cannot express."""
    first = spec.get("first_feature", 0)
    rotary_dim = spec.get("rotary_dim", spec["head_dim"] - first)
    scaling = spec.get("scaling", {})
    fast = scaling.get("beta_fast", 0) or 32
    slow = scaling.get("beta_slow", 0) or 1
    return (
        2 <= rotary_dim <= spec["head_dim"] - first
        and rotary_dim % 2 == 0
        and ("axes" not in spec or fits(spec["axes"], spec, rotary_dim))
        and rotary_dim // 2 % spec.get("blocks", 1) == 0
        and (spec.get("blocks", 1) == 1 or spec["pairing"] == "half")
        and (scaling.get("rope_type") not in FOUR or rotary_dim >= 4)
        and fast >= slow
        and 2 * scaling.get("clipped_pairs", 1) <= rotary_dim
        and all(2 * len(each) == rotary_dim for each in scaling.values() if isinstance(each, list))
        and scaling.get("high_freq_factor", 1) >= scaling.get("low_freq_factor", 1)
    )


def extreme(spec):
    """Whether a number is so extreme that frequencies or attention factors may be impossible."""
    numbers = [spec["base"], *spec.get("scaling", {}).values()]
    return any(isinstance(n, float) and (n > 1e100 or 0 < abs(n) < 1e-6) for n in numbers)


class SchemaTest(unittest.TestCase):
    def test_schema_and_reader_accept_the_examples(self):
        for spec, answer in zip(EXAMPLES, read(EXAMPLES)):
            VALIDATOR.validate(spec)
            self.assertEqual(answer, ("ok", ""), spec)

    def test_schema_and_reader_accept_the_same_variants(self):
        """A missing key, an unknown key and a value of another type are malformed input. The error
        names the key, and what it got or accepts."""
        changes = [change for spec in EXAMPLES for change in variants(spec)]
        taken = 0
        answers = read([spec for spec, _, _ in changes])
        for (spec, key, value), (status, error) in zip(changes, answers):
            valid = VALIDATOR.is_valid(spec)
            if valid and (not related(spec) or extreme(spec)):
                continue
            self.assertEqual(valid, status == "ok", f"{json.dumps(spec)}: {status}: {error}")
            taken += valid
            if status == "malformed_input":
                self.assertRegex(error, rf"\b{key}\b.*(got|accepts|given)", json.dumps(spec))
            elif not valid and key not in LISTS and type(value) not in (int, float):
                self.assertEqual(status, "unsupported", json.dumps(spec))
        self.assertGreater(taken, 100)

    def test_schema_and_reader_know_the_same_keys(self):
        spec = EXAMPLES[0]
        lists = [
            (changed(spec, "", "no_such_key", 1), SCHEMA),
            (changed(spec, "", "xpos", {"no_such_key": 1}), SCHEMA["properties"]["xpos"]),
            (changed(spec, "", "axes", {"no_such_key": 1}), SCHEMA["properties"]["axes"]),
        ]
        for name, rule in RULES.items():
            scaling = {"rope_type": name, "no_such_key": 1}
            lists.append((changed(spec, "", "scaling", scaling), rule))
        for (_, schema), (_, error) in zip(lists, read([spec for spec, _ in lists])):
            named = re.search(r"which accepts ([a-z0-9_, ]+)", error)[1].split(", ")
            self.assertEqual(set(named), set(schema["properties"]), error)

    def test_schema_and_reader_know_the_same_rules(self):
        ((_, error),) = read([changed(EXAMPLES[0], "", "scaling", {"rope_type": "?"})])
        named = re.search(r"must be one of ([a-z0-9_, ]+);", error)[1].split(", ")
        self.assertEqual(set(named), set(RULES))


if __name__ == "__main__":
    unittest.main()
