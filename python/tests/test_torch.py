# SPDX-License-Identifier: Apache-2.0
"""Calls and operators on tensors keep gradients and read memory correctly."""

import numpy as np
import pytest
import rotary
from reference import numbers, rotate_half

torch = pytest.importorskip("torch", reason="torch is not installed: ./dev python --torch runs it")

SPEC = rotary.RotarySpec(head_dim=16, base=1e4, pairing="half")
F = SPEC.frequencies()
YARN = SPEC.replace(scaling={"rope_type": "yarn", "factor": 4,
                             "original_max_position_embeddings": 64})
ROWS = F.rotations(range(5))


def tensor(*shape, **options):
    return torch.from_numpy(numbers(*shape)).to(options.pop("dtype", torch.float32)
                                                ).requires_grad_(options.pop("grad", False))


def formula(x, cos, sin):
    """rotate_half on [b, h, t, d]."""
    cos, sin = (torch.cat((row, row), -1)[:, None].to(x.dtype) for row in (cos, sin))
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16", "float64"])
def test_tensors_rotate_in_place_and_into_new_ones(name):
    dtype = getattr(torch, name)
    x = tensor(1, 2, 5, 16, dtype=dtype)
    made = F.rotate(x, positions=range(5), layout="bhtd")
    assert made.dtype == dtype and type(made) is torch.Tensor
    expected = rotate_half(x.double().numpy(), range(5), F.inv_freq)
    tolerance = {"float32": 2e-6, "bfloat16": 2e-2, "float16": 2e-3, "float64": 1e-12}[name]
    np.testing.assert_allclose(made.double().numpy(), expected, atol=tolerance)
    out = torch.empty_like(x)
    assert F.rotate(x, positions=range(5), layout="bhtd", out=out) is out
    assert F.rotate(x, positions=range(5), layout="bhtd", inplace=True) is x
    assert torch.equal(x, made) and torch.equal(out, made)
    q, k = ROWS.rotate(tensor(1, 2, 5, 16), tensor(1, 1, 5, 16), layout="bhtd")
    assert torch.equal(k[0, 0], q[0, 0])


def test_positions_may_be_tensors():
    x, ids = tensor(2, 1, 5, 16), torch.tensor([[0, 1, 2, 3, 4], [7, 8, 9, 10, 11]])
    made = F.rotate(x, positions=ids, layout="bhtd")
    expected = rotate_half(x.numpy(), ids.numpy()[:, None], F.inv_freq)
    np.testing.assert_allclose(made.numpy(), expected, atol=2e-6)
    with pytest.raises(rotary.Error, match="too narrow to tell positions apart"):
        F.rotate(x, positions=ids.bfloat16(), layout="bhtd")


def test_calls_keep_gradients_or_refuse_the_tensor():
    x = tensor(1, 2, 5, 16, grad=True)
    made = ROWS.rotate(x, layout="bhtd")
    assert made.requires_grad
    made.backward(torch.ones_like(made))
    ones = ROWS.rotate(torch.ones_like(x), layout="bhtd", direction="transpose")
    assert torch.equal(x.grad, ones)
    for options in ({"inplace": True}, {"out": torch.empty_like(x)}):
        with pytest.raises(TypeError, match="gradient"):
            ROWS.rotate(x, layout="bhtd", **options)
    with pytest.raises(TypeError, match="gradient"):
        ROWS.rotate(x.detach(), layout="bhtd", out=torch.empty_like(x).requires_grad_())
    cache = torch.zeros(1, 2, 8, 16)
    with pytest.raises(TypeError, match="k requires a gradient, which a cache would lose"):
        rotary.append(cache, x, slots=0, layout="bhtd", rotations=ROWS)
    with pytest.raises(TypeError, match="q requires a gradient"):
        rotary.attend(x, x, x, scale=1, layout="bhtd", causal=True)
    with torch.no_grad():
        assert not ROWS.rotate(x, layout="bhtd").requires_grad
    parameter = torch.nn.Parameter(x.detach().clone())
    assert ROWS.rotate(parameter, layout="bhtd").requires_grad


def test_autograd_notices_writes():
    for write in (lambda x: ROWS.rotate(x, layout="td", inplace=True),
                  lambda x: ROWS.rotate(tensor(5, 16), layout="td", out=x),
                  lambda x: rotary.shift(x, layout="td", before=F, positions=range(5),
                                         new_positions=range(5, 10))):
        x, weight = tensor(5, 16), tensor(5, 16, grad=True)
        product = (x * weight).sum()
        write(x)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()
    with torch.inference_mode():
        x = tensor(5, 16) * 1
        ROWS.rotate(x, layout="td", inplace=True)


def test_a_negated_view_is_read_with_its_sign():
    x = tensor(5, 16)
    negated = torch._neg_view(x)
    assert negated.is_neg()
    assert torch.equal(ROWS.rotate(negated, layout="td"), ROWS.rotate(-x, layout="td"))
    for options in ({"inplace": True}, {"out": torch._neg_view(torch.zeros(5, 16))}):
        with pytest.raises(TypeError, match="resolve_neg"):
            ROWS.rotate(negated, layout="td", **options)


@pytest.mark.parametrize("make, message", [
    (lambda: torch.zeros(5, 16, dtype=torch.complex64), "complex64"),
    (lambda: torch.zeros(5, 16, dtype=torch.int64), "int64"),
    (lambda: torch.zeros(5, 16).to(torch.float8_e4m3fn), "float8_e4m3fn"),
    (lambda: torch.zeros(5, 16, device="meta"), "must be on the CPU, got meta"),
])
def test_unusable_tensors_are_refused_by_name(make, message):
    with pytest.raises(TypeError, match=message):
        ROWS.rotate(make(), layout="td")


def test_fused_projections_rotate_as_views():
    qkv = tensor(1, 5, 4, 16)
    before = qkv.clone()
    ROWS.rotate(qkv[:, :, :2], qkv[:, :, 2:3], layout="bthd", inplace=True)
    assert torch.equal(qkv[:, :, 3], before[:, :, 3])
    assert torch.equal(qkv[:, :, :3], ROWS.rotate(before[:, :, :3], layout="bthd"))


def test_arrays_of_two_frameworks_are_refused():
    with pytest.raises(TypeError, match="of one framework, got numpy and torch"):
        ROWS.rotate(tensor(5, 16), numbers(5, 16), layout="td")


def operands(spec=SPEC, grad=True, dtype=torch.float32):
    cos, sin = rotary.torch.tables(spec, torch.arange(5))
    return tensor(2, 3, 5, 16, grad=grad, dtype=dtype), cos, sin


def test_operators_pass_opcheck():
    x, cos, sin = operands()
    arguments = (x, cos, sin, "half", "bhtd", [0, 1], 1.0, "forward")
    torch.library.opcheck(torch.ops.rotary.rotate.default, arguments)
    transposed = (x.detach().transpose(1, 2).requires_grad_(), *arguments[1:4], "bthd",
                  *arguments[5:])
    torch.library.opcheck(torch.ops.rotary.rotate.default, transposed)
    torch.library.opcheck(torch.ops.rotary.rows.default,
                          (torch.arange(5), SPEC.to_json(), 0, False))


@pytest.mark.parametrize("spec", [SPEC, YARN])
@pytest.mark.parametrize("direction", ["forward", "inverse", "transpose"])
def test_results_and_gradients_equal_the_formula(spec, direction):
    factor = spec.frequencies().attention_factor
    cos, sin = rotary.torch.tables(spec, torch.arange(5), dtype=torch.float64)
    x = tensor(1, 2, 5, 16, grad=True, dtype=torch.float64)
    sign, scale = {"forward": (1, 1), "transpose": (-1, 1),
                   "inverse": (-1, factor**-2)}[direction]
    made = rotary.torch.rotate(x, cos, sin, pairing="half", layout="bhtd",
                               attention_factor=factor, direction=direction)
    expected = formula(x, cos, sign * sin) * scale
    torch.testing.assert_close(made, expected, rtol=1e-12, atol=1e-12)
    weights = torch.from_numpy(numbers(1, 2, 5, 16, seed=5)).double()
    one, = torch.autograd.grad((made * weights).sum(), x, retain_graph=True)
    other, = torch.autograd.grad((expected * weights).sum(), x)
    torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
    assert torch.autograd.gradgradcheck(
        lambda x: rotary.torch.rotate(x, cos, sin, pairing="half", layout="bhtd",
                                      attention_factor=factor, direction=direction), (x,))


def test_gradients_of_learned_tables_are_refused():
    x, cos, sin = operands()
    with pytest.raises(rotary.Error, match="cos and sin must not require a gradient"):
        rotary.torch.rotate(x, cos.requires_grad_(), sin, pairing="half", layout="bhtd")


def test_tangents_are_rotated_and_not_dropped():
    x, t = tensor(5, 16), torch.ones(5, 16)
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        made = forward_ad.unpack_dual(ROWS.rotate(forward_ad.make_dual(x, t), layout="td"))
        assert torch.equal(made.primal, ROWS.rotate(x, layout="td"))
        assert torch.equal(made.tangent, ROWS.rotate(t, layout="td"))
    primal, tangent = torch.func.jvp(lambda x: ROWS.rotate(x, layout="td"), (x,), (t,))
    assert torch.equal(primal, ROWS.rotate(x, layout="td"))
    assert torch.equal(tangent, ROWS.rotate(t, layout="td"))
    # Under torch.func.grad, torch refuses operators that register their own gradient.
    with pytest.raises(RuntimeError, match="functorch"):
        torch.func.grad(lambda x: ROWS.rotate(x, layout="td").sum())(x)


def test_vmap_maps_each_operand():
    x, cos, sin = operands(grad=False)

    def call(x, cos, sin):
        return rotary.torch.rotate(x, cos, sin, pairing="half", layout="htd")

    whole = rotary.torch.rotate(x, cos, sin, pairing="half", layout="bhtd")
    assert torch.equal(torch.vmap(call, (0, None, None))(x, cos, sin), whole)
    turned = torch.vmap(call, (3, None, None))(x.movedim(0, 3), cos, sin)
    assert torch.equal(turned, whole)
    rows = [row.expand(2, -1, -1, -1).clone() for row in (cos, sin)]
    assert torch.equal(torch.vmap(call)(x, *rows), whole)
    many = torch.stack((x, 2 * x))
    batched = torch.vmap(lambda x: rotary.torch.rotate(x, cos, sin, pairing="half",
                                                       layout="bhtd"))(many)
    torch.testing.assert_close(batched[1], 2 * whole)


def test_export_keeps_the_operators():
    embedding = rotary.torch.RotaryEmbedding(SPEC)

    class Module(torch.nn.Module):
        def forward(self, q, ids):
            return embedding(q, q, ids, layout="bhtd")[0]

    x, ids = tensor(1, 2, 5, 16), torch.arange(5)
    program = torch.export.export(Module(), (x, ids))
    assert "rotary.rotate" in str(program.graph) and "rotary.rows" in str(program.graph)
    assert torch.equal(program.module()(x, ids), ROWS.rotate(x, layout="bhtd"))


def test_compile_has_no_graph_break():
    embedding = rotary.torch.RotaryEmbedding(SPEC)

    def call(q, k, ids):
        q, k = embedding(q * 1.0, k, ids, layout="bhtd")
        return q + 1, k

    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    q, k, ids = tensor(1, 2, 5, 16, grad=True), tensor(1, 1, 5, 16), torch.arange(5)
    for made, expected in zip(compiled(q, k, ids), call(q, k, ids)):
        torch.testing.assert_close(made, expected)
    compiled(q, k, ids)[0].sum().backward()
    assert q.grad is not None


def test_the_module_has_no_parameters_or_buffers():
    embedding = rotary.torch.RotaryEmbedding("llama-3.1-8b")
    assert not list(embedding.buffers()) and not list(embedding.parameters())
    assert not embedding.state_dict() and "llama3" in repr(embedding)
    with torch.device("meta"):
        meta = rotary.torch.RotaryEmbedding("llama-3.1-8b").to_empty(device="cpu").bfloat16()
    q, k = tensor(1, 1, 4, 128), tensor(1, 1, 4, 128)
    for made, expected in zip(meta(q, k, torch.arange(4), layout="bhtd"),
                              embedding(q, k, torch.arange(4), layout="bhtd")):
        assert torch.equal(made, expected)
    yarn = rotary.torch.RotaryEmbedding(YARN)
    made, _ = yarn(tensor(5, 16), tensor(5, 16), torch.arange(5), layout="td")
    assert torch.equal(made, YARN.frequencies().rotate(tensor(5, 16), positions=range(5),
                                                       layout="td"))


def test_a_bias_table_is_a_mask_for_scaled_dot_product_attention():
    bias = rotary.Bias("alibi", heads=2)
    table = rotary.torch.bias_table(bias, 4, 4)
    assert table.shape == (1, 2, 4, 4)
    np.testing.assert_array_equal(table[0].numpy(), bias.table(4, 4))
    q = tensor(1, 2, 4, 16)
    causal = torch.where(torch.ones(4, 4).tril().bool(), table, -torch.inf)
    expected = torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=causal)
    made = rotary.attend(q, q, q, scale=0.25, layout="bhtd", causal=True, bias=bias)
    torch.testing.assert_close(made, expected, rtol=1e-5, atol=1e-6)
    half = rotary.torch.bias_table(bias, 4, 4, dtype=torch.bfloat16)
    assert torch.equal(half, table.bfloat16())


def test_dir_lists_the_public_names():
    assert dir(rotary.torch) == rotary.torch.__all__
