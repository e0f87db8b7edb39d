# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import rotary
from reference import numbers, rotate_half

F = rotary.RotarySpec(head_dim=16, base=1e4, pairing="half").frequencies()
SCALE = 16**-0.5


def softmax_attention(q, k, v, allowed, bias=0.0):
    """q, k, v: [..., tokens, features]; computes in float64."""
    scores = SCALE * (q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2)) + bias
    scores = np.where(allowed, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)) @ v.astype(np.float64)


def causal(tokens):
    return np.tril(np.ones((tokens, tokens), bool))


def test_attention_with_rotation_equals_the_definition():
    q, k, v = numbers(1, 4, 9, 16), numbers(1, 2, 9, 16, seed=2), numbers(1, 2, 9, 16, seed=3)
    rows = F.rotations(range(9))
    made = rotary.attend(q, k, v, scale=SCALE, layout="bhtd", causal=True, q_rotations=rows,
                         k_rotations=rows)
    q2, k2 = (rotate_half(x, range(9), F.inv_freq) for x in (q, k))
    expected = softmax_attention(q2, k2.repeat(2, 1), v.repeat(2, 1), causal(9))
    np.testing.assert_allclose(made, expected, atol=2e-6)
    turned = [x.swapaxes(1, 2) for x in (q, k, v)]
    same = rotary.attend(*turned, scale=SCALE, layout="bthd", causal=True, q_rotations=rows,
                         k_rotations=rows)
    np.testing.assert_array_equal(same.swapaxes(1, 2), made)


def test_windows_equal_masks_and_log_sum_exp_is_finite():
    q, k, v = (numbers(1, 2, 6, 16, seed=i) for i in (4, 5, 6))
    allowed = causal(6) & (np.arange(6)[:, None] - np.arange(6) <= 2)
    expected = softmax_attention(q, k, v, allowed)
    made, lse = rotary.attend(q, k, v, scale=SCALE, layout="bhtd", causal=True, left=2,
                              return_log_sum_exp=True)
    np.testing.assert_allclose(made, expected, atol=2e-6)
    assert lse.shape == (1, 2, 6, 1) and np.isfinite(lse).all()
    for mask in (allowed, np.where(allowed, 0, -np.inf).astype(np.float32)):
        masked = rotary.attend(q, k, v, scale=SCALE, layout="bhtd", causal=False, mask=mask)
        np.testing.assert_allclose(masked, expected, atol=2e-6)
    with pytest.raises(rotary.Error, match="scale"):
        rotary.attend(q, k, v, scale=0, layout="bhtd", causal=True)


def sequence(**given):
    return rotary.AttentionSequence(**given)


def test_packed_sequences_do_not_see_one_another():
    q, k, v = (numbers(1, 2, 9, 16, seed=i) for i in (4, 5, 6))
    packed = [sequence(queries=4, keys=4, query_position=0),
              sequence(first_query=4, queries=5, first_key=4, keys=5, query_position=0)]
    made = rotary.attend(q, k, v, scale=SCALE, layout="bhtd", causal=True, sequences=packed)
    apart = [rotary.attend(q[:, :, part], k[:, :, part], v[:, :, part], scale=SCALE, layout="bhtd",
                           causal=True) for part in (slice(4), slice(4, 9))]
    np.testing.assert_allclose(made, np.concatenate(apart, 2), atol=1e-6)


def test_paged_keys_give_the_answer_of_contiguous_keys():
    q, k, v = (numbers(2, 2, tokens, 16, seed=tokens) for tokens in (1, 6, 7))
    v = v[:, :, :6]
    table = np.array([[4, 1, 2], [0, 3, 5]])  # pages of 2 slots
    pages = [np.full((6, 2, 2, 16), np.nan, np.float32) for _ in range(2)]
    for page, x in zip(pages, (k, v)):
        page[table] = x.reshape(2, 2, 3, 2, 16).swapaxes(1, 2)
    steps = [sequence(batch=b, queries=1, keys=keys, query_position=keys - 1)
             for b, keys in enumerate((6, 5))]
    options = {"scale": SCALE, "layout": "bhtd", "causal": True, "sequences": steps}
    made = rotary.attend(q, *pages, block_table=table, **options)
    np.testing.assert_array_equal(made, rotary.attend(q, k, v, **options))
    for blocks, message in ((table + 9, "block"), (table[0], "2 axes|1 axes"), (table / 2, "int")):
        with pytest.raises(rotary.Error, match=message):
            rotary.attend(q, *pages, block_table=blocks, **options)


def test_alibi_equals_its_formula_and_attend_adds_it():
    bias = rotary.Bias("alibi", heads=4)
    slopes = 2.0 ** (-8 * np.arange(1, 5) / 4)
    distance = np.arange(5)[:, None] - np.arange(5)
    table = bias.table(5, 5)
    np.testing.assert_allclose(table, -slopes[:, None, None] * distance, rtol=1e-6)
    assert bias.heads == 4 and bias.at(3, 4, 0) == pytest.approx(-4 * slopes[3])
    q, k, v = (numbers(1, 4, 5, 16, seed=i) for i in (7, 8, 9))
    made = rotary.attend(q, k, v, scale=SCALE, layout="bhtd", causal=True, bias=bias)
    np.testing.assert_allclose(made, softmax_attention(q, k, v, causal(5), table), atol=2e-6)
    assert repr(bias) == "Bias('alibi', heads=4)" and "alibi" in rotary.Bias.names()


def test_t5_reads_its_table():
    table = numbers(32, 2, dtype=np.float64)
    bias = rotary.Bias("t5", table=table, buckets=32, max_distance=128, direction="causal")
    made = bias.table(4, 4, first_query=3, dtype=np.float64)
    for query in range(4):
        for key in range(4):
            np.testing.assert_array_equal(made[:, query, key], table[max(3 + query - key, 0)])
    with pytest.raises(rotary.Error, match="direction must be"):
        rotary.Bias("t5", table=table, buckets=32, max_distance=128, direction="back")
    with pytest.raises(rotary.Error, match="name must be one of t5, alibi"):
        rotary.Bias("albi", heads=2)
    with pytest.raises(rotary.Error, match="parameters of alibi must be of heads, .*got 'haeds'"):
        rotary.Bias("alibi", haeds=2)


@pytest.mark.parametrize("parameters, message", [
    ({"heads": 2.5}, "heads must be a whole number, got 2.5"),
    ({"heads": 4, "slopes": 3}, "slopes must be a list of numbers, got 3"),
    ({"heads": 4, "form": "causl"}, "form must be one of causal, symmetric, key_position, got "),
    ({"heads": 4, "bias_max": "8"}, "bias_max must be a number, got '8'"),
    ({"heads": 0}, "heads of the model must be from 1 to 2\\^20, got 0"),
    ({}, "heads must be given, got none"),
])
def test_unusable_parameters_are_refused(parameters, message):
    with pytest.raises(rotary.Error, match=message):
        rotary.Bias("alibi", **parameters)


def test_kerple_takes_a_number_for_each_head():
    bias = rotary.Bias("kerple_log", p=[1.0, 2.0], a=np.array([0.5, 0.25]))
    expected = [-p * np.log1p(a * 6) for p, a in ((1, 0.5), (2, 0.25))]
    np.testing.assert_allclose([bias.at(h, 9, 3) for h in (0, 1)], expected)
