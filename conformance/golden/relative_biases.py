# SPDX-License-Identifier: Apache-2.0
"""Makes relative_biases.json again with relative.py. Its numbers came from the authors' code."""

import numpy as np
import torch

from compare import Numbers
from relative import Fire, cope, fire, kerple_log, kerple_power, sandwich

# Both sides are double: fewer than 100 terms below 10 each.
BOUND = np.array(1e-12)
KERPLE = {"kerple_log": (kerple_log, ("p", "a")), "kerple_power": (kerple_power, ("a", "p"))}


def bias_numbers(golden, release):
    """Runs the file's inputs through our expressions and autograd; needs no release."""
    relative = square(golden["sandwich"])
    made = sandwich(relative, golden["sandwich"]["dim"], golden["sandwich"]["heads"])
    yield numbers("sandwich.bias", golden["sandwich"]["bias"], made)
    for name, (function, order) in KERPLE.items():
        case = golden[name]
        parameters = [leaf(case[parameter]) for parameter in order]
        # The authors' code only looks back: keys after the query count as distance 0.
        bias = function(square(case).clamp(max=0), *parameters)
        yield from with_gradient(name, case, bias, parameters)
    yield from fire_numbers(golden["fire"])
    yield from cope_numbers(golden["cope"])


def fire_numbers(case):
    width = len(case["hidden_weight"])
    parameters = Fire(leaf([case["c"]]), leaf([case["threshold"]]), leaf(case["hidden_weight"]),
                      leaf(case["hidden_bias"]), leaf(case["output_weight"], (-1, width)),
                      leaf(case["output_bias"]), case["epsilon"])
    bias = fire(square(case), torch.arange(case["tokens"])[None], parameters)
    yield from with_gradient("fire", case, bias, parameters[:6])


def cope_numbers(case):
    tokens = case["tokens"]
    scores = leaf(case["scores"], (tokens, tokens))
    q = leaf(case["q"], (tokens, -1))
    table = leaf(case["table"], (case["positions"], -1))
    written = scores + cope(scores, q, table, square(case)[0] <= 0)
    yield numbers("cope.written", case["written"], written)
    d = torch.tensor(case["d"], dtype=torch.float64).reshape(tokens, tokens)
    (d * written).sum().backward()
    for name, input_ in (("d_scores", scores), ("d_q", q), ("d_table", table)):
        yield numbers(f"cope.{name}", case[name], input_.grad)


def with_gradient(name, case, bias, parameters):
    """Yields the bias, and the gradients of the sum of d times the bias."""
    yield numbers(f"{name}.bias", case["bias"], bias)
    d = torch.tensor(case["d"], dtype=torch.float64).reshape(bias.shape)
    (d * bias).sum().backward()
    gradient = torch.cat([parameter.grad.reshape(-1) for parameter in parameters])
    yield numbers(f"{name}.gradient", case["gradient"], gradient)


def square(case):
    """key - query, for as many queries as keys from position 0."""
    positions = torch.arange(case["tokens"])
    return (positions - positions[:, None])[None]


def leaf(values, shape=(-1,)):
    return torch.tensor(values, dtype=torch.float64).reshape(shape).requires_grad_()


def numbers(name, wanted, got):
    return Numbers(name, np.array(wanted), got.detach().numpy().reshape(-1), "float64", BOUND)
