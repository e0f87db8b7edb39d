# SPDX-License-Identifier: Apache-2.0
import pickle

import numpy as np
import pytest
import rotary
from reference import inv_freq, numbers, rotate_half

SPEC = rotary.RotarySpec(head_dim=64, base=1e4, pairing="half")
F = SPEC.frequencies()
FAR = 131072 - 16


def test_inv_freq_equals_the_formula():
    np.testing.assert_allclose(F.inv_freq, inv_freq(64, 1e4), rtol=1e-15)
    assert F.inv_freq.dtype == np.float64 and F.attention_factor == 1 and F.axes == 1
    with pytest.raises(ValueError, match="read-only"):
        F.inv_freq[0] = 2
    assert pickle.loads(pickle.dumps(F)).rotate_alike(F)


@pytest.mark.parametrize("layout", ["bhtd", "bthd", "tbhd", "hbdt"])
@pytest.mark.parametrize("first", [0, FAR])
def test_rotate_equals_the_definition_in_any_layout(layout, first):
    order = ["bhtd".index(letter) for letter in layout]
    q, k = numbers(2, 4, 16, 64), numbers(2, 2, 16, 64, seed=2)
    positions = range(first, first + 16)
    q2, k2 = F.rotate(q.transpose(order), k.transpose(order), positions=positions, layout=layout)
    back = np.argsort(order)
    for made, x in ((q2, q), (k2, k)):
        expected = rotate_half(x, np.arange(first, first + 16), inv_freq(64, 1e4))
        np.testing.assert_allclose(made.transpose(back), expected, atol=2e-6)


def test_features_outside_the_window_are_copied():
    f = SPEC.replace(rotary_dim=32).frequencies()
    x = numbers(5, 64)
    made = f.rotate(x, positions=range(5), layout="td")
    np.testing.assert_array_equal(made[:, 32:], x[:, 32:])
    np.testing.assert_allclose(made, rotate_half(x, range(5), inv_freq(32, 1e4)), atol=2e-6)


@pytest.mark.parametrize("dtype, tolerance", [
    (np.float64, 1e-12), (np.float32, 2e-6), (np.float16, 4e-3)])
def test_every_numpy_dtype_errs_by_its_rounding_at_most(dtype, tolerance):
    x = numbers(1, 3, 8, 64, dtype=dtype)
    made = F.rotate(x, positions=range(FAR, FAR + 8), layout="bhtd")
    assert made.dtype == dtype
    expected = rotate_half(x, np.arange(FAR, FAR + 8), F.inv_freq)
    np.testing.assert_allclose(made.astype(np.float64), expected, atol=tolerance)


def test_bfloat16_of_ml_dtypes_rotates_into_a_result_and_in_place():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = numbers(2, 8, 64).astype(ml_dtypes.bfloat16)
    made = F.rotate(x, positions=range(8), layout="htd")
    assert made.dtype == ml_dtypes.bfloat16
    exact = rotate_half(x.astype(np.float64), range(8), F.inv_freq)
    np.testing.assert_allclose(made.astype(np.float64), exact, rtol=2**-8, atol=1e-6)
    wide = F.rotate(x.astype(np.float32), positions=range(8), layout="htd")
    np.testing.assert_array_equal(made, wide.astype(ml_dtypes.bfloat16))
    given = F.rotate(x, positions=range(8), layout="htd", out=np.empty_like(x))
    np.testing.assert_array_equal(given, made)
    assert F.rotate(x, positions=range(8), layout="htd", inplace=True) is x
    np.testing.assert_array_equal(x, made)


def test_positions_may_be_ranges_and_arrays():
    x = numbers(2, 1, 6, 64)
    rows = np.array([[0, 1, 2, 0, 1, 2], [5, 6, 7, 8, 9, 10]])
    made = F.rotate(x, positions=rows, layout="bhtd")
    np.testing.assert_allclose(made, rotate_half(x, rows[:, None], F.inv_freq), atol=2e-6)
    for same in (rows.tolist(), rows.astype(np.int32), rows.astype(np.uint8),
                 rows.astype(np.float64), rows.astype(np.float32), rows[:, ::-1][:, ::-1]):
        np.testing.assert_array_equal(F.rotate(x, positions=same, layout="bhtd"), made)
    half = F.rotate(x, positions=rows + 0.5, layout="bhtd")
    np.testing.assert_allclose(half, rotate_half(x, rows[:, None] + 0.5, F.inv_freq), atol=2e-6)
    stepped = F.rotate(x, positions=range(10, -2, -2), layout="bhtd")
    np.testing.assert_allclose(stepped, rotate_half(x, np.arange(10, -2, -2), F.inv_freq),
                               atol=2e-6)


@pytest.mark.parametrize("positions, message", [
    (7, "positions must be a range or an array with one for each token, got 7"),
    (np.arange(6, dtype=np.float16), "positions must be integers, float32 or float64, got float16"),
    (np.zeros(6, bool), "positions must be whole numbers below .*, got bool"),
    (np.zeros((1, 1, 1, 6), int), "positions must be .tokens., .*got an array of 4 axes"),
    (np.array([0, np.nan, 0, 0, 0, 0]), "position"),
    (np.full(6, 2**63, np.uint64), "positions must be whole numbers below .*, got uint64"),
    (range(5), "5"),
])
def test_unusable_positions_are_refused(positions, message):
    x = numbers(1, 1, 6, 64)
    before = x.copy()
    with pytest.raises(rotary.Error, match=message):
        F.rotate(x, positions=positions, layout="bhtd", inplace=True)
    np.testing.assert_array_equal(x, before)


def test_prepared_rotations_equal_single_calls():
    rotations = F.rotations(range(FAR, FAR + 8))
    q, k = numbers(1, 4, 8, 64), numbers(1, 2, 8, 64, seed=3)
    q2, k2 = rotations.rotate(q, k, layout="bhtd")
    np.testing.assert_array_equal(q2, F.rotate(q, positions=range(FAR, FAR + 8), layout="bhtd"))
    out = np.empty_like(q), np.empty_like(k)
    assert rotations.rotate(q, k, layout="bhtd", out=out) is out
    np.testing.assert_array_equal(out[1], k2)
    q0, k0 = q.copy(), k.copy()
    made = rotations.rotate(q, k, layout="bhtd", inplace=True)
    assert made[0] is q and made[1] is k
    np.testing.assert_array_equal(q, q2)
    rotations.rotate(q, k, layout="bhtd", inplace=True, direction="inverse")
    np.testing.assert_allclose(q, q0, atol=2e-6)
    np.testing.assert_allclose(k, k0, atol=2e-6)
    assert repr(rotations) == ("<rotary.Rotations batch=1, tokens=8, pairs=32, rows=f32, "
                               "pairing=half>")


def test_yarn_transpose_is_the_backward_pass_and_not_the_inverse():
    f = SPEC.replace(scaling={"rope_type": "yarn", "factor": 4,
                              "original_max_position_embeddings": 2048}).frequencies()
    a = f.attention_factor
    assert a > 1.1
    x, g = numbers(8, 64), numbers(8, 64, seed=4)
    rotations = f.rotations(range(8))
    y = rotations.rotate(x, layout="td")
    back = rotations.rotate(g, layout="td", direction="transpose")
    np.testing.assert_allclose((y * g).sum(), (x * back).sum(), rtol=1e-4)
    np.testing.assert_allclose(rotations.rotate(y, layout="td", direction="transpose"), a * a * x,
                               atol=1e-5)
    np.testing.assert_allclose(rotations.rotate(y, layout="td", direction="inverse"), x, atol=1e-5)


def test_a_slice_of_a_fused_projection_is_rotated_in_place():
    qkv = numbers(2, 8, 8, 64)  # [b, t, 4 + 2 + 2 heads, d]
    before = qkv.copy()
    q, k = qkv[:, :, :4], qkv[:, :, 4:6]
    F.rotate(q, k, positions=range(8), layout="bthd", inplace=True)
    np.testing.assert_array_equal(qkv[:, :, 6:], before[:, :, 6:])
    expected = rotate_half(before.swapaxes(1, 2), range(8), F.inv_freq).swapaxes(1, 2)
    np.testing.assert_allclose(qkv[:, :, :6], expected[:, :, :6], atol=2e-6)


def test_tables_equal_cos_and_sin_in_every_form():
    positions = [0, 1, FAR]
    angles = np.outer(positions, inv_freq(64, 1e4))
    cos, sin = F.tables(positions, form="pairs")
    assert cos.shape == (1, 3, 32) and cos.dtype == np.float32
    np.testing.assert_allclose(cos[0], np.cos(angles), atol=1e-6)
    np.testing.assert_allclose(sin[0], np.sin(angles), atol=1e-6)
    hf = F.tables(positions)
    np.testing.assert_array_equal(hf[0], np.concatenate((cos, cos), -1))
    np.testing.assert_array_equal(F.tables(positions, form="interleaved")[1],
                                  np.repeat(sin, 2, -1))
    np.testing.assert_array_equal(F.tables(positions, form="complex"), cos + 1j * sin)
    doubles = F.tables(positions, form="pairs", dtype=np.float64)
    assert doubles[0].dtype == np.float64
    np.testing.assert_allclose(doubles[0][0], np.cos(angles), atol=1e-10)
    assert F.tables(positions, dtype="float16")[0].dtype == np.float16
    with pytest.raises(rotary.Error, match="form must be one of hf, interleaved, pairs, complex"):
        F.tables(positions, form="neox")


def test_rotations_made_of_given_rows_rotate():
    cos, sin = F.tables(range(5), form="pairs")
    rotations = rotary.Rotations.of_rows(SPEC, cos, sin)
    x = numbers(5, 64)
    np.testing.assert_array_equal(rotations.rotate(x, layout="td"),
                                  F.rotate(x, positions=range(5), layout="td"))
    with pytest.raises(rotary.Error, match="cos and sin must have 32 pairs, got 64"):
        rotary.Rotations.of_rows(SPEC, *F.tables(range(5)))
    with pytest.raises(rotary.Error):
        rotary.Rotations.of_rows(SPEC, cos, 2 * sin)


def test_transformers_numerics_round_as_the_model_does():
    f = SPEC.replace(numerics="transformers").frequencies()
    far = range(FAR, FAR + 1)
    theirs = f.tables(far, form="pairs")[0]
    exact = F.tables(far, form="pairs")[0]
    assert np.all(f.inv_freq == f.inv_freq.astype(np.float32))
    angle = np.float32(FAR) * f.inv_freq.astype(np.float32)
    np.testing.assert_allclose(theirs[0, 0], np.cos(angle), atol=1e-6)
    assert np.abs(theirs - exact).max() > 1e-4


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_vllm_numerics_equal_its_formula_bit_for_bit(dtype, pairing):
    narrow = np.dtype(getattr(pytest.importorskip("ml_dtypes"), dtype, dtype))
    f = SPEC.replace(numerics="vllm", pairing=pairing, rounding="result").frequencies()
    q = numbers(64, 8, 64).astype(narrow)
    angle = np.float64(np.arange(64, dtype=np.float32)[:, None] * np.float32(f.inv_freq))
    cos, sin = (np.float32(np.float32(x).astype(narrow))[:, None]
                for x in (np.cos(angle), np.sin(angle)))
    wide = np.float32(q)
    one, other = np.split(wide, 2, -1) if pairing == "half" else (wide[..., ::2], wide[..., 1::2])
    parts = [x.astype(narrow) for x in (one * cos - other * sin, other * cos + one * sin)]
    wanted = np.concatenate(parts, -1) if pairing == "half" else np.stack(parts, -1)
    np.testing.assert_array_equal(f.rotate(q, positions=range(64), layout="thd"),
                                  wanted.reshape(q.shape))


def test_each_pair_follows_its_axis():
    spec = SPEC.replace(axes={"pairs": [8, 12, 12], "exponents": "shared"})
    f = spec.frequencies()
    assert f.axes == 3 and spec.axes["pairs"] == (8, 12, 12)
    positions = np.array([[0, 1, 2, 3], [0, 5, 6, 7], [0, 9, 1, 4]])[:, None]
    x = numbers(1, 1, 4, 64)
    made = f.rotate(x, positions=positions, layout="bhtd")
    of_pair = np.repeat([0, 1, 2], [8, 12, 12])
    angles = positions[of_pair, 0].T * inv_freq(64, 1e4)
    turned = (x[..., :32] + 1j * x[..., 32:]) * np.exp(1j * angles)
    np.testing.assert_allclose(made, np.concatenate((turned.real, turned.imag), -1), atol=2e-6)
    text = f.rotate(x, positions=range(4), layout="bhtd")
    np.testing.assert_array_equal(text, F.rotate(x, positions=range(4), layout="bhtd"))


def test_xpos_needs_a_role():
    f = SPEC.replace(xpos={"scale_base": 512}).frequencies()
    x = numbers(4, 64)
    with pytest.raises(rotary.Error, match="role"):
        f.rotate(x, positions=range(4), layout="td")
    q = f.rotate(x, positions=range(4), layout="td", role="query")
    k = f.rotate(x, positions=range(4), layout="td", role="key")
    assert not np.array_equal(q, k)


@pytest.mark.parametrize("call, said", [
    (lambda q: F.rotate(q.swapaxes(1, 2), positions=range(5), layout="bhtd"),
     r"q: tokens .* got 2 \(are heads and tokens swapped\?\)"),
    (lambda q: F.rotate(q, positions=range(5), layout="thd"), "each of 4 axes of q once"),
    (lambda q: F.rotate(q, positions=5, layout="bhtd"), r"got 5; range\(n\)"),
    (lambda q: rotary.shift(q, layout="bhtd", before=F, positions=range(5),
                            new_positions=range(4)), "positions and new_positions must"),
    (lambda q: rotary.resolve("/"), "config must be a folder with a config.json, got '/'"),
    (lambda q: rotary.diff(F.spec, "no-such-model"), "one must be a path"),
    (lambda q: rotary.diff("llama-3.1-8b", "no-such-model"), "^other must be a file"),
])
def test_messages_name_the_callers_argument(call, said):
    q = np.ones((1, 2, 5, F.spec.head_dim), np.float32)
    with pytest.raises((TypeError, rotary.Error), match=said):
        call(q)
