# SPDX-License-Identifier: Apache-2.0
"""Compares the numbers of each topic with numbers that Python's math computes in double."""

import cmath
import math
import pathlib
import re

import numpy as np

from tool import LLAMA, PARTIAL, TWO_TYPES, YARN, ToolTest, rotated

THEORY = pathlib.Path(__file__).parents[2] / "docs/theory/rope.md"
PAIRINGS = ["half", "interleaved", "interleaved_to_half"]
EXAMPLE = [0.5, -1.0, 1.5, 2.0]
SIX = [0.25, -3.0, 7.5, 0.0, -0.125, 1e-3]


def order_of_half(d):
    return [*range(0, d, 2), *range(1, d, 2)]


def expected(values, position, pairing, base, exponent_step):
    head = np.array([[values]])
    result = rotated(head, [position], pairing == "half", base ** (exponent_step / 2)).ravel()
    kept = order_of_half(len(values)) if pairing == "interleaved_to_half" else slice(None)
    return result[kept].tolist()


class Numbers(ToolTest):
    def explain(self, values, position, pairing, *more):
        return (
            "explain",
            "--values", ",".join(map(repr, values)),
            "--position", position,
            "--pairing", pairing,
            *more,
        )

    def assert_close(self, got, wanted):
        self.assertEqual(len(got), len(wanted))
        for a, b in zip(got, wanted):
            self.assertAlmostEqual(a, b, delta=1e-12)


class RotationTest(Numbers):
    def test_the_text_has_five_steps(self):
        text = self.run_ok(*self.explain([0.5, -1, 1.5, 2], 3, "interleaved"))
        for step in range(1, 6):
            self.assertRegex(text, rf"(?m)^{step}  \w")

    def test_given_values_rotate_by_the_definition(self):
        cases = [
            ([1.0, 2.0], 1, "half", 10000.0),
            ([0.25, -3.0, 7.5, 0.0, -0.125, 1e-3], -17, "half", 500000.0),
            ([0.25, -3.0, 7.5, 0.0, -0.125, 1e-3], -17, "interleaved", 500000.0),
            ([0.25, -3.0, 7.5, 0.0, -0.125, 1e-3], -17, "interleaved_to_half", 500000.0),
            ([float(i) for i in range(64)], 1000, "interleaved", 10000.0),
        ]
        for values, position, pairing, base in cases:
            with self.subTest(pairing=pairing, position=position):
                arguments = self.explain(values, position, pairing, "--base", base)
                document = self.run_json("explain", *arguments)
                self.assertEqual(document["values"], values)
                self.assert_close(document["result"], expected(values, position, pairing, base, 2))
                self.assert_close(
                    document["result_of_exponent_i_over_d"],
                    expected(values, position, pairing, base, 1),
                )
                self.assertAlmostEqual(document["norm_before"], document["norm_after"], 10)
                for a, b in zip(document["library_result_f32"], document["result"]):
                    self.assertAlmostEqual(a, b, delta=1e-5)

    def test_positions_beyond_double_stay_exact(self):
        document = self.run_json("explain", *self.explain([1.0, 0.0], 2**62 + 1, "half"))
        self.assertEqual(document["position"], 2**62 + 1)
        self.assertAlmostEqual(document["result"][0], document["library_result_f32"][0], 6)

    def test_wrong_arguments_are_refused(self):
        cases = [
            (["1,2,3", "0", "half"], "even count"),
            (["1,x", "0", "half"], "finite number, got 'x'"),
            (["1,nan", "0", "half"], "finite number, got 'nan'"),
            (["1,1e39", "0", "half"], "fit float32"),
        ]
        for (values, position, pairing), part in cases:
            arguments = ["--values", values, "--position", position, "--pairing", pairing]
            self.assert_fails(2, [part], "explain", *arguments)
        for base in ["1", "0", "-5", "inf"]:
            arguments = self.explain([1.0, 2.0], 3, "half", "--base", base)
            self.assert_fails(2, ["base"], *arguments)
        self.assert_fails(2, ["--pairing"], "explain", "--values", "1,2", "--position", "3")
        self.assert_fails(2, ["explain rotation needs a CONFIG, or numbers"], "explain", "--values",
                          "1,2")

    def test_a_config_sets_the_width_and_the_scaling_rule(self):
        head = [math.sin(i + 1) for i in range(32)]
        name = self.write_config(PARTIAL)
        document = self.run_json(
            "explain", "explain", name, "--position", 7, "--values", ",".join(map(repr, head))
        )
        self.assertEqual(document["topic"], "rotation")
        self.assertEqual(document["rotary_dim"], 8)
        self.assert_close(document["result"], expected(head[:8], 7, "half", 1e4, 2) + head[8:])
        document = self.run_json("explain", "explain", self.write_config(YARN), "--position", 7)
        factor = 0.1 * math.log(4) + 1
        self.assertEqual(document["values"], EXAMPLE * 4)
        self.assertAlmostEqual(document["norm_after"] / document["norm_before"], factor, 12)
        self.assertNotIn("result_of_exponent_i_over_d", document)
        self.assertEqual(document["rope_type"], "yarn")

    def test_topics_refuse_arguments_that_they_do_not_take(self):
        two = self.write_config(TWO_TYPES, "two.json")
        cases = [
            (4, "nor is it a topic: rotation, forms", ["form"]),
            (4, "nor is it a topic", ["keys", self.config]),
            (2, "CONFIG is for", ["example", self.config]),
            (2, "--values is for", ["example", "--values", "1,2"]),
            (2, "--key-values is for", ["forms", "--key-values", "1,2,3,4"]),
            (2, "--key-position is for", ["--key-position", 1]),
            (2, "--base is for", ["forms", self.config, "--base", 5]),
            (2, "--set is for", ["forms", "--set", "rope_theta=5"]),
            (2, "--context is for", ["derivation", "--context", 5]),
            (2, "--layer-type is for", [self.config, "--layer-type", "full_attention"]),
            (2, "--pairing is required", ["forms", "--values", "1,2"]),
            (2, "16 features of a head, got 2", ["forms", self.config, "--values", "1,2"]),
            (2, "as many numbers as the query, 4, got 2", ["relative", "--key-values", "1,2"]),
            (2, "[-2^62, 2^62]", ["relative", "--position", 2**62 + 1]),
            (2, "[-2^62, 2^62]", ["relative", "--position", -(2**62)]),
            (2, "got none", ["derivation", "--values", "1,2,0,0", "--key-values", "0,0,1,2",
                             "--pairing", "interleaved"]),
            (2, "--layer-type", ["forms", two]),
        ]
        for code, part, arguments in cases:
            with self.subTest(arguments=arguments):
                self.assert_fails(code, [part], "explain", *arguments)
        self.run_ok("explain", "forms", two, "--layer-type", "full_attention")


class FormsTest(Numbers):
    def forms(self, values, position, pairing):
        arguments = self.explain(values, position, pairing)
        return self.run_json("explain", "explain", "forms", *arguments[1:])

    def test_all_forms_equal_the_rotation(self):
        for values in [[1.0, -2.0], SIX, [math.cos(i) for i in range(64)]]:
            for pairing in PAIRINGS:
                document = self.forms(values, -17, pairing)
                wanted = expected(values, -17, pairing, 1e4, 2)
                names = [form["name"] for form in document["forms"]]
                self.assertEqual(names, ["matrix", "complex", "element-wise", "rotate_half"])
                for form in document["forms"]:
                    self.assert_close(form["result"], wanted)
                for a, b in zip(document["library_result_f32"], wanted):
                    self.assertAlmostEqual(a, b, delta=1e-5)
                self.assertLessEqual(document["library_deviation"], document["library_bound"])

    def test_the_rotation_by_the_other_pairing_is_shown(self):
        for pairing, other in zip(PAIRINGS, ["interleaved", "half", "half"]):
            document = self.forms(SIX, 5, pairing)["other_pairing"]
            self.assertEqual(document["pairing"], other)
            self.assert_close(document["result"], expected(SIX, 5, other, 1e4, 2))
            self.assertGreater(document["largest_difference"], 1)
            order = document["order_of_half"]
            self.assertEqual(order, order_of_half(6))
        permuted = [SIX[i] for i in order]
        interleaved = self.forms(SIX, 5, "interleaved")["forms"][0]["result"]
        half = self.forms(permuted, 5, "half")["forms"][0]["result"]
        self.assert_close(half, [interleaved[i] for i in order])
        one_pair = self.forms([1.0, 2.0], 5, "half")["other_pairing"]
        self.assertEqual(one_pair["largest_difference"], 0)

    def test_a_matrix_is_printed_only_for_small_heads(self):
        text = self.run_ok("explain", "forms")
        self.assertIn("| -0.989992 -0.141120  0.000000  0.000000 |", text)
        text = self.run_ok("explain", "forms", self.write_config(LLAMA))
        self.assertIn("16 x 16 entries", text)

    def test_numerics_of_transformers_have_no_bound(self):
        document = self.run_json(
            "explain", "explain", "forms", self.write_config(LLAMA), "--numerics", "transformers"
        )
        self.assertIsNone(document["library_bound"])

    def test_only_rotated_features_are_shown(self):
        document = self.run_json("explain", "explain", "forms", self.write_config(PARTIAL))
        self.assertEqual(len(document["forms"][0]["result"]), 8)
        self.assert_close(
            document["forms"][3]["result"], expected(EXAMPLE * 2, 3, "half", 1e4, 2)
        )


class DerivationTest(ToolTest):
    def derivation(self, *arguments):
        return self.run_json("explain", "explain", "derivation", *arguments)

    def test_the_steps_of_the_example_have_the_derived_numbers(self):
        steps = {step["number"]: step for step in self.derivation()["steps"]}
        headings = re.findall(r"(?m)^### (\d+)\. ", THEORY.read_text())
        self.assertEqual(list(steps), [int(number) for number in headings][:12])
        values = {
            number: [each["value"] for each in step["values"]] for number, step in steps.items()
        }
        counter = {
            number: [each["value"] for each in step["counterexample"]["values"]]
            for number, step in steps.items()
            if "counterexample" in step
        }
        q, k = complex(0.5, -1), complex(2, 1.5)
        lengths = abs(q) * abs(k)
        score = (q * k.conjugate() * cmath.exp(2j)).real
        wanted = {
            1: [(q * k.conjugate()).real] * 2,
            3: [lengths] * 3,
            4: [3.0] * 2,
            5: [1.0] * 4,
            6: [-0.35387624, 1.06055250] * 2,
            7: [score] * 5,
            8: [2.26373767] * 3,
            9: [0.0],
            10: [0.0],
            11: [math.sqrt(7.5)] * 2 + [1.0] * 2,
            12: [1.0, 2 * math.pi, 0.01, 200 * math.pi],
        }
        for number, numbers in wanted.items():
            for got, number_wanted in zip(values[number], numbers, strict=True):
                self.assertAlmostEqual(got, number_wanted, 7, number)
        self.assertAlmostEqual(values[2][2], values[2][3])
        self.assertAlmostEqual(counter[1][0], (q * k).real)
        self.assertAlmostEqual(counter[3][0], lengths * 1.01**20)
        self.assertAlmostEqual(counter[4][1], (q * k.conjugate() * cmath.exp(1j)).real)
        for got, angle in zip(counter[5], [1, 3, 5], strict=True):
            self.assertAlmostEqual(got, (q * k.conjugate() * cmath.exp(angle * 1j)).real)
        for got, m in zip(counter[7], [3, 4, 1003, 1000003], strict=True):
            added = (q + cmath.exp(m * 1j)) * (k + cmath.exp((m - 2) * 1j)).conjugate()
            self.assertAlmostEqual(got, added.real)
        self.assertAlmostEqual(counter[12][0], 20 * math.pi)

    def test_an_attention_factor_scales_the_norm(self):
        document = self.derivation(self.write_config(YARN), "--position", -1000)
        steps = {step["number"]: step for step in document["steps"]}
        factor = 0.1 * math.log(4) + 1
        self.assertAlmostEqual(steps[11]["values"][2]["value"], factor)
        before, after = (each["value"] for each in steps[11]["values"][:2])
        self.assertAlmostEqual(after, factor * before)
        slowest = self.run_json("inspect", "inspect", "config.json")["rotary"][0]["inv_freq"][-1]
        self.assertEqual(steps[12]["values"][2]["value"], slowest)

    def test_the_derivation_holds_for_extreme_numbers_in_every_pairing(self):
        for pairing in PAIRINGS:
            for values in ["1e30,-1e30,1e-30,3", "0,1,1,2"]:
                for position in [-(2**61), 0, 2**61]:
                    document = self.derivation(
                        "--values", values, "--position", position, "--pairing", pairing
                    )
                    self.assertEqual(len(document["steps"]), 12)


class RelativeTest(ToolTest):
    def test_equal_distances_have_equal_scores(self):
        key = [1.0, 0.0, -2.0, 0.25, 3.0, 0.5]
        for pairing in PAIRINGS:
            document = self.run_json(
                "explain", "explain", "relative",
                "--values", ",".join(map(repr, SIX)), "--key-values", ",".join(map(repr, key)),
                "--position", 5, "--key-position", -6, "--pairing", pairing, "--base", 500,
            )
            at = lambda x, position: expected(x, position, pairing, 500, 2)
            wanted = np.dot(at(SIX, 11), at(key, 0))
            rows = document["same_distance"]
            self.assertEqual(rows[-1]["query_position"], 2**40 + 5)
            for row in rows:
                self.assertEqual(row["query_position"] - row["key_position"], 11)
                self.assertAlmostEqual(row["score"], wanted, 11)
                self.assertAlmostEqual(row["library_score_f32"], wanted, delta=2e-5)
            distances = [
                row["query_position"] - row["key_position"] for row in document["other_distances"]
            ]
            self.assertEqual(distances, [0, 1, 2, 3, 5, 10, 20, 50, 100, 500, 1000, 10000])
            for row, distance in zip(document["other_distances"], distances):
                self.assertAlmostEqual(row["score"], np.dot(at(SIX, distance), at(key, 0)), 10)
            self.assertAlmostEqual(document["score_without_positions"], np.dot(SIX, key))
            for norms, x in [("query_norms", SIX), ("key_norms", key)]:
                for norm in document[norms]:
                    self.assertAlmostEqual(norm, math.sqrt(np.dot(x, x)))


class MistakesTest(Numbers):
    def mistakes(self, *arguments):
        document = self.run_json("explain", "explain", "mistakes", *arguments)
        return document, {each["name"]: each for each in document["mistakes"]}

    def test_the_width_in_the_exponent_is_the_configs_hidden_size(self):
        """D is the config's hidden size, which may differ from heads times features."""
        config = self.write_config(LLAMA | {"head_dim": 32})
        for arguments, width in (([config], "D = 64, the model's width"),
                                 ([config, "--set", "hidden_size=96"], "D = 96, the model's width"),
                                 ([], "D = 4096; the width is unknown")):
            document, mistakes = self.mistakes(*arguments)
            self.assertEqual(mistakes["model_width_for_d"]["what"], f"exponent 2i/D, {width}")
            x = document["values"]
            frequency = 1e4 ** (-2 / int(width.split()[2].rstrip(",;")))  # of pair 1
            first, second = (1, 17) if arguments else (2, 3)
            turned = 3 * frequency
            self.assertAlmostEqual(mistakes["model_width_for_d"]["result"][first],
                                   x[first] * math.cos(turned) - x[second] * math.sin(turned))
        one_head = self.write_config(LLAMA | {"num_attention_heads": 1})
        self.assertNotIn("model_width_for_d", self.mistakes(one_head)[1])

    def test_each_mistake_is_judged_by_three_properties(self):
        document, mistakes = self.mistakes()
        checks = ["norm_kept", "same_distance_same_score", "distance_seen"]
        found = {name: tuple(each[check] for check in checks) for name, each in mistakes.items()}
        yes = (True, True, True)
        self.assertEqual(found, {
            "exponent_i_over_d": yes, "pairs_from_1": yes, "model_width_for_d": yes,
            "other_pairing": yes, "other_sense": yes, "positions_from_1": yes,
            "positions_in_bf16": (True, False, True), "head_index": (True, True, False),
            "query_alone": (True, False, False), "other_base_for_keys": (True, False, True),
            "last_pair_misprinted": (False, False, True),
        })
        self.assertEqual(tuple(document["right"][check] for check in checks), yes)
        right = document["right"]["result"]
        self.assert_close(right, expected(EXAMPLE, 3, "interleaved", 1e4, 2))
        self.assert_close(
            mistakes["exponent_i_over_d"]["result"], expected(EXAMPLE, 3, "interleaved", 1e4, 1)
        )
        self.assert_close(mistakes["other_pairing"]["result"], expected(EXAMPLE, 3, "half", 1e4, 2))
        self.assert_close(
            mistakes["other_sense"]["result"], expected(EXAMPLE, -3, "interleaved", 1e4, 2)
        )
        self.assert_close(
            mistakes["positions_from_1"]["result"], expected(EXAMPLE, 4, "interleaved", 1e4, 2)
        )
        self.assertAlmostEqual(mistakes["last_pair_misprinted"]["result_norm"] ** 2, 7.605, 3)
        for each in mistakes.values():
            wanted = max(abs(a - b) for a, b in zip(each["result"], right))
            self.assertEqual(each["largest_difference"], wanted)
            self.assertEqual(len(each["scores_at_same_distance"]), len(document["shifts"]))

    def test_mistakes_of_scaled_frequencies_include_ignored_scaling(self):
        _, mistakes = self.mistakes(self.write_config(YARN), "--position", 100)
        self.assertNotIn("exponent_i_over_d", mistakes)
        self.assertNotIn("last_pair_misprinted", mistakes)
        self.assert_close(
            mistakes["scaling_ignored"]["result"], expected(EXAMPLE * 4, 100, "half", 1e4, 2)
        )
        self.assertFalse(mistakes["scaling_ignored"]["norm_kept"])


class PrintedExampleTest(Numbers):
    def test_the_example_is_shown_as_printed_and_corrected(self):
        document = self.run_json("explain", "explain", "example")
        rows = {row["name"]: row for row in document["four"]["rows"]}
        wanted = {
            "as_printed": [-0.355, 1.06, 0.84, 2.37],
            "exponent_i_over_d": [-0.353876, 1.060553, 0.841964, 2.353953],
            "interleaved": [-0.353876, 1.060553, 1.439334, 2.044093],
            "half": [-0.706676, -1.059541, -1.414429, 1.969105],
        }
        self.assertEqual(list(rows), list(wanted))
        for name, numbers in wanted.items():
            for got, number in zip(rows[name]["result"], numbers, strict=True):
                self.assertAlmostEqual(got, number, delta=5e-7)
        self.assertAlmostEqual(rows["as_printed"]["norm_squared"], 7.572, 3)
        for name in list(wanted)[1:]:
            self.assertAlmostEqual(rows[name]["norm_squared"], 7.5, 12)
        eight = document["eight"]
        for row in eight["rows"]:
            self.assert_close(row["result"], expected(eight["values"], 3, row["pairing"], 1e4, 2))


class WidthTest(ToolTest):
    def test_lines_are_at_most_100_columns(self):
        config = self.write_config(YARN)
        numbers = ["--position", "123456", "--values", ",".join(["-1.2345678"] * 16)]
        topics = [["example"], ["mistakes"], ["derivation"], [config], ["forms", config, *numbers],
                  ["relative", config, *numbers], ["derivation", config, *numbers],
                  [config, *numbers]]
        for arguments in topics:
            for line in self.run_ok("explain", *arguments).splitlines():
                self.assertLessEqual(len(line), 100, line)
