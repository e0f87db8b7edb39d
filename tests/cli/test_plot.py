# SPDX-License-Identifier: Apache-2.0
"""Compares the numbers of figures with NumPy's, or with published or derived numbers."""

import json
import math

import numpy as np

from tool import LLAMA, ToolTest


def rope(head_dim, base=10000):
    return ["rope", "--set", f"head_dim={head_dim}", "--set", f"base={base}",
            "--set", "pairing=half"]


def inv_freq(dim, base=1e4):
    return base ** (-np.arange(0, dim, 2) / dim)


class PlotTest(ToolTest):
    def panels(self, *arguments):
        # EveryFigureTest checks the schema, which is slow for many numbers.
        return json.loads(self.run_ok("plot", *arguments, "--json"))["figure"]["panels"]

    def series(self, panel, name):
        (found,) = [s for s in panel["series"] if name in s["name"]]
        return np.array(found["x"]), np.array(found["y"])


class NumbersTest(PlotTest):
    def test_decay_equals_the_bound_of_roformers_figure_2(self):
        """The bound is B(r) = 2/d Σ_j |Σ_{i<j} e^{i r θ_i}|. The paper states neither d nor values;
        d = 128 and base 10000 fit its figure."""
        for dim, arguments in ((128, []), (64, rope(64)), (768, rope(768))):
            (panel,) = self.panels("decay", *arguments)
            [(r, bound)] = [(series["x"], series["y"]) for series in panel["series"]]
            self.assertEqual(r, list(range(257)))
            waves = np.exp(1j * np.outer(r, inv_freq(dim)))
            np.testing.assert_allclose(bound, np.abs(np.cumsum(waves, 1)).mean(1), atol=1e-11)

    def test_similarity_equals_the_mean_cosine(self):
        # crossing: the first distance at which a key that equals the query scores below 0.
        for dim, base, last, crossing in ((128, 1e4, 2000, 1707), (64, 1e4, 1000, 725),
                                          (128, 5e5, 20000, None)):
            near, _ = self.panels("similarity", *rope(dim, base), "--last", last)
            for name, of in (("head_dim", dim), ("d_model", 4096)):
                x, y = self.series(near, name)
                wanted = np.cos(np.outer(x, inv_freq(of, base))).mean(1)
                np.testing.assert_allclose(y, wanted, atol=1e-11)
            if crossing:
                x, y = self.series(near, "head_dim")
                self.assertEqual(x[np.argmax(y < 0)], crossing)

    def test_d_model_comes_from_the_config_or_option(self):
        wrapped = self.write_config({"model_type": "llava", "text_config": LLAMA}, "wrapped.json")
        (unsaid := LLAMA | {"head_dim": 16}).pop("hidden_size")
        unsaid = self.write_config(unsaid, "unsaid.json")
        for arguments, name in (([self.config], "d_model = 64 (config)"),
                                ([self.config, "--set", "hidden_size=96", "--set", "head_dim=16"],
                                 "d_model = 96 (config)"),
                                ([wrapped], "d_model = 64 (config)"),
                                (["llama-3.1-8b"], "d_model = 4096 (config)"),
                                (["gemma-3-4b", "--layer-type", "full_attention"],
                                 "d_model = 2560 (config)"),
                                ([self.config, "--dim", "32"], "d_model = 32 (--dim)"),
                                ([unsaid], "d_model = 4096 (assumed)"),
                                ([], "d_model = 4096 (assumed)")):
            for panel in self.panels("similarity", *arguments):
                (series,) = [s for s in panel["series"] if "d_model" in s["name"]]
                self.assertIn(name, series["name"])

    def test_a_chosen_key_peaks_at_150_and_random_keys_average_0(self):
        near = self.panels("similarity")[0]
        x, y = self.series(near, "peak")
        self.assertEqual(x[np.argmax(y)], 150)
        self.assertAlmostEqual(y.max(), 1, delta=1e-12)
        (band,) = [s for s in near["series"] if s["style"] == "band"]
        lower, upper = np.array(band["lower"]), np.array(band["y"])
        # At every distance random scores have a mean of 0 and a deviation of 1/√128.
        self.assertLess(np.abs(lower + upper).max() / 2, 5 / math.sqrt(128 * 100))
        np.testing.assert_allclose((upper - lower) / 2, 1 / math.sqrt(128), rtol=0.35)

    def test_the_reach_of_pairs_equals_their_cosines(self):
        alone, halves = self.panels("reach")
        for name, pairs in (("fast", slice(32)), ("slow", slice(32, 64))):
            x, y = self.series(halves, name)
            wanted = np.cos(np.outer(x, inv_freq(128)[pairs])).mean(1)
            np.testing.assert_allclose(y, wanted, atol=1e-11)
        self.assertEqual([s["name"] for s in alone["series"]],
                         [f"pair {pair}" for pair in (0, 16, 32, 48, 63)])
        for series, frequency in zip(alone["series"], inv_freq(128)[[0, 16, 32, 48, 63]]):
            # Each line ends after 1.25 turns, which the slowest pair just reaches.
            angles = np.array(series["x"]) * frequency
            drawn = np.array([y is not None for y in series["y"]])
            np.testing.assert_array_equal(drawn, angles <= 2.5 * np.pi)
            np.testing.assert_allclose(np.array(series["y"])[drawn].astype(float),
                                       np.cos(angles[drawn]), atol=1e-11)

    def test_clipped_scores_fall_steadily_only_for_equal_vectors(self):
        aligned, others = self.panels("clipped")
        x, y = self.series(aligned, "clipped")
        # Scores fall until the slowest pair reaches half a turn, at π/θ = 27205.2 for d = 128.
        self.assertTrue(np.all(np.diff(y[x <= 27206]) < 0))
        np.testing.assert_allclose(y[x >= 27206], -1, atol=1e-15)
        self.assertGreater(y[x < 27206][-1], -1)
        for series in others["series"]:
            steps = np.diff(series["y"])
            self.assertTrue(np.any(steps > 1e-9) and np.any(steps < -1e-9), series["name"])

    def test_the_smallest_base_of_a_context_keeps_sums_positive(self):
        (panel,) = self.panels("base")
        x, y = self.series(panel, "smallest base")
        # `known` is from NumPy in double for d = 128: the first base, in steps of 1 %, for which
        # Σ cos(m θ) is never negative below the context. At 1k, 2k and 8k some larger bases fail
        # again, so there the result depends on the grid.
        self.assertEqual(x[-1], 131072)
        for context, known in ((4096, 2.88e4), (16384, 2.34e5), (32768, 6.3e5), (131072, 9.2e6)):
            self.assertAlmostEqual(y[x < context][-1] / known, 1, delta=0.02)
        for until, base in zip(x[1:], y):
            if until > 2048:
                break
            sums = np.cos(np.outer(np.arange(until + 1), inv_freq(128, base))).sum(1)
            self.assertGreater(sums[:-1].min(), -1e-4, base)
            self.assertLess(sums[-1], 1e-4, base)

    def test_a_config_is_a_point_in_the_figure_of_bases(self):
        (panel,) = self.panels("base", self.config, "--last", 512)
        x, y = self.series(panel, self.config)
        self.assertEqual((x.tolist(), y.tolist()), ([2048], [10000]))

    def test_the_figure_of_bases_reaches_the_longest_context(self):
        config = self.write_config(LLAMA | {"max_position_embeddings": 140000, "head_dim": 128})
        (panel,) = self.panels("base", config)
        self.assertEqual(self.series(panel, "smallest base")[0][-1], 140000)
        (panel,) = self.panels("base", *rope(1024))
        self.assertEqual(self.series(panel, "smallest base")[0][-1], 32768)

    def test_errors_of_numerics_are_within_known_ranges(self):
        (panel,) = self.panels("numerics")
        x, exact = self.series(panel, "exact")
        # cos and sin are each rounded once to float32.
        self.assertLess(exact.max(), math.sqrt(2) * 2**-25)
        at = np.flatnonzero(x == 100000)[0]
        # At 10^5 with d = 128, pow and product in float32 err by 5.2e-3 to 6.9e-3, depending on the
        # order of operations. ggml's running product errs by 9.8e-3.
        self.assertTrue(4e-3 < self.series(panel, "transformers, float32")[1][at] < 8e-3)
        self.assertTrue(8e-3 < self.series(panel, "ggml")[1][at] < 1.1e-2)
        bf16 = self.series(panel, "bfloat16")[1]
        self.assertTrue(np.all((bf16[x < 1e4] > 1e-3) & (bf16[x < 1e4] < math.sqrt(2) * 2**-9)))

    def test_wavelengths_equal_their_formula(self):
        for dim, longest in ((64, 47117), (128, 54410), (256, 58470)):
            (panel,) = self.panels("wavelengths", *rope(dim))
            y = np.array(panel["series"][0]["y"])
            np.testing.assert_allclose(y, 2 * np.pi / inv_freq(dim), rtol=1e-13)
            self.assertAlmostEqual(y[-1], longest, delta=1)

    def test_contexts_are_marked_among_wavelengths(self):
        (panel,) = self.panels("wavelengths", self.config, self.config, "--context", 1024)
        self.assertEqual([(m["direction"], m["at"]) for m in panel["marks"]],
                         [("horizontal", 1024), ("horizontal", 2048)])

    def test_the_ramp_of_yarns_code_is_from_pair_20_to_46(self):
        lengths, ramps = self.panels("scaling")
        pairs, code = self.series(ramps, "in code")
        paper = self.series(ramps, "in the paper")[1]
        np.testing.assert_allclose(code, np.clip((46 - pairs) / 26, 0, 1), atol=1e-12)
        self.assertEqual(np.argmax(np.abs(code - paper)), 30)
        self.assertAlmostEqual(np.abs(code - paper).max(), 0.367, delta=5e-4)
        _, ntk = self.series(lengths, "NTK")
        np.testing.assert_allclose(ntk, 8 ** (np.arange(64) / 63), rtol=1e-12)
        np.testing.assert_allclose(self.series(lengths, "linear")[1], 8, rtol=1e-15)

    def test_the_ramp_of_llama_3_1_is_from_pair_29_to_34(self):
        lengths, ramps = self.panels("scaling", "llama-3.1-8b")
        (times,), (share,) = ([s["y"] for s in p["series"]] for p in (lengths, ramps))
        np.testing.assert_allclose(times[:29], 1, rtol=1e-12)
        np.testing.assert_allclose(times[35:], 8, rtol=1e-12)
        self.assertTrue(all(0 < y < 1 for y in share[29:35]))

    def test_tables_equal_their_formulas(self):
        sinusoidal, learned, rotary = self.panels("tables", "--last", 9, "--dim", 6)
        angles = np.outer(np.arange(10), inv_freq(6))
        wanted = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(10, 6)
        np.testing.assert_allclose(sinusoidal["map"]["values"], wanted, atol=1e-14)
        angles = np.outer(np.arange(10), inv_freq(64))
        np.testing.assert_allclose(rotary["map"]["values"],
                                   np.hstack([np.cos(angles), np.sin(angles)]), atol=1e-14)
        self.assertEqual(np.shape(learned["map"]["values"]), (10, 6))

    def test_a_learned_table_is_read_from_a_file(self):
        table = np.arange(6, dtype=np.float32).reshape(3, 2) - 4
        np.save(self.path / "wpe.npy", table)
        learned = self.panels("tables", "--table", "wpe.npy")[1]["map"]
        self.assertEqual(learned["values"], table.tolist())
        self.assertEqual((learned["lowest"], learned["highest"]), (-4, 4))

    def test_shaws_window_clips_distances(self):
        matrix, steps = self.panels("shaw", "--dim", 2, "--last", 5)
        self.assertEqual(steps["series"][0]["y"], [0, 0, 0, 0, 1, 2, 3, 4, 4, 4, 4])
        key, query = np.meshgrid(range(6), range(6))
        np.testing.assert_array_equal(matrix["map"]["values"], np.clip(key - query, -2, 2) + 2)

    def test_t5s_last_buckets_begin_at_113_and_91(self):
        (panel,) = self.panels("t5")
        for name, sign, last_bucket, first in (("causal", -1, 31, 113), ("bidir", -1, 15, 91),
                                               ("bidir", 1, 31, 91)):
            x, y = self.series(panel, name)
            far = y[x * sign >= first]
            self.assertEqual(set(far), {last_bucket})
            self.assertLess(y[x == sign * (first - 1)][0], last_bucket)

    def test_alibis_biases_are_slopes_times_distances(self):
        panels = self.panels("alibi", "--last", 40)
        heads = [series for panel in panels for series in panel["series"]]
        for head, series in enumerate(heads):
            np.testing.assert_allclose(series["y"], np.array(series["x"]) / 2 ** (head + 1))
        self.assertEqual((len(heads), series["x"]), (8, list(range(-40, 1))))
        # The paper gives 12 heads the slopes of 8 heads, then every other slope of 16 heads.
        panels = self.panels("alibi", "--dim", 12)
        self.assertEqual([len(panel["series"]) for panel in panels], [6, 6])
        slopes = [s["y"][0] / s["x"][0] for panel in panels for s in panel["series"]]
        wanted = [2.0**-i for i in range(1, 9)] + [2.0 ** -(i / 2) for i in (1, 3, 5, 7)]
        np.testing.assert_allclose(slopes, wanted)

    def test_sinusoidal_waves_and_similarity_equal_their_formulas(self):
        waves, likeness = self.panels("sinusoidal", "--dim", 64, "--last", 300)
        position = np.arange(301)
        angles = np.outer(position, inv_freq(64))
        for feature in (0, 16, 32):
            x, y = self.series(waves, f"feature {feature}")
            np.testing.assert_array_equal(x, position)
            np.testing.assert_allclose(y, np.sin(angles[:, feature // 2]), atol=1e-13)
        (series,) = likeness["series"]
        np.testing.assert_allclose(series["y"], np.cos(angles).mean(1), atol=1e-13)

    def test_the_caption_says_how_far_the_slow_pair_locates_a_token(self):
        for arguments in ([], ["--last", 30], ["--last", 5000], ["llama-3.1-8b"],
                          ["codellama-7b", "--last", 20000]):
            document = json.loads(self.run_ok("plot", "fast_slow", *arguments, "--json"))["figure"]
            _, points = document["panels"][0]["series"]
            self.assertTrue(np.all(np.diff(points["z"]) > 0), arguments)
            self.assertIn("says roughly where", document["caption"])
        far = json.loads(self.run_ok("plot", "fast_slow", "--last", 10**7, "--json"))["figure"]
        self.assertIn("goes up and down", far["caption"])

    def test_rotated_vectors_stay_on_the_unit_circle(self):
        fast, slow = self.panels("rotation")
        for panel, angle in ((fast, 1), (slow, 0.1)):
            for p in range(6):
                vector = panel["series"][p]
                np.testing.assert_allclose([vector["x"][1], vector["y"][1]],
                                           [np.cos(p * angle), np.sin(p * angle)], atol=1e-14)
        (panel,) = self.panels("corkscrew", "--last", 10)
        for series in panel["series"]:
            np.testing.assert_allclose(np.hypot(series["x"], series["y"]), 1, atol=1e-14)
            self.assertEqual((series["z"][0], series["z"][-1]), (0, 10))


class AttentionTest(PlotTest):
    def weights(self, *arguments):
        panels = self.panels("attention", *arguments)
        return {p["title"]: np.array(p["map"]["values"], dtype=float) for p in panels}

    def test_attention_rows_are_causal_and_sum_to_1(self):
        for weights in self.weights().values():
            self.assertTrue(np.all(np.isnan(weights[np.triu_indices(11, 1)])))
            np.testing.assert_allclose(np.nansum(weights, 1), 1, atol=1e-6)

    def test_equal_words_have_the_softmax_of_their_bias(self):
        weights = self.weights("--words", "so so so so")
        distance = np.arange(3, -1, -1)
        for title, logits in (("no positions", 0 * distance), ("ALiBi, slope 1/2", -distance / 2),
                              ("KERPLE, p = a = 1", -np.log1p(distance))):
            wanted = np.exp(logits) / np.exp(logits).sum()
            np.testing.assert_allclose(weights[title][3], wanted, atol=1e-6)
        self.assertTrue(np.all(np.diff(weights["rotary"][3]) > 0))

    def test_words_equal_to_the_last_outweigh_others(self):
        one, other = (self.weights("--words", f"a b {word}")["no positions"][2]
                      for word in ("a", "b"))
        np.testing.assert_allclose(one, other[[1, 0, 2]], atol=1e-6)
        self.assertEqual(np.argmin(one), 1)
