# SPDX-License-Identifier: Apache-2.0
"""Tensors on an NVIDIA GPU: results bit-identical to the CPU's, gradients, tracing, refusals."""

import pytest
import rotary

torch = pytest.importorskip("torch", reason="torch is not installed: ./dev python --torch runs it")
if not torch.cuda.is_available():
    pytest.skip("torch sees no NVIDIA GPU", allow_module_level=True)
from rotary import _cuda  # noqa: E402

if _cuda.library() is None:
    pytest.skip("ROTARY_CUDA_LIBRARY names no library built with ROTARY_CUDA",
                allow_module_level=True)

SPEC = rotary.RotarySpec(head_dim=64, base=1e4, pairing="half")
YARN = SPEC.replace(scaling={"rope_type": "yarn", "factor": 4,
                             "original_max_position_embeddings": 64})
AXES = SPEC.replace(axes={"pairs": [8, 12, 12], "exponents": "shared"})


def same(one, other):
    return torch.equal(one.cpu().view(torch.uint8), other.cpu().view(torch.uint8))


@pytest.mark.parametrize("spec", [SPEC, YARN, AXES])
@pytest.mark.parametrize("first", [0, 131_000, 2**31 - 20, 2**62])
def test_tables_are_bit_identical_to_the_cpu(spec, first):
    at = torch.arange(first, first + 40).reshape(2, 20)
    if spec is AXES:
        at = torch.stack((at, at // 3, at // 5))
    made = rotary.torch.tables(spec, at.cuda())
    for got, wanted in zip(made, rotary.torch.tables(spec, at)):
        assert got.is_cuda and same(got, wanted)


def test_tables_made_only_by_the_cpu_are_copied_to_the_device():
    at = torch.tensor([0.5, 1.25])
    assert same(rotary.torch.tables(SPEC, at.cuda())[0], rotary.torch.tables(SPEC, at)[0])
    cos, _ = rotary.torch.tables(SPEC, at.cuda(), dtype=torch.float64)
    assert cos.is_cuda and cos.dtype == torch.float64


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("pairing", ["half", "interleaved", "interleaved_to_half"])
@pytest.mark.parametrize("direction", ["forward", "inverse", "transpose"])
def test_rotate_is_bit_identical_to_the_cpu(name, pairing, direction):
    x = torch.randn(2, 3, 5, 64).to(getattr(torch, name))
    cos, sin = rotary.torch.tables(SPEC, torch.arange(5))
    options = {"pairing": pairing, "layout": "bhtd", "direction": direction}
    wanted = rotary.torch.rotate(x, cos, sin, **options)
    assert same(rotary.torch.rotate(x.cuda(), cos.cuda(), sin.cuda(), **options), wanted)
    part = rotary.torch.rotate(x.cuda()[:, :, :, ::1].transpose(1, 2), cos.cuda(), sin.cuda(),
                               pairing=pairing, layout="bthd", direction=direction)
    assert same(part.transpose(1, 2).contiguous(), wanted)


def test_gradients_vmap_and_compile_equal_plain_calls():
    cos, sin = (row.cuda() for row in rotary.torch.tables(SPEC, torch.arange(5)))
    x = torch.randn(2, 3, 5, 64, device="cuda", requires_grad=True)
    options = {"pairing": "half", "layout": "bhtd"}

    def turn(x):
        return rotary.torch.rotate(x, cos, sin, **options)

    made = turn(x)
    made.backward(made.detach())
    assert torch.allclose(x.grad, x, atol=1e-5)  # R^T R = 1
    compiled = torch.compile(turn, fullgraph=True)
    assert torch.equal(compiled(x.detach()), made)
    mapped = torch.vmap(lambda one: rotary.torch.rotate(one, cos, sin, pairing="half",
                                                        layout="htd"))(x.detach())
    assert torch.equal(mapped, made)
    torch.library.opcheck(torch.ops.rotary.rotate.default,
                          (x, cos, sin, "half", "bhtd", [0, 1], 1.0, "forward"))


def test_the_module_is_bit_identical_to_the_cpu():
    embedding = rotary.torch.RotaryEmbedding(YARN)
    q, k, at = torch.randn(1, 4, 9, 64), torch.randn(1, 2, 9, 64), torch.arange(9) * 1000
    wanted = embedding(q, k, at, layout="bhtd")
    made = embedding(q.cuda(), k.cuda(), at.cuda(), layout="bhtd")
    assert all(same(got, expected) for got, expected in zip(made, wanted))


def test_a_cuda_graph_reads_the_positions_at_each_replay():
    at = torch.zeros(1, 4, dtype=torch.int64, device="cuda")
    x = torch.randn(1, 2, 4, 64, device="cuda")
    embedding = rotary.torch.RotaryEmbedding(SPEC)
    embedding(x, x, at, layout="bhtd")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made, _ = embedding(x, x, at, layout="bhtd")
    for first in (7, 100_000):
        at.copy_(torch.arange(first, first + 4))
        graph.replay()
        wanted, _ = embedding(x.cpu(), x.cpu(), torch.arange(first, first + 4), layout="bhtd")
        assert same(made, wanted)


def test_unusable_tensors_are_refused():
    cos, sin = (row.cuda() for row in rotary.torch.tables(SPEC, torch.arange(5)))
    options = {"pairing": "half", "layout": "bhtd"}
    with pytest.raises(rotary.Error, match="must be of float32, bfloat16 or float16"):
        rotary.torch.rotate(torch.randn(1, 1, 5, 64, device="cuda").double(), cos, sin, **options)
    with pytest.raises(rotary.Error, match="tokens must be those of the positions, 5; got 6"):
        rotary.torch.rotate(torch.randn(1, 1, 6, 64, device="cuda"), cos, sin, **options)
