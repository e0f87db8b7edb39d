# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import rotary
from reference import numbers, rotate_half

F = rotary.RotarySpec(head_dim=16, base=1e4, pairing="half").frequencies()


def test_keys_are_rotated_on_their_way_into_the_cache():
    k, v = numbers(2, 3, 2, 16), numbers(2, 3, 2, 8, seed=2)
    k_cache, v_cache = np.zeros((2, 8, 2, 16), np.float32), np.zeros((2, 8, 2, 8), np.float32)
    rows = F.rotations(range(4, 7))
    rotary.append(k_cache, k, v_cache=v_cache, v=v, slots=4, layout="bthd", rotations=rows)
    np.testing.assert_array_equal(k_cache[:, 4:7], rows.rotate(k, layout="bthd"))
    np.testing.assert_array_equal(v_cache[:, 4:7], v)
    assert not k_cache[:, :4].any() and not k_cache[:, 7:].any()


def test_a_slot_map_and_unrotated_keys():
    k = numbers(3, 1, 16)
    cache = np.zeros((2, 4, 1, 16), np.float32)  # pages of 4 slots
    slots = np.array([6, -1, 1], np.int32)
    rotary.append(cache, k[None], slots=slots[None], layout="bthd", rotations=None)
    np.testing.assert_array_equal(cache[1, 2], k[0])
    np.testing.assert_array_equal(cache[0, 1], k[2])
    assert np.count_nonzero(cache.any((2, 3))) == 2
    before = cache.copy()
    with pytest.raises(rotary.Error):
        rotary.append(cache, k[None], slots=[[0, 1, 99]], layout="bthd", rotations=None)
    np.testing.assert_array_equal(cache, before)
    with pytest.raises(rotary.Error, match="slots must be of int32 or int64"):
        rotary.append(cache, k[None], slots=[[0.0, 1.0, 2.0]], layout="bthd", rotations=None)
    with pytest.raises(rotary.Error, match="v and v_cache must both be given"):
        rotary.append(cache, k[None], v=k[None], slots=0, layout="bthd", rotations=None)


def test_a_norm_before_the_rotation():
    k, weight = numbers(1, 3, 2, 16), numbers(16, seed=3)
    cache = np.zeros((1, 3, 2, 16), np.float32)
    norm = rotary.KeyNorm(epsilon=1e-6, over="each_head", order="before_rotation", weight=weight)
    rotary.append(cache, k, slots=0, layout="bthd", rotations=F.rotations(range(3)), norm=norm)
    wide = k.astype(np.float64)
    normed = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6) * weight
    expected = rotate_half(normed.swapaxes(1, 2), range(3), F.inv_freq).swapaxes(1, 2)
    np.testing.assert_allclose(cache, expected, atol=4e-6)
    with pytest.raises(rotary.Error, match="over must be one of each_head, all_heads, got 'head'"):
        rotary.append(cache, k, slots=0, layout="bthd", rotations=None,
                      norm=rotary.KeyNorm(epsilon=1e-6, over="head", order="before_rotation"))


def test_float32_keys_are_rounded_once_into_a_cache_of_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    k = numbers(1, 3, 2, 16)
    cache = np.zeros((1, 3, 2, 16), ml_dtypes.bfloat16)
    rows = F.rotations(range(3))
    rotary.append(cache, k, slots=0, layout="bthd", rotations=rows)
    np.testing.assert_array_equal(cache, rows.rotate(k, layout="bthd").astype(ml_dtypes.bfloat16))


def test_shift_takes_keys_to_new_positions():
    k = numbers(2, 6, 16)
    cache = F.rotate(k, positions=range(1000, 1006), layout="htd")
    moved = rotary.shift(cache, layout="htd", before=F, positions=range(1000, 1006),
                         new_positions=range(6))
    assert moved is cache
    np.testing.assert_allclose(cache, rotate_half(k, range(6), F.inv_freq), atol=4e-6)


def test_shift_takes_keys_to_other_frequencies():
    other = F.spec.replace(base=5e5).frequencies()
    k = numbers(2, 6, 16)
    cache = F.rotate(k, positions=range(6), layout="htd")
    rotary.shift(cache, layout="htd", before=F, positions=range(6), after=other,
                 new_positions=range(6))
    np.testing.assert_allclose(cache, rotate_half(k, range(6), other.inv_freq), atol=4e-6)
    with pytest.raises(TypeError, match="do not change"):
        rotary.shift([1], layout="htd", before=F, positions=range(6), new_positions=range(6))
