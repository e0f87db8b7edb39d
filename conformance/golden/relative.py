# SPDX-License-Identifier: Apache-2.0
"""Relative encodings as differentiable torch expressions, after their papers
(docs/theory/relative.md).

`relative` is key - query, int64 [batch, queries, keys]; a bias is [batch, heads, queries, keys].
"""

import collections

import torch

# Tensors in the library's parameter order, then constants.
Fire = collections.namedtuple(
    "Fire", "c threshold hidden_weight hidden_bias output_weight output_bias epsilon")


def far(relative):
    """The distance to each key, with an axis for heads."""
    return relative[:, None].abs().double()


def of_heads(numbers):
    return numbers[None, :, None, None]


def kerple_log(relative, p, a):
    """Chi et al. 2022, the logarithmic kernel; p and a for each head."""
    return -of_heads(p) * torch.log(1 + of_heads(a) * far(relative))


def kerple_power(relative, a, p):
    """Chi et al. 2022, the power kernel. The bias is 0 at distance 0 for every p. Autograd of
    0^p would take log 0, so the distance replaces the power there."""
    distance = far(relative)
    positive = distance.clamp(min=1)
    return -of_heads(a) * torch.where(distance == 0, distance, positive ** of_heads(p))


def fire(relative, query_positions, parameters):
    """Li et al. 2024. The network's only input is the distance, from 0 to 1 on a logarithmic scale
    that ends at the query's position or at the threshold."""
    reach = torch.maximum(query_positions.double(), parameters.threshold.abs())
    longest = torch.log(parameters.c.abs() * reach + 1) + parameters.epsilon
    x = torch.log((parameters.c * far(relative)[:, 0]).abs() + 1) / longest[..., None]
    hidden = torch.relu(x[..., None] * parameters.hidden_weight + parameters.hidden_bias)
    return (hidden @ parameters.output_weight.T + parameters.output_bias).permute(0, 3, 1, 2)


def sandwich(relative, dim, heads, base=10000.0):
    """Chi et al. 2023: the inner product of two positions' sinusoidal embeddings, minus its value
    at distance 0, times a factor that falls with the head."""
    pair = torch.arange(1, dim // 2 + 1, dtype=torch.float64)
    angles = far(relative)[..., None] * base ** (-2 * pair / dim)
    overlap = angles.cos().sum(-1) - dim / 2
    return overlap * of_heads(heads / (8 * torch.arange(1, heads + 1, dtype=torch.float64)))


def shaw_vectors(relative, table, window):
    """Shaw et al. 2018: the table's row of each pair, [batch, queries, keys, features]."""
    left, right = window
    return table[left + relative.clamp(-left, right)]


def cope(scores, q, table, up_to_query):
    """Golovneva et al. 2024: returns what is added to scores [..., queries, keys], for q [...,
    queries, features]. up_to_query is true for keys up to the query."""
    gates = torch.where(up_to_query, torch.sigmoid(scores), torch.zeros_like(scores))
    # A key's position sums the gates from the key to the end. Gates after the query are 0.
    position = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=table.shape[0] - 1)
    below, above = position.floor(), position.ceil()
    of_rows = q @ table.T
    blend = position - below
    bias = (of_rows.gather(-1, above.long()) * blend
            + of_rows.gather(-1, below.long()) * (1 - blend))
    return torch.where(up_to_query, bias, torch.zeros_like(bias))
