# SPDX-License-Identifier: Apache-2.0
"""Positions of prompts with images and videos equal ids counted by hand."""

import numpy as np
import pytest
import rotary

from reference import numbers

TEXT, IMAGE = rotary.TextTokenRun, rotary.ImagePatches


def test_an_image_between_texts_has_ids_counted_by_hand():
    made = rotary.m_rope_positions([TEXT(5), IMAGE(4, 6), TEXT(3)], "qwen2.5-vl")
    assert made.positions.shape == (3, 1, 14) and made.positions.dtype == np.int64
    assert made.positions[:, 0, 5:].tolist() == [[5] * 6 + [8, 9, 10],
                                                 [5, 5, 5, 6, 6, 6, 8, 9, 10],
                                                 [5, 6, 7, 5, 6, 7, 8, 9, 10]]
    assert (made.group_ends, made.delta) == ((5, 11, 14), -3)


def test_seconds_per_frame_and_ids_per_second_set_the_step_of_video_ids():
    video = rotary.VideoPatches(3, 2, 2, seconds_per_frame=1.5)
    made = rotary.m_rope_positions([video, TEXT(1)], "qwen2.5-vl")
    # Text after the video gets lower ids than its frames: the model's defect, kept on purpose.
    assert made.positions[0, 0].tolist() == [0, 3, 6, 1]
    assert rotary.m_rope_positions([video], "qwen2.5-vl", ids_per_second=4).positions[
        0, 0].tolist() == [0, 6, 12]
    fractions = rotary.m_rope_positions([rotary.VideoPatches(2, 2, 2, seconds_per_frame=0.5)],
                                        "qwen3-omni")
    assert fractions.positions.dtype == np.float64 and isinstance(fractions.delta, float)
    assert "qwen3-omni" in rotary.m_rope_conventions()


def test_a_thumbnail_with_slices_has_an_id_for_each_token():
    image = rotary.SlicedImage(4, 4, slices_down=1, slices_across=2, slice_rows=4, slice_columns=4)
    made = rotary.m_rope_positions([TEXT(2), image, TEXT(1)], "minicpm-v-4.7")
    assert made.positions.shape[2] == made.group_ends[-1] > 3


def test_grid_positions_count_frames_rows_and_columns():
    assert rotary.grid_positions(2, 3)[:, 0].tolist() == [
        [0] * 6, [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]]
    merged = rotary.grid_positions(2, 4, frames=2, merge=2)[:, 0]
    assert merged[1:, :8].tolist() == [[0, 0, 1, 1, 0, 0, 1, 1], [0, 1, 0, 1, 2, 3, 2, 3]]
    assert merged[0].tolist() == [0] * 8 + [1] * 8


def test_rotations_accept_axis_positions():
    model = rotary.resolve("qwen2.5-vl-7b")
    f = model.frequencies()
    made = rotary.m_rope_positions([TEXT(3), IMAGE(4, 4)], "qwen2.5-vl")
    q = numbers(1, 2, 7, 128)
    turned = f.rotate(q, positions=made.positions, layout="bhtd")
    # A text token has one position on every axis, a patch has different positions.
    text = f.rotate(q[:, :, :3], positions=range(3), layout="bhtd")
    assert np.array_equal(turned[:, :, :3], text)
    assert not np.array_equal(turned[:, :, 3:], f.rotate(q[:, :, 3:], positions=range(3, 7),
                                                         layout="bhtd"))


def test_unusable_arguments_are_refused():
    with pytest.raises(rotary.Error, match="glm-image has text and images, got a video"):
        rotary.m_rope_positions([rotary.VideoPatches(1, 2, 2)], "glm-image")
    with pytest.raises(rotary.Error, match="qwen2.5-vl"):
        rotary.m_rope_positions([TEXT(1)], "qwen2.6-vl")
    with pytest.raises(rotary.Error, match="changes must be merge"):
        rotary.m_rope_positions([TEXT(1)], "qwen2.5-vl", patch=3)
    with pytest.raises(TypeError, match="groups must be of type TextTokenRun"):
        rotary.m_rope_positions([5], "qwen2.5-vl")
    with pytest.raises(rotary.Error, match="rows"):
        rotary.grid_positions(3, 4, merge=2)
