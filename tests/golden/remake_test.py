#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the parts of conformance/golden that need no network and no torch. They cut definitions out
of a module, read configs of a release, compare numbers, and write tables of releases.

Usage: remake_test.py FOLDER_OF_GOLDEN
"""

import contextlib
import hashlib
import io
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock
import zipfile

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv.pop(1))

import compare  # noqa: E402
import history_cases  # noqa: E402
import history_table  # noqa: E402
import wheels  # noqa: E402
from definitions import Stub, load_definitions  # noqa: E402
from evidence import cells  # noqa: E402
from release import Release  # noqa: E402

MODELING = """
import math
from functools import wraps

from torch import nn

from ...activations import ACT2FN
from ...modeling_rope_utils import ROPE_INIT_FUNCTIONS
from ...utils import auto_docstring, is_torch_available, logging
from .configuration_toy import ToyConfig

if is_torch_available():
    import torch

logger = logging.get_logger(__name__)
SCALE: float = math.sqrt(4)
GENERATIONS = ACT2FN["missing at import, and never executed"]


def doubled(x: torch.Tensor) -> "torch.Tensor":
    return SCALE * x


@auto_docstring("documents")
class ToyRotaryEmbedding(nn.Module):
    def __init__(self, config: ToyConfig):
        self.rope = ROPE_INIT_FUNCTIONS["linear"](config)

    @staticmethod
    @auto_docstring
    def turned(x: NotImported | None = None):
        logger.warning_once("an older way")
        return doubled(x)


def undecided(flag):
    return 1 if is_torch_available(flag) else 2
"""

ROPE_UTILS = """
def _linear(config):
    config.standardize_rope_params()
    return config.rope_parameters["rope_theta"], config.rope_parameters["factor"]

ROPE_INIT_FUNCTIONS = {"linear": _linear}

class RotaryEmbeddingConfigMixin:
    default_theta = 10000.0

    def convert_rope_params_to_dict(self, **kwargs):
        self.rope_parameters = kwargs.pop("rope_scaling", None) or self.rope_parameters
        self.rope_parameters["rope_theta"] = kwargs.pop("rope_theta", self.default_theta)
        return kwargs

    def standardize_rope_params(self):
        self.rope_parameters.setdefault("rope_type", "default")
"""

CONFIGURATION = """
from ...configuration_utils import PreTrainedConfig

@strict
class ToyConfig(PreTrainedConfig):
    model_type = "toy"
    sub_configs = {"vision": MissingConfig}
    default_theta = 5.0
    hidden_size: int = 12
    rope_parameters: dict | None = None

    def __post_init__(self, **kwargs):
        kwargs.setdefault("partial_rotary_factor", 0.25)
        raise AssertionError("is not about rope parameters")
"""


class Module:
    pass


GIVEN = {"nn": types.SimpleNamespace(Module=Module)}


def toy_release(folder):
    path = pathlib.Path(folder, "toy.whl")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("transformers/modeling_rope_utils.py", ROPE_UTILS)
        archive.writestr("transformers/models/toy/modeling_toy.py", MODELING)
        archive.writestr("transformers/models/toy/configuration_toy.py", CONFIGURATION)
    return Release("1.0", path, GIVEN)


class DefinitionsTest(unittest.TestCase):
    def load(self, *names):
        return load_definitions(MODELING, names, GIVEN)

    def test_definitions_and_their_dependencies_are_cut_out(self):
        scope = self.load("ToyRotaryEmbedding")
        self.assertEqual(scope["ToyRotaryEmbedding"].turned(3), 6)
        self.assertTrue(issubclass(scope["ToyRotaryEmbedding"], Module))
        self.assertNotIn("undecided", scope)
        self.assertNotIn("GENERATIONS", scope)

    def test_using_the_result_of_a_stub_fails(self):
        with self.assertRaisesRegex(TypeError, "is_torch_available"):
            self.load("undecided")["undecided"](1)
        with self.assertRaises(TypeError):
            2 * Stub("factor")

    def test_an_undefined_name_is_refused(self):
        with self.assertRaisesRegex(NameError, "must define rotate_half"):
            self.load("rotate_half")

    def test_a_class_reads_the_config_of_its_release(self):
        with tempfile.TemporaryDirectory() as folder:
            release = toy_release(folder)
            values = {"hidden_size": 8, "rope_scaling": {"factor": 4}, "vocab_size": 7}
            config = release.config("toy", values)
            self.assertEqual((config.hidden_size, config.vocab_size), (8, 7))
            self.assertEqual(config.partial_rotary_factor, 0.25)
            self.assertEqual(config.rope_parameters, {"factor": 4, "rope_theta": 5.0})
            self.assertEqual(values["rope_scaling"], {"factor": 4})
            code = release.model("toy", "ToyRotaryEmbedding")
            self.assertEqual(code.ToyRotaryEmbedding(config).rope, (5.0, 4))


def numbers(wanted, got, bound, dtype="float32"):
    return compare.Numbers("q_out", np.array(wanted), np.array(got), dtype, np.array(bound))


class CompareTest(unittest.TestCase):
    def text(self, *arguments):
        return compare.judge([numbers(*arguments)]).text()

    def test_identical_bits_agree(self):
        self.assertEqual(self.text([1.0, np.float32(0.1)], [1.0, np.float32(0.1)], 0.0),
                         "identical bits, 2 numbers")

    def test_only_a_difference_beyond_the_bound_is_a_change(self):
        next_one = float(np.nextafter(np.float32(1), np.float32(2)))
        self.assertIn("at most 1 ulp (q_out), 0.5 of what", self.text([1.0], [next_one], 2.0**-22))
        self.assertEqual(self.text([[1.0, 2.0]], [[1.0, 2.5]], 1e-3),
                         "CHANGED: q_out[0, 1] must be 2 ± 0.001, got 2.5")
        self.assertIn("and 1 more", self.text([1.0, 1.0], [2.0, 3.0], [0.5, 0.5]))

    def test_no_bound_allows_a_nan_or_another_shape(self):
        self.assertIn("CHANGED", self.text([1.0], [float("nan")], 1e9))
        self.assertIn("must have shape (2,), got (1,)", self.text([1.0, 2.0], [1.0], 1e9))

    def test_ulp_distances_follow_the_dtype(self):
        for dtype, step in (("float32", 2**-23), ("bfloat16", 2**-7), ("float16", 2**-10)):
            self.assertEqual(compare.ulp_distance([1.0], [1 + 3 * step], dtype), [3])
        self.assertEqual(compare.ulp_distance([1.0], [1 + 2**-52], "float64"), [1])
        self.assertEqual(compare.ulp_distance([-0.0], [0.0], "float32"), [1])
        smallest = 2.0**-149
        self.assertEqual(compare.ulp_distance([-smallest], [smallest], "float32"), [3])
        self.assertEqual(compare.ulp_distance([-1.0], [-1 - 2**-7], "bfloat16"), [1])

    def test_bounds_follow_position_frequency_and_norm(self):
        self.assertEqual(compare.table_bound(0, 1.0, 1.0), 2**-21)
        self.assertEqual(compare.table_bound(1000, 0.5, 2.0), 2 * 2**-21 + 4000 * 2**-23)
        self.assertEqual(compare.rotated_bound(2**-21, 3.0, 1.0, "float32"), 3 * 2**-21)
        self.assertEqual(compare.rotated_bound(0.0, 2.0, 1.5, "bfloat16"), 15 * 2**-7)


class WheelsTest(unittest.TestCase):
    def test_pins_have_a_default_and_sha256_digests(self):
        pins = wheels.pins()
        self.assertIn(pins["default"], pins["sha256"])
        for digest in pins["sha256"].values():
            self.assertRegex(digest, r"^[0-9a-f]{64}$")

    def test_an_unpinned_wheel_is_refused(self):
        version = wheels.pins()["default"]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            folder.joinpath(f"transformers-{version}-py3-none-any.whl").write_bytes(b"other")
            got = hashlib.sha256(b"other").hexdigest()
            with self.assertRaisesRegex(wheels.WheelError, f"must have SHA-256 .*got {got}"):
                wheels.wheel_of(version, folder)
            with self.assertRaisesRegex(wheels.WheelError, "must pin the release, got 0.0"):
                wheels.wheel_of("0.0", folder)


def observation(*inv_freq, factor=1.0):
    return types.SimpleNamespace(inv_freq=[np.array(values) for values in inv_freq],
                                 factor=factor, missing="")


class HistoryTest(unittest.TestCase):
    case = history_cases.Case("Title", "llama", {"rope_theta": 10000.0}, history_cases.slowed,
                              {"1.0": "as it began", "2.0": "as it is"})

    def test_slowed_pairs_lists_and_lengths_are_described(self):
        plain = history_cases.plain(self.case, 4)
        self.assertEqual(history_cases.slowed(self.case, observation(plain)),
                         "no pair of 4 slowed; A = 1")
        self.assertEqual(
            history_cases.slowed(self.case, observation(plain / [1, 2, 4, 4], factor=1.25)),
            "pairs 1 to 3 slowed, pair 1 2 times, the last 4 times; A = 1.25")
        self.assertEqual(history_cases.lists(self.case, observation(plain, plain / 8)),
                         "short, long; A = 1")
        dynamic = history_cases.Case("", "llama", {
            "rope_theta": 10000.0, "max_position_embeddings": 2048,
            "rope_scaling": {"factor": 4.0}}, history_cases.lengths, {})
        # At twice the trained length the base grows by 5^(d/(d - 2)), the slowest period by 5.
        self.assertEqual(history_cases.lengths(dynamic, observation(plain, plain / [1, 1, 1, 5])),
                         "2048, 4096")

    def test_periods_without_a_cause_and_causes_without_a_period_are_reported(self):
        found = [["1.0", "1.9", None], ["3.0", "3.0", None]]
        self.assertEqual(list(history_table.complaints_on(self.case, found)), [
            "Title: no cause is given for what begins with 3.0",
            "Title: nothing changes with 2.0, for which a cause is given"])

    def test_a_stale_document_is_reported_or_rewritten(self):
        plain = history_cases.plain(self.case, 4)
        histories = [(self.case, [["1.0", "1.9", observation(plain)],
                                  ["2.0", "2.0", observation(plain / [1, 1, 1, 2])]])]
        with tempfile.TemporaryDirectory() as name:
            document = pathlib.Path(name, "releases.txt")
            document.write_text("stale\n")
            self.assertEqual(self.compared(document, histories)[0], 1)
            self.assertEqual(self.compared(document, histories, write=True)[0], 0)
            self.assertIn("| 1.0 – 1.9 | no pair of 4 slowed; A = 1 | as it began |",
                          document.read_text())
            self.assertIn("1 tables", self.compared(document, histories)[1])
            document.write_text(document.read_text().replace("last 2 times", "last 3 times"))
            self.assertEqual(self.compared(document, histories)[0], 1)

    def test_the_document_ends_with_the_newest_pinned_release(self):
        text = history_table.DOCUMENT.read_text(encoding="utf-8")
        self.assertEqual(text.count(f" – {list(wheels.pins()['sha256'])[-1]} | "),
                         len(history_cases.CASES))

    def compared(self, document, histories, write=False):
        with unittest.mock.patch.object(history_table, "DOCUMENT", document), \
                contextlib.redirect_stdout(io.StringIO()) as output:
            return history_table.compare_with_document(histories, write), output.getvalue()


class CellsTest(unittest.TestCase):
    def test_the_field_tried_names_keys_in_the_order_of_the_config(self):
        model = cells.Model("llama", {})
        self.assertEqual([each["tried"] for each in cells.cases(model)
                          if each["cell"] == "parameters_flat:yarn"],
                         ["", "attention_factor, beta_fast, beta_slow", "mscale, mscale_all_dim",
                          "truncate"])


if __name__ == "__main__":
    unittest.main()
