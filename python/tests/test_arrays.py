# SPDX-License-Identifier: Apache-2.0
"""A caller's array is never silently copied, truncated or misread."""

import numpy as np
import pytest
import rotary
from reference import numbers

F = rotary.RotarySpec(head_dim=8, base=1e4, pairing="half").frequencies()
ROWS = F.rotations(range(3))


def test_read_only_arrays_can_be_read_but_not_written():
    x = numbers(3, 8)
    expected = ROWS.rotate(x, layout="td")
    x.flags.writeable = False
    np.testing.assert_array_equal(ROWS.rotate(x, layout="td"), expected)
    with pytest.raises(TypeError, match="q must be a writable array .* may be read-only"):
        ROWS.rotate(x, layout="td", inplace=True)
    out = np.zeros((3, 8), np.float32)
    out.flags.writeable = False
    with pytest.raises(TypeError, match="writable"):
        ROWS.rotate(expected, layout="td", out=out)
    assert not out.any()


@pytest.mark.parametrize("dtype", ["int32", "uint16", "bool", "complex64", "float128", "<U3", "O"])
def test_unusable_dtypes_are_refused_by_name(dtype):
    x = np.zeros((3, 8), dtype)
    with pytest.raises(TypeError, match=f"q must be of float32, .*, got .*{x.dtype}"):
        ROWS.rotate(x, layout="td")


def test_an_output_of_another_dtype_is_refused():
    x = numbers(3, 8)
    for dtype, message in ((np.float64, "f64"), (np.float16, "f16")):
        out = np.zeros((3, 8), dtype)
        with pytest.raises(rotary.Error, match=message):
            ROWS.rotate(x, layout="td", out=out)
        assert not out.any()
    with pytest.raises(TypeError, match="byte order"):
        ROWS.rotate(x.astype(">f4"), layout="td")


def test_masked_arrays_are_refused():
    with pytest.raises(TypeError, match="q must not be a masked array"):
        ROWS.rotate(np.ma.array(numbers(3, 8)), layout="td")


def test_strided_arrays_are_rotated_as_if_contiguous():
    big = numbers(6, 16)
    x = big[::-2, ::2]
    expected = ROWS.rotate(np.ascontiguousarray(x), layout="td")
    np.testing.assert_array_equal(ROWS.rotate(x, layout="td"), expected)
    ROWS.rotate(x, layout="td", inplace=True)
    np.testing.assert_array_equal(big[::-2, ::2], expected)


def test_overlapping_memory_is_refused():
    memory = numbers(4, 8)
    before = memory.copy()
    with pytest.raises(rotary.Error):
        ROWS.rotate(memory[:3], layout="td", out=memory[1:])
    np.testing.assert_array_equal(memory, before)
    repeated = np.lib.stride_tricks.as_strided(memory, (3, 8), (0, 4))
    with pytest.raises(rotary.Error):
        ROWS.rotate(repeated, layout="td", inplace=True)


def test_q_is_unchanged_if_k_is_refused():
    q, k = numbers(1, 2, 3, 8), numbers(1, 2, 4, 8)
    out = np.zeros_like(q), np.zeros_like(k)
    with pytest.raises(rotary.Error, match="tokens"):
        ROWS.rotate(q, k, layout="bhtd", out=out)
    with pytest.raises(rotary.Error, match="share"):
        ROWS.rotate(q, k[:, :, :3], layout="bhtd", out=(out[0], q))
    assert not out[0].any() and not out[1].any()
    before = q.copy()
    with pytest.raises(rotary.Error):
        ROWS.rotate(q, k, layout="bhtd", inplace=True)
    np.testing.assert_array_equal(q, before)


@pytest.mark.parametrize("layout", ["", "t", "tt", "tx", "btd", "dt3"])
def test_unusable_layouts_are_refused(layout):
    with pytest.raises(rotary.Error, match="layout must name each of 2 axes of .* once"):
        ROWS.rotate(numbers(3, 8), layout=layout)


def test_outputs_that_do_not_fit_the_call_are_refused():
    with pytest.raises(TypeError, match="out must be a pair of arrays"):
        ROWS.rotate(numbers(3, 8), numbers(3, 8), layout="td", out=numbers(3, 8))
    with pytest.raises(rotary.Error, match="out must be None where inplace is True"):
        ROWS.rotate(numbers(3, 8), layout="td", inplace=True, out=numbers(3, 8))


def test_empty_arrays_give_empty_results():
    rows = F.rotations(range(0))
    assert rows.rotate(np.zeros((0, 8), np.float32), layout="td").shape == (0, 8)


def immutable(module, cls="Array"):
    """An array like those of JAX and MLX: immutable, but its export claims to be writable."""
    def array_protocol(self, dtype=None, copy=None):
        return self.memory

    made = type(cls, (), {"__module__": module, "__array__": array_protocol})()
    made.memory = numbers(3, 8)
    made.__class__.__dlpack__ = lambda self, **options: self.memory.__dlpack__(**options)
    made.__class__.__dlpack_device__ = lambda self: (1, 0)
    return made


@pytest.mark.parametrize("module", ["jaxlib._jax", "mlx.core"])
def test_immutable_arrays_are_unchanged(module):
    x = immutable(module)
    before = x.memory.copy()
    for options in ({"inplace": True}, {"out": x}):
        with pytest.raises(TypeError, match="arrays of other frameworks do not change"):
            ROWS.rotate(x, layout="td", **options)
        with pytest.raises(TypeError, match="arrays of other frameworks do not change"):
            ROWS.rotate(x, x, layout="td", **options | {"out": (x, x)} if "out" in options
                        else options)
    np.testing.assert_array_equal(x.memory, before)


@pytest.mark.parametrize("name", ["jax.numpy", "mlx.core"])
def test_results_have_the_callers_framework(name):
    xp = pytest.importorskip(name)
    x = xp.array(numbers(3, 8))
    made = ROWS.rotate(x, layout="td")
    assert type(made) is type(x)
    np.testing.assert_array_equal(np.asarray(made), ROWS.rotate(numbers(3, 8), layout="td"))
    np.testing.assert_array_equal(np.asarray(x), numbers(3, 8))
    with pytest.raises(TypeError, match="do not change"):
        ROWS.rotate(x, layout="td", inplace=True)
