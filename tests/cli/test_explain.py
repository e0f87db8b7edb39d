# SPDX-License-Identifier: Apache-2.0
"""The worked example, against numbers computed here with Python's math in double."""

import math

from tool import ToolTest


def expected(values, position, pairing, base, exponent_step):
    d = len(values)
    result = [0.0] * d
    for i in range(d // 2):
        halves, neighbours = (i, i + d // 2), (2 * i, 2 * i + 1)
        x, y = halves if pairing == "half" else neighbours
        to_x, to_y = neighbours if pairing == "interleaved" else halves
        angle = position * base ** (-exponent_step * i / d)
        result[to_x] = values[x] * math.cos(angle) - values[y] * math.sin(angle)
        result[to_y] = values[x] * math.sin(angle) + values[y] * math.cos(angle)
    return result


class ExplainTest(ToolTest):
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

    def test_the_example_of_the_documents(self):
        text = self.run_ok(*self.explain([0.5, -1, 1.5, 2], 3, "interleaved"))
        self.assertIn("Result   [-0.353876, 1.060553, 1.439334, 2.044093]\n", text)
        self.assertIn("Norm     2.738613 before, 2.738613 after", text)
        self.assertIn("[-0.353876, 1.060553, 0.841964, 2.353953]", text)
        for step in range(1, 6):
            self.assertRegex(text, rf"(?m)^{step}  \w")
        half = self.run_ok(*self.explain([0.5, -1, 1.5, 2], 3, "half"))
        self.assertIn("[-0.706676, -1.059541, -1.414429, 1.969105]", half)

    def test_other_values(self):
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

    def test_positions_beyond_double(self):
        document = self.run_json("explain", *self.explain([1.0, 0.0], 2**62 + 1, "half"))
        self.assertEqual(document["position"], 2**62 + 1)
        self.assertAlmostEqual(document["result"][0], document["library_result_f32"][0], 6)

    def test_what_is_refused(self):
        cases = [
            (["1,2,3", "0", "half"], "even count"),
            (["1,x", "0", "half"], "finite number, got 'x'"),
            (["1,nan", "0", "half"], "finite number, got 'nan'"),
            (["1,1e39", "0", "half"], "fit float32"),
            (["1,2", "1.5", "half"], "integer in [-2^63, 2^63), got '1.5'"),
            (["1,2", "9223372036854775808", "half"], "--position must be an integer"),
            (["1,2", "0", "both"], "interleaved_to_half, got 'both'"),
        ]
        for (values, position, pairing), part in cases:
            arguments = ["--values", values, "--position", position, "--pairing", pairing]
            self.assert_fails(2, [part], "explain", *arguments)
        for base in ["1", "0", "-5", "inf"]:
            arguments = self.explain([1.0, 2.0], 3, "half", "--base", base)
            self.assert_fails(2, ["base"], *arguments)
        self.assert_fails(2, ["--pairing"], "explain", "--values", "1,2", "--position", "3")
