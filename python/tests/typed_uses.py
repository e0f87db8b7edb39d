# SPDX-License-Identifier: Apache-2.0
"""Correct calls, and wrong ones that mypy must refuse, as test_package.py checks. Never run."""

import numpy as np

import rotary

model = rotary.resolve("llama-3.1-8b")
f = model.frequencies()
q = np.zeros((1, 32, 16, 128), np.float32)
k = np.zeros((1, 8, 16, 128), np.float32)

one: np.ndarray = f.rotate(q, positions=range(16), layout="bhtd")
both: tuple[np.ndarray, np.ndarray] = f.rotate(q, k, positions=range(16), layout="bhtd")
cos, sin = f.tables(range(16), form="pairs")
rows: np.ndarray = f.tables(range(16), form="complex")
back = f.rotations(range(16)).rotate(q, layout="bhtd", direction="inverse")
shape = back.shape

f.rotate(q, positions=range(16), layout="bhtd", direction="backward")  # wrong: call-overload
f.rotate(q, positions=range(16))  # wrong: call-overload
f.tables(range(16), form="half")  # wrong: call-overload
f.rotations(range(16), role="value")  # wrong: arg-type
model.frequencies(context="long")  # wrong: arg-type
alone: np.ndarray = f.rotate(q, k, positions=range(16), layout="bhtd")  # wrong: assignment
