# SPDX-License-Identifier: Apache-2.0
"""identify() names mistakes planted with NumPy, and mistakes in other programs' dumps."""

import pathlib

import numpy as np
import pytest
import rotary

from reference import numbers, rotate_half, rotate_interleaved

GOLDEN = pathlib.Path(__file__).parents[2] / "tests/golden/identify"
SPEC = rotary.RotarySpec(head_dim=16, base=1e4, pairing="half")
POSITIONS = np.arange(1000, 1009)


def heads(dtype=np.float32):
    return numbers(1, 2, 9, 16, seed=3).astype(dtype)


def turned(x, spec=SPEC, positions=POSITIONS):
    rotate = rotate_half if spec.pairing == "half" else rotate_interleaved
    return rotate(x, positions, spec.frequencies().inv_freq).astype(x.dtype)


def found(after, before=None, **options):
    options = {"layout": "bhtd", "config": SPEC, "positions": POSITIONS, **options}
    return rotary.identify(heads() if before is None else before, after, **options)


def changes(identification):
    return [str(cause) for cause in identification.causes]


def test_a_correct_rotation_is_as_configured():
    result = found(turned(heads()))
    assert result.verdict == "as_configured" and result.causes == ()
    assert (result.tokens, result.heads, result.dtype) == (9, 2, "f32")
    assert result.structure["pairing"] == "half" and result.structure["rotary_dim"] == 16
    assert result.turns_per_token == pytest.approx(SPEC.frequencies().inv_freq, rel=1e-3)
    assert str(result).startswith("as configured: the config explains the numbers\n")
    assert result._repr_html_().count("<table>") == 1


@pytest.mark.parametrize("changed, change", [
    ({"pairing": "interleaved"}, "pairing half -> interleaved"),
    ({"base": 5e5}, "base 10000 -> 500000"),
    ({"base": 123456.0}, "base 10000 -> 123456"),
    ({"scaling": {"rope_type": "linear", "factor": 8}}, "rope_type default -> linear, "
                                                        "factor none -> 8"),
])
def test_a_mistake_is_named_with_its_value(changed, change):
    result = found(turned(heads(), SPEC.replace(**changed)))
    assert (result.verdict, changes(result)) == ("another_cause", [change])
    assert change in str(result) and change in repr(result) and "Next: " in str(result)


def test_two_mistakes_and_unknown_positions_are_found():
    both = turned(heads(), SPEC.replace(base=5e5, pairing="interleaved"))
    assert changes(found(both)) == ["pairing half -> interleaved", "base 10000 -> 500000"]
    one = found(both, causes=1)
    assert (one.verdict, one.causes, one.tied) == ("unexplained", (), 0)
    assert "closest: " in str(one)
    assert changes(found(turned(heads(), positions=POSITIONS + 2))) == [
        "positions p -> p + 2"] and found(turned(heads()), positions=None).first_position == 1000


def test_a_tie_says_how_to_break_it():
    early = np.arange(9)
    ties = {str(each): each.separating_position
            for each in found(turned(heads(), positions=early), positions=early).explanations[1:]
            if len(each.causes) == 1}
    assert ties["positions float32 -> bf16"] == 257 and ties["positions float32 -> f16"] == 2049


def test_identify_describes_numbers_without_a_config():
    result = found(turned(heads()), config=None)
    assert result.verdict == "described" and result.explanations[0].spec == SPEC.replace(
        rotary_dim=16)
    assert "RotarySpec(head_dim=16, base=10000.0" in str(result)


def test_models_and_cards_are_accepted_with_a_layer():
    model = rotary.resolve("gemma-3-4b")
    x = numbers(9, 256)
    y = model.frequencies(layer=5).rotate(x, positions=POSITIONS, layout="td")
    for config in (model, "gemma-3-4b"):
        result = rotary.identify(x, y, layout="td", config=config, layer=5, positions=POSITIONS)
        assert result.verdict == "as_configured"
    result = rotary.identify(x, y, layout="td", config=model, layer=0, positions=POSITIONS)
    assert result.verdict == "another_cause" and result.causes[0].group == "frequencies"
    with pytest.raises(rotary.Error, match="layer or layer_type must be given"):
        rotary.identify(x, y, layout="td", config=model)


def test_an_offset_between_two_caches_is_named():
    ours, theirs = turned(heads()), turned(heads(), positions=POSITIONS + 1)
    result = found(theirs, ours, rotated_before=True)
    assert changes(result) == ["positions p -> p + 1"]
    with pytest.raises(rotary.Error, match="rotated_before needs config and positions"):
        found(theirs, ours, rotated_before=True, positions=None)


@pytest.mark.parametrize("form", ["hf", "interleaved", "pairs"])
def test_tables_with_another_base_are_explained(form):
    cos, sin = SPEC.frequencies().tables(range(40), form=form)
    assert rotary.identify_tables(cos, sin, config=SPEC).verdict == "as_configured"
    result = rotary.identify_tables(cos[0], sin[0], config=SPEC.replace(base=5e5))
    assert changes(result) == ["base 500000 -> 10000"] and result.structure is None
    with pytest.raises(rotary.Error, match="cos and sin must have one shape"):
        rotary.identify_tables(cos, sin[0])


def test_scaled_frequencies_are_explained():
    inv_freq = SPEC.frequencies().inv_freq
    assert rotary.identify_frequencies(inv_freq, config=SPEC).verdict == "as_configured"
    result = rotary.identify_frequencies(inv_freq / 8, config=SPEC)
    assert changes(result) == ["rope_type default -> linear, factor none -> 8"]
    with pytest.raises(rotary.Error, match="inv_freq must have one axis, got 2"):
        rotary.identify_frequencies(inv_freq[None], config=SPEC)


def test_bfloat16_is_accepted():
    from ml_dtypes import bfloat16

    assert found(turned(heads(bfloat16)), heads(bfloat16)).dtype == "bf16"


def test_tensors_with_gradients_are_accepted():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.from_numpy(heads()).requires_grad_()
    result = found(torch.from_numpy(turned(heads())), x)
    assert result.verdict == "as_configured" and x.requires_grad


@pytest.mark.parametrize("package, case, card, change", [
    ("mlx", "traditional_f32", "tinyllama-1.1b-chat-v1.0", "pairing half -> interleaved"),
    ("transformers", "yarn_without_factor_f32", "gpt-oss-20b",
     "attention_factor 1.3465735902799727 -> 1"),
])
def test_mistakes_in_dumps_of_other_programs_are_named(package, case, card, change):
    dumps = np.load(GOLDEN / f"{package}.npz")
    result = rotary.identify(dumps[f"{case}_before"], dumps[f"{case}_after"], layout="td",
                             config=card, positions=range(1000, 1008))
    assert changes(result) == [change]


def test_incomparable_dumps_are_refused():
    for after, words in ((heads()[..., :8], "got"), (heads(np.float64), "dtype")):
        with pytest.raises(rotary.Error, match=words):
            found(after)
    with pytest.raises(rotary.Error, match="finite"):
        found(np.full_like(heads(), np.nan))
    with pytest.raises(rotary.Error, match="layout must name each of 4 axes"):
        found(heads(), layout="td")
