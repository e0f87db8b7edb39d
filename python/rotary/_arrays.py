# SPDX-License-Identifier: Apache-2.0
"""Converts arrays of NumPy, ml_dtypes, torch, JAX and MLX to operands, and results back.

An operand is an argument of rotary._core: a NumPy array or (address, dtype, shape, strides,
owner). Only arrays of NumPy and torch are written to. JAX and MLX arrays are immutable, although
their exports claim to be writable.
"""

import functools
import math
import sys

import numpy as np

from rotary._checks import shown, whole
from rotary._errors import invalid

DIRECTIONS = {"forward": 1, "inverse": 2, "transpose": 3}
_F16, _F32, _F64 = (np.dtype(name) for name in ("f2", "f4", "f8"))
_PLAIN = frozenset(dtype.num for dtype in (_F16, _F32, _F64))
_DTYPE_NAMES = {
    "float32": "f32", "bfloat16": "bf16", "float16": "f16", "float64": "f64",
    "f32": "f32", "bf16": "bf16", "f16": "f16", "f64": "f64",
}


def is_torch(x) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def numpy_operand(x, what: str):
    """Returns x, or the bits of a bfloat16 array as uint16: NumPy cannot export bfloat16."""
    dtype = x.dtype
    if type(x) is np.ndarray and (dtype is _F32 or dtype is _F16 or dtype is _F64):
        return x  # the usual case, three times as fast as the checks below
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{what} must not be a masked array: its mask would be lost")
    if not x.dtype.isnative:
        raise TypeError(f"{what} must have this machine's byte order, got {x.dtype}")
    if x.dtype.num in _PLAIN:
        return x
    if x.dtype.name == "bfloat16":
        return x.view(np.uint16)
    raise _refused_dtype(x, what)


def _refused_dtype(x, what: str) -> TypeError:
    return TypeError(f"{what} must be of float32, float64, float16 or bfloat16, got {x.dtype}")


@functools.lru_cache(maxsize=64)
def _name_of(dtype) -> str | None:
    """Returns "f32", "bf16", "f16" or "f64" for a dtype or its name; None for other dtypes."""
    return _DTYPE_NAMES.get(str(dtype).rpartition(".")[2])


def torch_operand(x, what: str, *, writes: bool = False):
    """Passes a tensor by its address. DLPack would cost microseconds, and drop requires_grad and
    the negative bit."""
    if not x.is_cpu:
        raise TypeError(
            f"{what} must be on the CPU, got {x.device}: make the tables by "
            f"Frequencies.tables(positions), move them there and rotate there"
        )
    name = _name_of(x.dtype)
    if name is None:
        raise _refused_dtype(x, what)
    if x.is_neg():
        if writes:
            raise TypeError(f"{what} must not be a negated view: call resolve_neg() first")
        x = x.resolve_neg()
    if writes and not x.is_inference():
        # If autograd saved x, backward() now refuses to use the changed values.
        sys.modules["torch"].autograd.graph.increment_version(x)
    return (x.data_ptr(), name, x.shape, x.stride(), x)


def to_read(x, what: str):
    """Returns an operand to read. Refuses tensors that require a gradient."""
    if is_torch(x):
        if x.requires_grad:
            raise TypeError(f"{what} requires a gradient, which a cache would lose: detach() it")
        return torch_operand(x, what)
    return numpy_operand(x if isinstance(x, np.ndarray) else as_numpy(x, what), what)


def to_write(x, what: str):
    """Returns an operand to write to, which must be an array of NumPy or torch."""
    if isinstance(x, np.ndarray):
        return numpy_operand(x, what)
    if is_torch(x):
        return torch_operand(x, what, writes=True)
    raise TypeError(f"{what} must be an array of NumPy or torch, got {type(x).__name__}: "
                    "arrays of other frameworks do not change")


def pair_of(out) -> tuple:
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise TypeError("out must be a pair of arrays, for q and for k")
    return tuple(out)


def int8_operand(x, what: str, *, writes: bool = False):
    if is_torch(x) and str(x.dtype) == "torch.int8" and x.is_cpu:
        if writes and not x.is_inference():
            sys.modules["torch"].autograd.graph.increment_version(x)
        return (x.data_ptr(), "i8", x.shape, x.stride(), x)
    if isinstance(x, np.ndarray) and x.dtype == np.int8:
        return x
    raise TypeError(f"{what} must be an array of int8 of NumPy or torch, on the CPU, got "
                    f"{getattr(x, 'dtype', type(x).__name__)}")


def framework_of(x) -> str:
    """Returns "numpy", "torch", "jax" or "mlx"; "" for other objects."""
    if isinstance(x, np.ndarray):
        return "numpy"
    if is_torch(x):
        return "torch"
    top = type(x).__module__.split(".", 1)[0]
    return {"jax": "jax", "jaxlib": "jax", "mlx": "mlx"}.get(top, "")


def as_numpy(x, what: str) -> np.ndarray:
    """Returns an array of JAX or MLX as NumPy, to read. A tracer raises JAX's own error."""
    if framework_of(x) in ("jax", "mlx"):
        return np.asarray(x)
    raise TypeError(f"{what} must be an array of NumPy, torch, JAX or MLX, got {type(x).__name__}")


def as_framework(result: np.ndarray, like):
    """Converts the array to the framework of `like`, JAX or MLX."""
    if framework_of(like) == "mlx":
        import mlx.core as mx

        return mx.array(result)
    import jax.numpy as jnp

    return jnp.asarray(result)


def dtype_name(x, what: str) -> str:
    """Returns the array's dtype: "f32", "bf16", "f16" or "f64"."""
    if not framework_of(x):
        as_numpy(x, what)
    name = _name_of(x.dtype)
    if name is None:
        raise _refused_dtype(x, what)
    return name


def named_dtype(dtype) -> str:
    """Returns the library's name of a dtype, given as a dtype of NumPy or torch or by name."""
    if isinstance(dtype, type):
        dtype = np.dtype(dtype)
    name = None if isinstance(dtype, int) else _name_of(str(dtype))
    if name is None:
        raise invalid(f"dtype must be one of f32, bf16, f16, f64, got {shown(dtype)}")
    return name


def any_array(x, what: str) -> np.ndarray:
    """Returns x as a NumPy array of any dtype. Refuses ragged lists."""
    try:
        return np.asarray(x)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} must be an array, got {shown(x)}") from None


def numpy_dtype(dtype) -> np.dtype:
    name = named_dtype(dtype)
    if name == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return {"f32": _F32, "f16": _F16, "f64": _F64}[name]


def check_extents(shape: tuple[int, ...], what: str) -> None:
    if min(shape, default=0) < 0 or math.prod(shape) >= 2**48:
        raise invalid(f"{what} must be at least 0, with a product below 2^48, got {shape}")


def numbers(x, what: str) -> np.ndarray:
    """Returns numbers of any dtype as float64."""
    try:
        return np.asarray(x.detach().cpu().double() if is_torch(x) else x, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} must be an array of numbers, got {shown(x)}") from None


def token_numbers(positions, what: str):
    """Returns (first, tokens) for a range of step 1, else positions_array()."""
    if type(positions) is range and positions.step == 1:
        first = whole(positions.start, what)
        return first, whole(max(positions.stop - first, 0), what)
    return positions_array(positions, what)


def positions_array(positions, what: str) -> np.ndarray:
    """Returns positions as int32, int64 or float64. Refuses 16-bit floats: bfloat16 cannot tell
    all positions beyond 256 apart, float16 beyond 2048."""
    if is_torch(positions):
        positions = positions.detach().cpu()
        if positions.dtype in (sys.modules["torch"].bfloat16,):
            raise invalid(_NARROW.format(what, positions.dtype))
        positions = positions.resolve_neg().numpy()
    array = any_array(positions, what)
    if array.ndim == 0:
        raise invalid(f"{what} must be a range or an array with one for each "
                      f"token, got {shown(positions)}; range(n) is for n tokens from position 0")
    kind = array.dtype.kind
    if array.dtype.name in ("bfloat16", "float16"):
        raise invalid(_NARROW.format(what, array.dtype))
    if array.dtype in (np.int32, np.int64, np.float64) and array.dtype.isnative:
        return array
    if kind == "i" or (kind == "u" and (array.dtype.itemsize < 8 or not array.size
                                        or int(array.max()) < 2**63)):
        return array.astype(np.int64)
    if kind == "f":
        return array.astype(np.float64)
    if not array.size:
        return array.astype(np.int64)
    raise invalid(f"{what} must be whole numbers below 2^63, or floats, got {array.dtype}")


_NARROW = "{} must be integers, float32 or float64, got {}: too narrow to tell positions apart"
