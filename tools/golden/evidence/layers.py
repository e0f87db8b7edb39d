# SPDX-License-Identifier: Apache-2.0
"""A reading of the tool beside what an engine was seen to do."""

SAME = 2.0**-17  # relative, of frequencies that float32 powers make


class Differs(Exception):
    """What the tool says and what the engine does, as short texts."""

    def __init__(self, tool, engine):
        super().__init__(tool, engine)
        self.tool, self.engine = tool, engine


def compare_layers(model, layers):
    """model: the tool's; layers: of the engine, null for one that does not rotate."""
    ours = [ours_of(model, layer) for layer in model["layers"]]
    if len(ours) != len(layers):
        raise Differs(f"{len(ours)} layers", f"{len(layers)} layers")
    rotating = [[index for index, each in enumerate(side) if each is not None]
                for side in (ours, layers)]
    if rotating[0] != rotating[1]:
        raise Differs(f"layers {rotating[0]} rotate", f"layers {rotating[1]} rotate")
    for index in rotating[0]:
        compare_ropes(ours[index], layers[index])


def ours_of(model, layer):
    return model["rotary"][layer["rotary"]] if layer["encoding"] == "rotary" else None


def compare_ropes(ours, theirs):
    if theirs.get("kinds", 1) != 1:
        raise Differs("one rope in a layer", f"{theirs['kinds']} ropes in a layer")
    sign = -1 if ours["sense"] == "negative" else 1
    got = [sign * each for each in ours["inv_freq"] if each]
    wanted = [each for each in theirs["inv_freq"] if each]
    if len(got) != len(wanted):
        raise Differs(f"{len(got)} pairs turn", f"{len(wanted)} pairs turn")
    pairing = ours["pairing"].removesuffix("_to_half")
    if pairing != theirs["pairing"]:
        raise Differs(pairing, theirs["pairing"])
    for pair, (one, other) in enumerate(zip(got, wanted)):
        if abs(one - other) > SAME * abs(other):
            raise Differs(f"frequency {pair} is {one:.6g}", f"{other:.6g}")
    if abs(ours["attention_factor"] - theirs["factor"]) > SAME * theirs["factor"]:
        raise Differs(f"factor {ours['attention_factor']:.6g}", f"{theirs['factor']:.6g}")
