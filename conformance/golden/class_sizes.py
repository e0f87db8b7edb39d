#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the rows of src/model/families/class_sizes_data.cpp from an installed transformers (5.24).

    class_sizes.py docs/families.md

A row has the hidden size, heads, layers and max_position_embeddings (0: none) of a configuration
class, and the listed families with these sizes. clang-format wraps the rows.
"""

import pathlib
import re
import sys

import transformers


def first_of(config, *names):
    """Returns the first attribute that is an integer, or 0. Skips attributes that raise."""
    for name in names:
        try:
            value = getattr(config, name, None)
        except (AttributeError, RuntimeError):
            continue
        if isinstance(value, int):
            return value
    return 0


def main(page):
    names = re.findall(r"^\| `([^`]+)` \| (?!around)", pathlib.Path(page).read_text("utf-8"), re.M)
    classes = transformers.CONFIG_MAPPING
    rows = {}
    for name in sorted(set(names) & set(classes)):
        config = classes[name]()
        heads = first_of(config, "num_attention_heads", "decoder_attention_heads")
        # longcat_flash uses the usual name for its sublayers.
        layers = first_of(config, *["num_layers"] * (name == "longcat_flash"), "num_hidden_layers")
        # qwen2_vl_vision's hidden_size is the language model's.
        hidden = first_of(config, *["embed_dim"] * (name == "qwen2_vl_vision"), "hidden_size")
        positions = first_of(config, "max_position_embeddings")
        rows.setdefault((hidden, heads, layers, positions), []).append(name)
    for sizes, model_types in rows.items():
        print(f'    {{{{{", ".join(map(str, sizes))}}}, "{" ".join(model_types)}"}},')


if __name__ == "__main__":
    main(sys.argv[1])
