# SPDX-License-Identifier: Apache-2.0
"""positions_of() makes position ids, and check_positions() names their mistakes."""

import numpy as np
import pytest
import rotary

MASK = [[0, 0, 1, 1, 1], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]


def test_positions_of_accepts_masks_packed_sequences_and_decode_steps():
    np.testing.assert_array_equal(rotary.positions_of(attention_mask=MASK),
                                  [[0, 0, 0, 1, 2], [0, 1, 2, 3, 0], [0, 1, 2, 3, 4]])
    np.testing.assert_array_equal(rotary.positions_of(attention_mask=MASK, past=4),
                                  [[2], [0], [4]])
    packed = [0, 1, 2, 3, 4, 0, 1, 2, 3, 0]
    np.testing.assert_array_equal(rotary.positions_of(cu_seqlens=[0, 5, 9, 10]), packed)
    np.testing.assert_array_equal(rotary.positions_of(lengths=[5, 4, 1]), packed)
    np.testing.assert_array_equal(rotary.positions_of(lengths=[1, 1, 3], past=[16, 9, 0]),
                                  [16, 9, 0, 1, 2])
    np.testing.assert_array_equal(rotary.positions_of(lengths=[3], past=131072),
                                  [131072, 131073, 131074])
    assert rotary.positions_of(lengths=[]).shape == (0,)


@pytest.mark.parametrize("options, part", [
    ({}, "one of attention_mask, cu_seqlens and lengths must be given, got none"),
    ({"lengths": [1], "cu_seqlens": [0, 1]}, "got cu_seqlens, lengths"),
    ({"cu_seqlens": [1, 2]}, "must rise from 0"), ({"cu_seqlens": [0, 3, 2]}, "must rise from 0"),
    ({"lengths": [-1]}, "lengths must be from 0 to"),
    ({"lengths": [1, 2], "past": [1, 2, 3]}, "past"),
    ({"attention_mask": [1, 1]}, "batch, tokens"), ({"lengths": [1.5]}, "whole numbers"),
    ({"attention_mask": MASK, "past": 6}, "cover the cached tokens")])
def test_unusable_options_are_refused(options, part):
    with pytest.raises(rotary.Error, match=part):
        rotary.positions_of(**options)


@pytest.mark.parametrize("ids, known, kind, row, token", [
    (range(7), {}, None, 0, 0), ([0, 1, 2, 0, 1], {}, None, 0, 0),
    ([3, 4, 5, 7], {}, "gap", 0, 3), ([3, 4, 4, 5], {}, "repeat", 0, 2),
    ([5, 6, 7, 3], {}, "restart", 0, 3),
    (np.tile(np.arange(5), (3, 1)), {"attention_mask": MASK}, "padding_counted", 0, 2),
    ([[0, 1, 2, 3, 4]], {"attention_mask": MASK}, "padding_counted", 0, 2),
    ([[1, 1, 0, 1, 2], [0, 1, 2, 3, 1], [0, 1, 2, 3, 4]], {"attention_mask": MASK}, None, 0, 0),
    (range(5), {"cu_seqlens": [0, 3, 5]}, "no_restart", 0, 3),
    ([17], {"past": 16}, "offset", 0, 0), ([16], {"past": 16}, None, 0, 0),
    ([[16], [9]], {"past": [16, 8]}, "offset", 1, 0),
    (np.stack([np.arange(4)] * 3)[:, None], {"past": 0}, None, 0, 0),
    (np.tile(np.arange(5), (3, 3, 1)), {"attention_mask": MASK}, "padding_counted", 0, 2),
    (np.stack([np.arange(4)] * 3)[:, None] + 1, {"past": 0}, "offset", 0, 0),
    (np.arange(2049, dtype=np.float16), {}, "rounded", 0, 2048)])
def test_the_first_wrong_id_of_a_row_is_named(ids, known, kind, row, token):
    found = rotary.check_positions(np.asarray(ids), **known)
    assert found.ok == (kind is None)
    if kind:
        first = found.findings[0]
        assert (first.kind, first.row, first.token) == (kind, row, token)


def test_the_sentence_describes_ids():
    assert rotary.check_positions([4, 5, 6]).sentence == "3 consecutive positions a row, from 4"
    packed = rotary.check_positions([0, 1, 0, 1, 2])
    assert packed.sentence == "row 0 has 2 runs of 2, 3 tokens"
    with pytest.raises(rotary.Error, match="as many rows and tokens as"):
        rotary.check_positions([0, 1], cu_seqlens=[0, 3])


def test_ids_of_images_are_not_judged():
    ids = np.array([[0, 1, 1, 1, 1, 3], [0, 1, 1, 2, 2, 3], [0, 1, 2, 1, 2, 3]])[:, None]
    found = rotary.check_positions(ids, past=0)
    assert not found.findings and not found.judged and not found.ok
