#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes Transformers' absolute encodings: sinusoidal tables, positions of padded batches, sums,
and tables interpolated to another length or grid.

    absolute.py > tests/golden/absolute_encodings.json

makes the file with the pinned release; ./dev golden makes its numbers again and compares.
"""

import types

import numpy as np
import torch

from attention_cases import golden_text
from compare import Numbers, table_bound
from rotations import as_tensor

# "float32": torch multiplies a float32 frequency by a float32 position. "double": NumPy computes
# in double and rounds once.
SINUSOIDAL = {
    "marian": ("MarianSinusoidalPositionalEmbedding", "double"),
    "roformer": ("RoFormerSinusoidalPositionalEmbedding", "double"),
    "distilbert": ("_create_sinusoidal_embeddings", "double"),
    "ctrl": ("positional_encoding", "float32"),
    "m2m_100": ("M2M100SinusoidalPositionalEmbedding", "float32"),
    "whisper": ("sinusoids", "float32"),
    "pegasus_x": ("PegasusXSinusoidalPositionalEmbedding", "float32"),
    "musicgen": ("MusicgenSinusoidalPositionalEmbedding", "float32"),
}
ODD = ("marian", "m2m_100", "musicgen")  # classes that accept an odd dimension
POSITIONS = [0, 1, 2, 7, 100, 511, 1023]
PADDING_IDX = 1
MASK = [[1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1], [1, 0, 1, 1, 0, 1]]
GRIDS = [("vit", "ViTEmbeddings", 1, [4, 4], [5, 7]), ("vit", "ViTEmbeddings", 1, [5, 5], [3, 2]),
         ("deit", "DeiTEmbeddings", 2, [3, 3], [8, 8])]
SCALED_GRIDS = [(1, [4, 4], [6, 7]), (0, [5, 3], [2, 4])]
LENGTHS = [("sam", "SamVisionAttention", 7, 6), ("sam", "SamVisionAttention", 21, 4)]


def sinusoidal_rows(case, release):
    code = getattr(release.model(case["model"], case["definition"]), case["definition"])
    count, dim = max(case["positions"]) + 1, case["dim"]
    makers = {
        "marian": lambda: code(count, dim).create_weight(),
        "roformer": lambda: code(count, dim).create_weight(),
        "distilbert": lambda: code(n_pos=count, dim=dim, out=torch.empty(count, dim)),
        "ctrl": lambda: code(count, dim, torch.float32),
        "m2m_100": lambda: code.get_embedding(count, dim, PADDING_IDX),
        "whisper": lambda: code(count, dim),
        "pegasus_x": lambda: code(dim)(torch.zeros(1, count, dim))[0],
        "musicgen": lambda: code.get_embedding(count, dim),
    }
    return makers[case["model"]]()[case["positions"]].detach().numpy()


def position_ids(case, release):
    """Returns the learned table's row index for each position of the mask, padding included."""
    mask = torch.tensor(case["mask"])
    if case["model"] == "opt":
        embedding = release.model("opt", "OPTLearnedPositionalEmbedding")
        embedding = embedding.OPTLearnedPositionalEmbedding(16, 1)
        embedding.weight.data[:, 0] = torch.arange(18)
        taken = embedding(mask)[..., 0]
        return taken.detach().numpy().astype(np.int64)
    code = release.model("roberta", "RobertaEmbeddings").RobertaEmbeddings
    ids = torch.where(mask == 1, 5, PADDING_IDX)
    return code.create_position_ids_from_input_ids(ids, PADDING_IDX).numpy()


def interpolated(case, release):
    table = as_tensor(case["table"], "float32")
    if "size_offset" in case:
        return scaled(case, table)
    code = getattr(release.model(case["model"], case["definition"]), case["definition"])
    kept, (rows, columns) = case["kept_rows"], case["to"]
    embeddings = types.SimpleNamespace(position_embeddings=table[None], patch_size=1)
    tokens = torch.zeros(1, kept + rows * columns, table.shape[1])
    return code.interpolate_pos_encoding(embeddings, tokens, rows, columns)[0].numpy()


def scaled(case, table):
    """Calls torch with scale factors, as DINO does: each is slightly more than the ratio of the new
    side to the old."""
    kept, sides = case["kept_rows"], case["from"]
    grid = table[kept:].reshape(1, *sides, -1).permute(0, 3, 1, 2)
    factors = tuple((n + case["size_offset"]) / m for n, m in zip(case["to"], sides))
    grid = torch.nn.functional.interpolate(grid, scale_factor=factors, mode="bicubic",
                                           align_corners=False)
    assert list(grid.shape[2:]) == case["to"]
    rows = grid.permute(0, 2, 3, 1).reshape(-1, table.shape[1])
    return torch.cat([table[:kept], rows]).numpy()


def lengthened(case, release):
    """Returns SAM's table of 2n - 1 relative positions. The class returns a row for each pair
    (q, k), and equal distances have equal rows."""
    code = getattr(release.model(case["model"], case["definition"]), case["definition"])
    n = case["size"]
    pairs = code.get_rel_pos(None, n, n, as_tensor(case["table"], "float32"))
    return np.stack([pairs[max(d, 0), max(-d, 0)].numpy() for d in range(1 - n, n)])


def bert_sum(case, release):
    """BERT's embeddings before the layer norm."""
    code = release.model("bert", "BertEmbeddings").BertEmbeddings
    tables = {name: torch.nn.Embedding.from_pretrained(as_tensor(case[name], "float32"))
              for name in ("word_embeddings", "token_type_embeddings", "position_embeddings")}
    same = torch.nn.Identity()
    count = case["position_embeddings"]["shape"][0]
    embeddings = types.SimpleNamespace(**tables, LayerNorm=same, dropout=same,
                                       position_ids=torch.arange(count)[None])
    return code.forward(embeddings, torch.tensor(case["ids"]),
                        torch.tensor(case["segments"])).numpy().reshape(-1, 3)


def absolute_numbers(golden, release):
    for index, case in enumerate(golden["sinusoidal"]):
        wanted = held(case["rows"])
        yield Numbers(f"sinusoidal[{index}]", wanted, sinusoidal_rows(case, release), "float32",
                      sinusoidal_bound(case))
    for index, case in enumerate(golden["position_ids"]):
        yield Numbers(f"position_ids[{index}]", np.array(case["ids"]),
                      position_ids(case, release), "float64", np.zeros(1))
    for index, case in enumerate(golden["sums"]):
        # Two sums of numbers below 4, each rounded.
        yield Numbers(f"sums[{index}]", held(case["result"]), bert_sum(case, release), "float32",
                      np.array(2 * 8 * 2.0**-24))
    for kind, make in (("grids", interpolated), ("lengths", lengthened)):
        for index, case in enumerate(golden[kind]):
            wanted = held(case["result"])
            # Float32 weights and sums of numbers below 4: 16 taps with 8 roundings each.
            yield Numbers(f"{kind}[{index}]", wanted, make(case, release), "float32",
                          np.array(16 * 8 * 4 * 2.0**-24))


def sinusoidal_bound(case):
    """Half a step of float32, or the possible difference of two float32 angles."""
    positions = np.array(case["positions"], float)[:, None]
    if case["arithmetic"] == "double":
        return np.full((len(positions), case["dim"]), 2.0**-24)
    return np.broadcast_to(table_bound(positions, 1.0, 1.0), (len(positions), case["dim"]))


def held(tensor):
    return as_tensor(tensor, "float32").numpy()


def stored(array):
    """The array with the fewest digits that read back as the same float32, as in golden files."""
    array = np.asarray(array, np.float32)
    return {"shape": list(array.shape), "dtype": "float32",
            "data": [float(str(value)) for value in array.reshape(-1)]}


def cases(release):
    for model, (definition, arithmetic) in SINUSOIDAL.items():
        for dim in (10, 11) if model in ODD else (10,):
            case = {"model": model, "definition": definition, "arithmetic": arithmetic,
                    "dim": dim, "positions": POSITIONS}
            yield "sinusoidal", {**case, "rows": stored(sinusoidal_rows(case, release))}
    for model, offset in (("roberta", PADDING_IDX + 1), ("opt", 2)):
        case = {"model": model, "offset": offset, "mask": MASK}
        yield "position_ids", {**case, "ids": position_ids(case, release).tolist()}
    random = np.random.default_rng(11)
    case = {"model": "bert", "ids": [[7, 0, 3, 9], [1, 5, 0, 0]],
            "segments": [[0, 0, 1, 1], [0, 0, 0, 0]],
            "word_embeddings": stored(random.standard_normal((10, 3))),
            "token_type_embeddings": stored(random.standard_normal((2, 3))),
            "position_embeddings": stored(random.standard_normal((8, 3)))}
    yield "sums", {**case, "result": stored(bert_sum(case, release))}
    for model, definition, kept, grid, to in GRIDS:
        case = {"model": model, "definition": definition, "kept_rows": kept, "from": grid,
                "to": to, "table": stored(random.standard_normal((kept + grid[0] * grid[1], 3)))}
        yield "grids", {**case, "result": stored(interpolated(case, release))}
    for model, definition, rows, size in LENGTHS:
        case = {"model": model, "definition": definition, "size": size,
                "table": stored(random.standard_normal((rows, 3)))}
        yield "lengths", {**case, "result": stored(lengthened(case, release))}
    for kept, grid, to in SCALED_GRIDS:
        case = {"kept_rows": kept, "from": grid, "to": to, "size_offset": 0.1,
                "table": stored(random.standard_normal((kept + grid[0] * grid[1], 3)))}
        yield "grids", {**case, "result": stored(interpolated(case, release))}


def main():
    from release import release_of
    from wheels import pins

    torch.set_num_threads(1)
    release = release_of(pins()["default"])
    golden = {"name": "absolute_encodings",
              "produced_by": f"huggingface/transformers {release.version}, its wheel",
              "torch": f"{torch.__version__} Debian CPU",
              "sinusoidal": [], "position_ids": [], "sums": [], "grids": [], "lengths": []}
    for kind, case in cases(release):
        golden[kind].append(case)
    print(golden_text(golden))


if __name__ == "__main__":
    main()
