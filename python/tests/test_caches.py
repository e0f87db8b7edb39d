# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import rotary
from reference import numbers, rotate_half

F = rotary.RotarySpec(head_dim=16, base=1e4, pairing="half").frequencies()


def test_append_stores_rotated_keys():
    k, v = numbers(2, 3, 2, 16), numbers(2, 3, 2, 8, seed=2)
    k_cache, v_cache = np.zeros((2, 8, 2, 16), np.float32), np.zeros((2, 8, 2, 8), np.float32)
    rows = F.rotations(range(4, 7))
    rotary.append(k_cache, k, v_cache=v_cache, v=v, slots=4, layout="bthd", rotations=rows)
    np.testing.assert_array_equal(k_cache[:, 4:7], rows.rotate(k, layout="bthd"))
    np.testing.assert_array_equal(v_cache[:, 4:7], v)
    assert not k_cache[:, :4].any() and not k_cache[:, 7:].any()


def test_a_slot_map_chooses_slots_and_negative_slots_store_nothing():
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


def test_append_applies_a_norm_before_rotation():
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


def test_float32_keys_are_rounded_once_to_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    k = numbers(1, 3, 2, 16)
    cache = np.zeros((1, 3, 2, 16), ml_dtypes.bfloat16)
    rows = F.rotations(range(3))
    rotary.append(cache, k, slots=0, layout="bthd", rotations=rows)
    np.testing.assert_array_equal(cache, rows.rotate(k, layout="bthd").astype(ml_dtypes.bfloat16))


def test_shift_moves_keys_to_new_positions():
    k = numbers(2, 6, 16)
    cache = F.rotate(k, positions=range(1000, 1006), layout="htd")
    moved = rotary.shift(cache, layout="htd", before=F, positions=range(1000, 1006),
                         new_positions=range(6))
    assert moved is cache
    np.testing.assert_allclose(cache, rotate_half(k, range(6), F.inv_freq), atol=4e-6)


def test_shift_moves_keys_to_other_frequencies():
    other = F.spec.replace(base=5e5).frequencies()
    k = numbers(2, 6, 16)
    cache = F.rotate(k, positions=range(6), layout="htd")
    rotary.shift(cache, layout="htd", before=F, positions=range(6), after=other,
                 new_positions=range(6))
    np.testing.assert_allclose(cache, rotate_half(k, range(6), other.inv_freq), atol=4e-6)
    with pytest.raises(TypeError, match="do not change"):
        rotary.shift([1], layout="htd", before=F, positions=range(6), new_positions=range(6))


def stored(heads, layout):
    """Returns the elements and scales that append() must store for float32 numbers."""
    axis = layout.index("d")
    largest = np.abs(heads).max(axis, keepdims=True)
    elements = np.rint(heads * np.float32(127) / largest).astype(np.int8)
    return elements, np.squeeze(largest / np.float32(127), axis)


@pytest.mark.parametrize("layout", ["bthd", "bhtd"])
def test_8_bit_caches_err_by_half_a_step_at_most(layout):
    shape, blocks = ((2, 3, 2, 16), (2, 8, 2, 16)) if layout == "bthd" else ((2, 2, 3, 16),
                                                                              (2, 2, 8, 16))
    k, v = numbers(*shape), numbers(*shape, seed=2)
    k_cache, v_cache = (rotary.QuantizedHeads.zeros(blocks, layout=layout) for _ in range(2))
    rows = F.rotations(range(4, 7))
    rotary.append(k_cache, k, v_cache=v_cache, v=v, slots=4, layout=layout, rotations=rows)
    tokens = (slice(None),) * layout.index("t") + (slice(4, 7),)
    for cache, heads in ((k_cache, rows.rotate(k, layout=layout)), (v_cache, v)):
        elements, scales = stored(heads, layout)
        np.testing.assert_allclose(cache.scales[tokens], scales, rtol=3e-7)
        assert np.abs(cache.elements[tokens].astype(int) - elements).max() <= 1
        steps = np.expand_dims(cache.scales[tokens], layout.index("d"))
        error = np.abs(cache.dequantized(layout=layout)[tokens] - heads)
        assert (error <= 0.50001 * steps).all()
        assert np.count_nonzero(cache.elements) == np.count_nonzero(cache.elements[tokens])
    rotary.append(k_cache, k, slots=0, layout=layout, rotations=None)
    first = (slice(None),) * layout.index("t") + (slice(0, 3),)
    np.testing.assert_allclose(k_cache.dequantized(layout=layout)[first], k,
                               atol=np.abs(k).max() / 250)


def test_attention_over_8_bits_equals_attention_over_dequantized_numbers():
    cache = [rotary.QuantizedHeads.zeros((1, 2, 40, 16), layout="bhtd") for _ in range(2)]
    k, v = numbers(1, 2, 40, 16), numbers(1, 2, 40, 16, seed=2)
    rotary.append(cache[0], k, v_cache=cache[1], v=v, slots=0, layout="bhtd",
                  rotations=F.rotations(range(40)))
    wide = [each.dequantized(layout="bhtd") for each in cache]
    for queries in (1, 40):
        q = numbers(1, 4, queries, 16, seed=3)
        options = {"scale": 0.25, "layout": "bhtd", "causal": True}
        made, lse = rotary.attend(q, *cache, return_log_sum_exp=True, **options)
        expected, expected_lse = rotary.attend(q, *wide, return_log_sum_exp=True, **options)
        np.testing.assert_allclose(made, expected, atol=2e-6)
        np.testing.assert_allclose(lse, expected_lse, atol=2e-6)


def test_8_bit_pages_give_the_answer_of_contiguous_keys():
    table = np.array([[4, 1, 2], [0, 3, 5]])  # pages of 2 slots
    k, v, q = numbers(2, 6, 2, 16), numbers(2, 6, 2, 16, seed=2), numbers(2, 1, 2, 16, seed=3)
    pages = [rotary.QuantizedHeads.zeros((6, 2, 2, 16), layout="bthd") for _ in range(2)]
    slots = np.array([[2 * table[b, t // 2] + t % 2 for t in range(6)] for b in range(2)])
    rotary.append(pages[0], k, v_cache=pages[1], v=v, slots=slots, layout="bthd", rotations=None)
    steps = [rotary.AttentionSequence(batch=b, queries=1, keys=6, query_position=5)
             for b in range(2)]
    options = {"scale": 0.25, "layout": "bthd", "causal": True, "sequences": steps}
    made = rotary.attend(q, *pages, block_table=table, **options)
    rows = [rotary.QuantizedHeads(x.elements[table].reshape(2, 6, 2, 16),
                                  x.scales[table].reshape(2, 6, 2)) for x in pages]
    np.testing.assert_array_equal(made, rotary.attend(q, *rows, **options))


def test_shift_moves_8_bit_keys():
    keys = rotary.QuantizedHeads.zeros((2, 6, 16), layout="htd")
    k = numbers(2, 6, 16)
    rotary.append(keys, k, slots=0, layout="htd", rotations=F.rotations(range(1000, 1006)))
    moved = rotary.shift(keys, layout="htd", before=F, positions=range(1000, 1006),
                         new_positions=range(6))
    assert moved is keys
    error = np.abs(keys.dequantized(layout="htd") - rotate_half(k, range(6), F.inv_freq))
    assert error.max() <= 3 * keys.scales.max()


def test_unusable_8_bit_caches_are_refused():
    k = numbers(1, 3, 2, 16)
    good = rotary.QuantizedHeads.zeros((1, 3, 2, 16), layout="bthd")

    def refused(error, message, cache, **others):
        with pytest.raises(error, match=message):
            rotary.append(cache, k, slots=0, layout="bthd", rotations=None, **others)

    wrong = rotary.QuantizedHeads
    refused(TypeError, "k_cache.elements must be an array of int8", wrong(k, good.scales))
    refused(rotary.Error, "k_cache.scales must be of float32",
            wrong(good.elements, good.scales.astype(np.float64)))
    refused(rotary.Error, "k_cache.scales must have the axes of elements",
            wrong(good.elements, good.scales[:, :2]))
    refused(rotary.Error, "layout must name each of 4 axes of k_cache.scales",
            wrong(good.elements, good.elements.astype(np.float32)))
    refused(rotary.Error, "must both be QuantizedHeads", good, v=k, v_cache=np.zeros_like(k))
    with pytest.raises(TypeError, match="k must be an array of NumPy"):
        rotary.append(np.zeros_like(k), good, slots=0, layout="bthd", rotations=None)
    with pytest.raises(rotary.Error, match="k and v must both be QuantizedHeads"):
        rotary.attend(k, good, k, scale=1, layout="bthd", causal=True)
    with pytest.raises(rotary.Error, match="the features by 'd'"):
        rotary.QuantizedHeads.zeros((1, 3), layout="bt")
    assert not good.elements.any() and not good.scales.any()
