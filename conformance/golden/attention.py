# SPDX-License-Identifier: Apache-2.0
"""Computes attention with each encoding in plain float64 torch, and gradients by autograd, for
attention_encodings.json, which attention_cases.py makes.

If a Transformers model has the encoding, that model's code computes it: T5's buckets, BLOOM's
slopes, Llama's and GPT-J's rotations. relative.py has the other encodings. Where possible, torch's
own attention must give the same weights and outputs.
"""

import math

import numpy as np
import torch

from compare import Numbers
from relative import Fire, cope, fire, kerple_log, kerple_power, sandwich, shaw_vectors
from rotations import as_tensor

# Float64 sums in another order: fewer than 100 terms below 16 each.
BOUND = np.array(1e-12)
# Learned parameters in the library's order.
LEARNED = {"t5": ("table",), "alibi": ("slopes",), "kerple_log": ("p", "a"),
           "kerple_power": ("a", "p"), "fire": Fire._fields[:6]}
BY_HEAD = ("a", "p", "output_weight", "output_bias")


def attention_numbers(golden, release):
    for index, case in enumerate(golden["cases"]):
        for name, made in computed(golden, case, release).items():
            wanted = np.array(case[name], float)  # None becomes NaN: the query sees no key
            yield Numbers(f"cases[{index}].{name}", wanted, np.array(stored(made), float),
                          "float64", BOUND)


def computed(golden, case, release):
    """Recomputes a case of the file. Returns its arrays by name."""
    inputs = {name: as_tensor(held, "float64")
              for name, held in golden["inputs"][case["inputs"]].items()}
    d_out = inputs.pop("d_out")
    for tensor in inputs.values():
        tensor.requires_grad_()
    encoding = Encoding(golden["encodings"][case["encoding"]], inputs, release)
    positions = [torch.tensor(case[name]) for name in ("query_positions", "key_positions")]
    seen = visible(golden["masks"][case["mask"]], *positions)
    require_blooms_own(encoding, golden["masks"][case["mask"]], positions)
    out, log_sum_exp = attention(inputs, (encoding, seen, positions), case["scale"])
    (d_out * out).sum().backward()
    return {"out": out, "log_sum_exp": log_sum_exp,
            **{f"d_{name}": tensor.grad for name, tensor in inputs.items()},
            **encoding.gradients()}


def attention(inputs, way, scale):
    """Computes out, in the layout of q, k, v [batch, tokens, heads, features], and log-sum-exp
    [batch, heads, queries]. way: the encoding, the mask, the positions of queries and keys."""
    encoding, seen, positions = way
    q, k = (encoding.turned(inputs[name].transpose(1, 2), at, role)
            for name, at, role in zip("qk", positions, (1, -1)))
    group = q.shape[1] // k.shape[1]
    k = k.repeat_interleave(group, 1)
    v = inputs["v"].transpose(1, 2).repeat_interleave(group, 1)
    relative = positions[1][:, None] - positions[0][:, :, None]
    scores = scale * (q @ k.transpose(-1, -2) + encoding.of_queries(q, relative))
    scores = scores + encoding.bias(relative, positions)
    scores = scores.masked_fill(~seen[:, None], -math.inf)
    scores = scores + encoding.of_scores(scores, q, relative)
    # The softmax of a row of -inf, and its gradient, would be NaN. Such rows get weights of 0.
    some = seen.any(-1)[:, None, :, None]
    weights = torch.where(some, scores, torch.zeros_like(scores)).softmax(-1) * some
    require_torchs_own(q, k, v, scores, weights)
    out = weights @ v + encoding.of_weights(weights, relative)
    return out.transpose(1, 2), scores.detach().logsumexp(-1)


def require_torchs_own(*tensors):
    """Compares with torch's scaled_dot_product_attention. The mask is the scores minus q·k/√d."""
    q, k, v, scores, weights = (tensor.detach() for tensor in tensors)
    mask = scores - q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    out, own = torch.nn.functional._scaled_dot_product_attention(q, k, v, mask, 0.0, True, False)
    # torch before 2.5 gives NaN for queries without keys.
    for got, wanted in ((own, weights), (out, weights @ v)):
        torch.testing.assert_close(got.nan_to_num(0.0), wanted, rtol=0, atol=float(BOUND))


def require_blooms_own(encoding, mask, positions):
    """BLOOM's tensor for a padded batch must equal the bias at the file's positions."""
    if encoding.entry.get("form") == "key_position":
        own = encoding.press(torch.tensor(mask["keys"]), encoding.heads, torch.float64)
        bias = encoding.bias(positions[1][:, None], positions).detach()
        torch.testing.assert_close(own.reshape(bias.shape), bias, rtol=0, atol=0)


def visible(mask, query_positions, key_positions):
    """[batch, queries, keys]: which keys a query sees, by position, not by index."""
    relative = key_positions[:, None] - query_positions[:, :, None]
    seen = torch.ones_like(relative, dtype=torch.bool)
    if mask["order"] == "causal":
        seen &= relative <= 0
    if "left" in mask:
        seen &= relative >= -mask["left"]
    if "right" in mask:
        seen &= relative <= mask["right"]
    if "keys" in mask:
        seen &= torch.tensor(mask["keys"])[:, None] != 0
    if "documents" in mask:
        documents = torch.tensor(mask["documents"])
        seen &= documents[:, None] == documents[:, :, None]
    return seen


class Encoding:
    """One of the file's encodings. It has learned numbers for 4 heads and 6 features; smaller cases
    use the first ones."""

    def __init__(self, entry, inputs, release):
        self.entry, self.kind, self.release = entry, entry["kind"], release
        self.heads = inputs["q"].shape[2]
        self.learned = {name: as_tensor(held, "float64") for name, held in entry.items()
                        if isinstance(held, dict) and "data" in held}
        for name, numbers in self.learned.items():
            if name in BY_HEAD:
                numbers = numbers[:self.heads]
            elif self.kind == "t5":
                numbers = numbers[:, :self.heads]
            elif self.kind in ("shaw", "cope"):
                numbers = numbers[:, :inputs["v" if name == "values" else "q"].shape[3]]
            self.learned[name] = numbers.clone().requires_grad_()
        if self.kind == "alibi":
            self.press = release.model("bloom", "build_alibi_tensor").build_alibi_tensor
            two_keys = torch.ones(1, 2, dtype=torch.int64)
            slopes = self.press(two_keys, self.heads, torch.float64)[:, 0, 1]
            self.learned["slopes"] = slopes.requires_grad_()

    def gradients(self):
        """A bias has one list of gradients, for all parameters in the library's order. Encodings
        with vectors have a list for each table."""
        if self.kind in ("shaw", "cope"):
            return {f"d_{name}": tensor.grad for name, tensor in self.learned.items()}
        parts = [self.learned[name].grad.reshape(-1) for name in LEARNED.get(self.kind, ())]
        return {"d_parameters": torch.cat(parts)} if parts else {}

    def turned(self, heads, positions, role):
        """Rotates queries or keys [batch, heads, tokens, features]."""
        if self.kind != "rotary":
            return heads
        dim = heads.shape[-1] - self.entry["unrotated"]
        exponents = torch.arange(0, dim, 2, dtype=torch.float64) / dim
        angles = positions[..., None] * self.entry["base"] ** -exponents
        cos, sin = angles.cos(), angles.sin()
        turning, rest = heads[..., :dim], heads[..., dim:]
        if self.entry["pairing"] == "half":
            code = self.release.model("llama", "apply_rotary_pos_emb")
            cos, sin = (torch.cat([rows, rows], -1) for rows in (cos, sin))
            turned, _ = code.apply_rotary_pos_emb(turning, turning, cos, sin)
        else:
            factor = self.xpos_factor(exponents, positions) ** role
            code = self.release.model("gptj", "apply_rotary_pos_emb")
            turned = code.apply_rotary_pos_emb(turning.transpose(1, 2), sin * factor, cos * factor)
            turned = turned.transpose(1, 2)
        return torch.cat([turned, rest], -1)

    def xpos_factor(self, exponents, positions):
        """Returns xPos' factor: it multiplies queries and divides keys (Sun et al. 2022, §3.2)."""
        if "xpos" not in self.entry:
            return torch.ones(())
        xpos = self.entry["xpos"]
        rates = (exponents + 0.4) / 1.4
        return rates ** ((positions[..., None] - xpos["center"]) / xpos["scale_base"])

    def bias(self, relative, positions):
        """The bias, broadcastable to [batch, heads, queries, keys]."""
        query_positions, key_positions = positions
        parameters = [self.learned[name] for name in LEARNED.get(self.kind, ())]
        if self.kind == "t5":
            return parameters[0][self.buckets(relative)].permute(0, 3, 1, 2)
        if self.kind == "alibi":
            form = {"causal": relative, "symmetric": -relative.abs(),
                    "key_position": key_positions[:, None].expand_as(relative)}
            return parameters[0][:, None, None] * form[self.entry["form"]][:, None]
        if self.kind == "kerple_log":
            return kerple_log(relative, *parameters)
        if self.kind == "kerple_power":
            return kerple_power(relative, *parameters)
        if self.kind == "fire":
            return fire(relative, query_positions, Fire(*parameters, self.entry["epsilon"]))
        if self.kind == "sandwich":
            return sandwich(relative, self.entry["dim"], self.heads)
        return torch.zeros(())

    def buckets(self, relative):
        bucket = self.release.model("t5", "T5Attention").T5Attention._relative_position_bucket
        return bucket(relative, bidirectional=self.entry["direction"] == "bidirectional",
                      num_buckets=self.entry["buckets"], max_distance=self.entry["max_distance"])

    def of_queries(self, q, relative):
        """Returns what Shaw's key vectors add to q·k, before the scale."""
        if self.kind != "shaw":
            return torch.zeros(())
        vectors = shaw_vectors(relative, self.learned["keys"], self.entry["window"])
        return torch.einsum("bhqf,bqkf->bhqk", q, vectors)

    def of_weights(self, weights, relative):
        """Returns what Shaw's value vectors add to the outputs."""
        if "values" not in self.learned:
            return torch.zeros(())
        vectors = shaw_vectors(relative, self.learned["values"], self.entry["window"])
        return torch.einsum("bhqk,bqkf->bhqf", weights, vectors)

    def of_scores(self, scores, q, relative):
        """CoPE's bias, from the scores before softmax."""
        if self.kind != "cope":
            return torch.zeros(())
        return cope(scores, q, self.learned["table"], (relative <= 0)[:, None])


def stored(tensor):
    """The numbers in order, with None (null in JSON) for -Inf."""
    return [None if number == -math.inf else number
            for number in tensor.detach().reshape(-1).tolist()]
