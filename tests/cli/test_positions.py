# SPDX-License-Identifier: Apache-2.0
"""Tests rotary positions: its text, JSON and NPY, the order of options, and refusals."""

import json

import numpy as np

from tool import ToolTest, validate

PROMPT = ["--text", "5", "--image", "4x6", "--text", "3"]


class PositionsTest(ToolTest):
    def positions(self, *arguments):
        return self.run_json("positions", "positions", *arguments)

    def judged(self, code, *arguments):
        result = self.run_tool("positions", "--json", "--ids", *arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        document = json.loads(result.stdout)
        validate(document, "positions")
        return document

    def test_an_image_between_texts_has_ids_on_three_axes(self):
        got = self.positions(*PROMPT, "--as", "qwen2.5-vl")
        image = [[5] * 6, [5, 5, 5, 6, 6, 6], [5, 6, 7, 5, 6, 7]]
        self.assertEqual(got["ids"], [[0, 1, 2, 3, 4, *axis, 8, 9, 10] for axis in image])
        self.assertEqual((got["tokens"], got["delta"], got["next_position"]), (14, -3, 11))
        self.assertEqual(got["axes"], ["time", "row", "column"])
        self.assertEqual([each["first_token"] for each in got["groups"]], [0, 5, 11])

    def test_groups_follow_the_order_of_the_command_line(self):
        text_first = self.positions("--text", "2", "--image", "2x2", "--as", "qwen2-vl")
        image_first = self.positions("--image=2x2", "--as=qwen2-vl", "--text=2")
        kinds = [[each["kind"] for each in got["groups"]] for got in (text_first, image_first)]
        self.assertEqual(kinds, [["text", "image"], ["image", "text"]])
        repeated = self.positions("--text", "1", "--image", "2x2", "--text", "2", "--image", "2x4",
                                  "--as", "qwen2-vl")
        self.assertEqual([each["tokens"] for each in repeated["groups"]], [1, 1, 2, 2])

    def test_ids_of_text_after_a_long_video_go_backwards(self):
        prompt = ["--text", "3", "--video", "8x4x4@2", "--text", "2"]
        got = self.positions(*prompt, "--as", "qwen2.5-vl")
        self.assertTrue(got["goes_backwards"])
        self.assertEqual(got["ids"][0][-3:], [31, 5, 6])
        self.assertFalse(self.positions(*prompt, "--as", "qwen2.5-vl-4.57")["goes_backwards"])

    def test_the_text_has_a_line_for_each_frame(self):
        text = self.run_ok("positions", "--text", "5", "--video", "2x4x6", "--frame-text", "7",
                           "--as", "qwen3-vl")
        rows = [line.split("  ") for line in text.splitlines()]
        self.assertEqual([[cell.strip() for cell in row if cell] for row in rows[:5]],
                         [["tokens", "group", "time", "row", "column"],
                          ["0 to 4", "text 5", "0 to 4", "0 to 4", "0 to 4"],
                          ["5 to 10", "video 2x4x6 --frame-text 7", "5", "5 to 6", "5 to 7"],
                          ["11 to 17", "8 to 14", "8 to 14", "8 to 14"],
                          ["18 to 23", "15", "15 to 16", "15 to 17"]])
        self.assertEqual(text.splitlines()[-1],
                         "qwen3-vl, 24 tokens on 3 axes, delta -6: the next token stands at 18")

    def test_the_text_leaves_out_most_of_100_frames(self):
        text = self.run_ok("positions", "--video", "100x2x4", "--as", "qwen2-vl")
        self.assertIn("93 more", text)
        self.assertEqual(len(text.splitlines()), 10)

    def test_options_replace_values_of_the_convention(self):
        got = self.positions("--video", "3x3x6@0.5", "--merge", "3", "--ids-per-second", "4",
                             "--as", "qwen2.5-vl")
        self.assertEqual(got["ids"][0], [0, 0, 2, 2, 4, 4])
        merged = self.positions("--video", "6x2x2", "--temporal-merge", "3", "--as", "ernie-4.5-vl")
        self.assertEqual(merged["ids"][0], [0, 1])

    def test_ids_of_sound_and_video_follow_their_seconds(self):
        got = self.positions("--video", "2x2x2@2", "--sound", "60", "--as", "qwen2.5-omni")
        self.assertEqual(got["ids"][0][:4], [0, 0, 1, 1])
        self.assertEqual(got["ids"][0][-2:], [61, 61])
        real = self.positions("--text", "1", "--video", "2x2x2@0.1", "--text", "1", "--as",
                              "qwen3-omni")
        self.assertEqual(real["ids"][0][2], float(np.float32(1) + np.float32(13) * np.float32(.1)))

    def test_slices_and_newlines_follow_the_thumbnail(self):
        got = self.positions("--text", "2", "--image", "8x8", "--slices", "1x2x8x8", "--newlines",
                             "1", "--text", "1", "--as", "minicpm-v-4.7")
        self.assertEqual(got["groups"][1]["tokens"], 2 + 4 + 2 * (2 + 4) + 1)
        self.assertEqual(got["ids"][2][2:8], [1, 2, 5, 2, 5, 6])

    def test_ids_are_saved_with_the_type_of_the_convention(self):
        arguments = [*PROMPT, "--as", "hunyuan-vl", "--out", "ids.npy"]
        got = self.positions(*arguments)
        self.assertNotIn("ids", got)
        saved = np.load(self.path / "ids.npy")
        self.assertEqual((saved.dtype, saved.shape), (np.int64, (4, 16)))
        wanted = self.positions(*PROMPT, "--as", "hunyuan-vl")["ids"]
        np.testing.assert_array_equal(saved, wanted)
        text = self.run_ok("positions", *arguments, "--force")
        self.assertTrue(text.startswith("ids.npy: [4, 16] i64\nhunyuan-vl, 16 tokens on 4 axes"))
        self.run_ok("positions", "--text", "2", "--as", "qwen3-omni", "--out", "real.npy")
        self.assertEqual(np.load(self.path / "real.npy").dtype, np.float64)

    def test_masks_and_lengths_give_the_ids_of_batches(self):
        mask = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]])
        np.save(self.path / "mask.npy", mask)
        self.assertEqual(self.positions("--mask", "mask.npy")["ids"],
                         [[0, 0, 0, 1, 2], [0, 1, 2, 3, 0], [0, 1, 2, 3, 4]])
        self.assertEqual(self.positions("--mask", "mask.npy", "--past", "4")["ids"],
                         [[2], [0], [4]])
        packed = self.positions("--lengths", "5,4,1")
        self.assertEqual(packed["ids"], [[0, 1, 2, 3, 4, 0, 1, 2, 3, 0]])
        self.assertEqual(self.positions("--lengths", "1,1", "--past", "16,9")["ids"], [[16, 9]])
        chunks = self.positions("--lengths", "5,4", "--past", "8", "--chunk", "4")
        self.assertEqual(chunks["lengths"], [[4, 4], [1, 0]])
        self.assertEqual(chunks["ids"], [[8, 9, 10, 11, 8, 9, 10, 11], [12]])
        text = self.run_ok("positions", "--mask", "mask.npy").splitlines()
        self.assertEqual([line.split("  ") for line in text[1:3]],
                         [["row 0", "2 to 4", "0 to 2"], ["row 1", "0 to 3", "0 to 3"]])
        self.assertEqual(self.run_ok("positions", "--mask", "mask.npy", "--out", "ids.npy"),
                         "ids.npy: [3, 5] i64\n")
        self.run_ok("positions", "--ids", "ids.npy", "--mask", "mask.npy")

    def test_wrong_ids_of_a_program_are_named(self):
        np.save(self.path / "ids.npy", np.arange(5))
        wrong = self.judged(1, "ids.npy", "--lengths", "3,2")
        self.assertEqual([(each["kind"], each["token"]) for each in wrong["findings"]],
                         [("no_restart", 3)])
        self.run_ok("positions", "--ids", "ids.npy", "--past", "0")
        text = self.run_tool("positions", "--ids", "ids.npy", "--past", "1")
        self.assertEqual(text.returncode, 1)
        self.assertIn(b"row 0, token 0: 0, where it must be 1: all are off by -1", text.stdout)
        np.save(self.path / "image.npy", np.arange(6).reshape(3, 1, 2))
        self.assertFalse(self.judged(5, "image.npy")["judged"])

    def test_list_names_every_convention(self):
        listed = self.positions("--list")["conventions"]
        names = [each["name"] for each in listed]
        self.assertIn("qwen2.5-vl-vllm", names)
        text = self.run_ok("positions", "--list").splitlines()[1:]
        self.assertEqual([line.split()[0] for line in text], names)
        for name in names:
            self.assertEqual(self.positions("--text", "3", "--as", name)["delta"], 0)

    def test_wrong_arguments_are_refused(self):
        for arguments, message in (
                ([*PROMPT], "--as is required: "),
                ([*PROMPT, "--as", "qwen"], "--as must be one of qwen2-vl, "),
                ([*PROMPT, "--as", "qwen2.5vl"], "got 'qwen2.5vl'; did you mean qwen2.5-vl?"),
                (["--as", "qwen2-vl"], "a prompt is required: --text N, "),
                (["--image", "4", "--as", "qwen2-vl"], "--image must be ROWSxCOLUMNS, got '4'"),
                (["--image", "1x4", "--as", "qwen2-vl"], "rows must be from 2 to "),
                (["--video", "4x4@1", "--as", "qwen2-vl"], "--video must be FRAMESxROWSxCOLUMNS"),
                (["--video", "4x4x4@x", "--as", "qwen2-vl"], "--video"),
                (["--text", "-1", "--as", "qwen2-vl"], "--text"),
                (["--text", "3", "--sound", "2", "--as", "qwen3-omni"],
                 "--sound must come after --video"),
                (["--slices", "1x1x4x4", "--as", "minicpm-v-4.7"],
                 "--slices must come after --image"),
                (["--text", "1", "--list"], "--list excludes all other options"),
                ([*PROMPT, "--as", "qwen2-vl", "--merge", "0"], "merge must be from 1 to "),
                (["--text", "2000000", "--as", "qwen2-vl"], "an answer has at most 1048576 tokens"),
                ([*PROMPT, "--as", "qwen2-vl", "--out", "ids.txt"], "--out must end in .npy"),
                (["--lengths", "3", "--text", "4"], "--text is for prompts, and not --lengths"),
                (["--lengths", "2000000"], "an answer has at most 1048576 tokens"),
                (["--lengths", "900000,0", "--chunk", "1"], "an answer has at most 1048576"),
                (["--lengths", "3", "--past", "1,2"], "past must be one number or one for each"),
                (["--past", "3"], "--past is for --lengths, --mask or --ids")):
            with self.subTest(arguments=arguments):
                self.assert_fails(2, [message], "positions", *arguments)

    def test_a_grid_that_the_merge_does_not_divide_is_refused(self):
        grid = "must have rows and columns of patches that"
        for convention, arguments, message in (
                ("qwen2.5-vl", ["--image", "3x6"], f"--image {grid} 2 divides (--merge), got 3x6"),
                ("qwen2.5-vl", ["--image", "4x5"], "got 4x5"),
                ("qwen2.5-vl", ["--image", "4x4", "--merge", "3"], f"{grid} 3 divides"),
                ("qwen3-vl", ["--video", "2x4x5"], f"--video {grid} 2 divides"),
                ("ernie-4.5-vl", ["--video", "3x4x4"], "frames that 2 divides (--temporal-merge)"),
                ("minicpm-v-4.7", ["--image", "8x8", "--slices", "1x1x8x10"],
                 f"--slices {grid} 4 divides")):
            with self.subTest(arguments=arguments):
                self.assert_fails(2, [message], "positions", *arguments, "--as", convention)

    def test_unsupported_groups_exit_with_5(self):
        for convention, arguments in (("qwen2-vl", ["--image", "8x8", "--slices", "1x1x8x8"]),
                                      ("glm-image", ["--video", "2x4x4"]),
                                      ("qwen3-vl", ["--video", "2x4x4", "--sound", "4"]),
                                      ("qwen2-vl", ["--video", "2x4x4", "--frame-text", "4"])):
            with self.subTest(arguments=arguments):
                self.assert_fails(5, [convention], "positions", *arguments, "--as", convention)
