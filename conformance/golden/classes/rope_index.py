# SPDX-License-Identifier: Apache-2.0
"""Runs get_rope_index of published classes on random groups; prints a JSON line for each.

    rope_index.py COUNT [--old MODEL=FILE]... [--vllm FILE]

Runs in classes.py's environment. --old: modeling_MODEL.py of an older release, for the convention
MODEL-RELEASE. --vllm: vllm/model_executor/models/qwen2_5_vl.py. A line has the convention of
include/rotary/m_rope.hpp, the changed members, the groups as options of `rotary positions`, ids
[axes][tokens] and delta (null if the class has none).
"""

import ast
import importlib
import itertools
import json
import pathlib
import random
import sys
import types

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from definitions import load_definitions  # noqa: E402

namespace = types.SimpleNamespace
TEXT, IMAGE, VIDEO, AUDIO, VISION_START, VISION_END, AUDIO_START, AUDIO_END = range(10, 18)
SLICE_START, SLICE_END, IMAGE_START, IMAGE_END, NEWLINE = range(20, 25)
# At 25 ids per second, (i * s) * r and i * (r * s) truncate to different ids for some values s.
SECONDS = (0.0, 0.04, 0.3, 0.5, 0.7, 1.0, 1.3, 2.0, 33.3)

BY_TYPE = {  # convention: folder, class
    "qwen2-vl": ("qwen2_vl", "Qwen2VLModel"),
    "qwen2.5-vl": ("qwen2_5_vl", "Qwen2_5_VLModel"),
    "qwen3-vl": ("qwen3_vl", "Qwen3VLModel"),
    "qwen3-vl (moe)": ("qwen3_vl_moe", "Qwen3VLMoeModel"),
    "qwen3.5": ("qwen3_5", "Qwen3_5Model"),
    "qwen3.5 (moe)": ("qwen3_5_moe", "Qwen3_5MoeModel"),
    "qwen4-exp": ("qwen4_exp", "Qwen4ExpModel"),
    "cohere-compass": ("cohere_compass", "CohereCompassModel"),
    "cosmos3-edge": ("cosmos3_edge", "Cosmos3EdgeModel"),
    "cosmos3-omni": ("cosmos3_omni", "Cosmos3OmniModel"),
    "glm-4v": ("glm4v", "Glm4vModel"),
    "glm-4.5v": ("glm4v_moe", "Glm4vMoeModel"),
    "glm-4.6v": ("glm46v", "Glm46VModel"),
    "glm-ocr": ("glm_ocr", "GlmOcrModel"),
    "ernie-4.5-vl": ("ernie4_5_vl_moe", "Ernie4_5_VLMoeModel"),
    "paddleocr-vl": ("paddleocr_vl", "PaddleOCRVLModel"),
}
ONE_GROUP = ("qwen2-vl", "qwen2.5-vl", "ernie-4.5-vl", "paddleocr-vl")


def class_of(folder, name):
    module = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
    return getattr(module, name)


def bound(cls, config, **attributes):
    """An object with only the class's functions for position ids."""
    one = types.SimpleNamespace(config=config, **attributes)
    for name in ("get_vision_position_ids", "get_llm_pos_ids_for_vision", "get_chunked_index",
                 "_group_visual_frames"):
        if hasattr(cls, name):
            setattr(one, name, types.MethodType(getattr(cls, name), one))
    if hasattr(cls, "_frame_end_idx"):
        one._frame_end_idx = cls._frame_end_idx
    return one


def tensor(rows):
    return torch.tensor(rows) if rows else None


def answered(ids, delta):
    delta = None if delta is None else delta.reshape(-1)[0].item()
    return {"ids": ids[:, 0].tolist(), "delta": delta}


def lengths(rng, merge, most=7, is_multiple=False):
    """A random grid side in patches."""
    rest = 0 if is_multiple else rng.choice((0, 0, 0, rng.randrange(merge)))
    return rng.randint(1, most) * merge + rest


class Prompt:
    """Random groups, with at least two text tokens between non-text groups."""

    def __init__(self, rng, merge, temporal_merge=1, kinds=("image", "video"), own_groups=False,
                 is_multiple=False):
        self.groups, self.own_groups = [], own_groups
        self.text(rng.randint(1, 9))
        for _ in range(rng.randint(1, 4)):
            kind = rng.choice(kinds)
            rows, columns = (lengths(rng, merge, is_multiple=is_multiple) for _ in range(2))
            if kind == "text":
                self.text(rng.randint(1, 30))
                continue
            if kind == "image":
                self.groups.append({"image": [rows, columns]})
            else:
                frames = rng.randint(1, 9)
                if rng.random() < 0.4:  # many frames of one token, whose ids show the frame times
                    frames, rows, columns = rng.randint(10, 60), merge, merge
                frames = frames * temporal_merge + rng.randrange(temporal_merge)
                seconds = rng.choice(SECONDS) if rng.random() < 0.7 else round(
                    rng.uniform(0, 40), 3)
                video = {"video": [frames, rows, columns], "seconds": seconds}
                if own_groups:
                    video["between"] = rng.randint(1, 12)
                if kind == "sound":
                    video["sound"] = rng.randint(1, rng.choice((5, 200)))
                self.groups.append(video)
            self.text(rng.randint(2, 12))

    def text(self, tokens):
        if self.groups and "text" in self.groups[-1]:
            self.groups[-1]["text"] += tokens
        else:
            self.groups.append({"text": tokens})

    def grids(self, kind):
        grids = [[1, *each[kind]][-3:] for each in self.groups if kind in each]
        return tensor(grids)

    def seconds(self):
        return tensor([each["seconds"] for each in self.groups if "video" in each])


def merged(grid, merge, temporal_merge=1):
    frames, rows, columns = ([1] + grid)[-3:]
    return frames // temporal_merge, (rows // merge) * (columns // merge)


# Classes that take each token's type.

def token_types(prompt, merge, temporal_merge):
    types_of = []
    for group in prompt.groups:
        if "text" in group:
            types_of += [0] * group["text"]
        elif "image" in group:
            types_of += [1] * merged(group["image"], merge)[1]
        else:
            frames, tokens = merged(group["video"], merge, temporal_merge)
            if prompt.own_groups:
                between = [0] * group["between"]
                types_of += ([2] * tokens + between) * (frames - 1) + [2] * tokens
            else:
                types_of += [2] * (frames * tokens)
    return torch.tensor([types_of])


def by_type(rng, convention):
    folder, name = BY_TYPE[convention]
    name_of = convention.split(" ")[0]
    merge = rng.choice((1, 2, 2, 2, 3))
    temporal_merge = rng.choice((1, 2, 3)) if name_of == "ernie-4.5-vl" else 1
    rate = rng.choice((1, 2, 4, 25, 25))
    prompt = Prompt(rng, merge, temporal_merge, own_groups=name_of not in ONE_GROUP)
    cls = class_of(folder, name)
    config = namespace(vision_config=namespace(
        spatial_merge_size=merge, temporal_merge_size=temporal_merge, tokens_per_second=rate))
    kinds = token_types(prompt, merge, temporal_merge)
    ids, delta = cls.get_rope_index(
        bound(cls, config), torch.zeros_like(kinds), kinds,
        image_grid_thw=prompt.grids("image"), video_grid_thw=prompt.grids("video"),
        second_per_grid_ts=prompt.seconds())
    members = {"merge": merge}
    if name_of == "qwen2.5-vl":
        members["ids_per_second"] = rate
    if name_of == "ernie-4.5-vl":
        members["temporal_merge"] = temporal_merge
    return name_of, f"{folder}.{name}", members, prompt.groups, answered(ids, delta)


# Classes that search for special tokens.

def token_ids(prompt, merge):
    ids = []
    for group in prompt.groups:
        if "text" in group:
            ids += [TEXT] * group["text"]
            continue
        kind, token = ("image", IMAGE) if "image" in group else ("video", VIDEO)
        frames, tokens = merged(group[kind], merge)
        if "sound" in group:
            ids += [VISION_START, AUDIO_START] + [VIDEO] * (frames * tokens)
            ids += [AUDIO] * group["sound"] + [AUDIO_END, VISION_END]
        else:
            ids[-1] = VISION_START
            ids += [token] * (frames * tokens)
    return ids


def after_each(ids, end=VISION_END):
    """Turns the first text token after each image or video into an end marker."""
    for i in range(1, len(ids)):
        if ids[i - 1] in (IMAGE, VIDEO) and ids[i] == TEXT:
            ids[i] = end
    return torch.tensor([ids])


def old_release(rng, convention, cls, is_vllm):
    merge, rate = 2, rng.choice((1, 2, 4, 25))
    kinds = ("image", "video")  # 5.4 fails if a prompt has both
    prompt = Prompt(rng, merge, kinds=(rng.choice(kinds),) if "5.4" in convention else kinds)
    config = namespace(image_token_id=IMAGE, video_token_id=VIDEO,
                       vision_start_token_id=VISION_START,
                       vision_config=namespace(spatial_merge_size=merge, temporal_merge_size=1,
                                               tokens_per_second=rate))
    ids = after_each(token_ids(prompt, merge))
    images, videos = prompt.grids("image"), prompt.grids("video")
    times = prompt.seconds()
    members = {"ids_per_second": rate} if "2.5" in convention else {}
    members |= {"temporal_merge": 1} if "ernie" in convention else {}
    if is_vllm:
        rows = [[] if each is None else each.tolist() for each in (images, videos)]
        got, delta = cls.get_mrope_input_positions(
            None, ids[0].tolist(), config, *rows, [] if times is None else times.tolist())
        made = {"ids": got.tolist(), "delta": delta}
    else:
        more = {"second_per_grid_ts": times} if "2.5" in convention else {}
        one = bound(cls, config)
        if "mm_token_type_ids" in cls.get_rope_index.__code__.co_varnames:
            more["mm_token_type_ids"] = torch.tensor(
                [[{IMAGE: 1, VIDEO: 2}.get(each, 0) for each in ids[0].tolist()]])
        got, delta = cls.get_rope_index(one, ids, image_grid_thw=images, video_grid_thw=videos,
                                        **more)
        made = answered(got, delta)
    return convention, cls.__name__, members, prompt.groups, made


def audio_lengths():
    """Maps each number of sound tokens to an audio length that Qwen3-Omni encodes as that many."""
    module = importlib.import_module("transformers.models.qwen3_omni_moe.modeling_qwen3_omni_moe")
    length_of = module._get_feat_extract_output_lengths
    return {int(length_of(torch.tensor(each), 50)): each for each in range(4000, 0, -1)}


def omni(rng, convention):
    is_third = convention == "qwen3-omni"
    folder = "qwen3_omni_moe" if is_third else "qwen2_5_omni"
    prefix = "Qwen3OmniMoe" if is_third else "Qwen2_5Omni"
    name = f"{prefix}PreTrainedModelForConditionalGeneration"
    with_sound = rng.random() < 0.6
    kinds = ("image", "sound", "text") if with_sound else ("image", "video", "text")
    prompt = Prompt(rng, 2, kinds=kinds, is_multiple=True)  # the classes need multiples of merge
    if not any("image" in each or "video" in each for each in prompt.groups):
        return omni(rng, convention)
    rate, chunk = rng.choice(((25, 2), (13, 2), (25, 1), (2, 3)))
    config = namespace(image_token_id=IMAGE, video_token_id=VIDEO, audio_token_id=AUDIO,
                       vision_start_token_id=VISION_START, audio_start_token_id=AUDIO_START,
                       position_id_per_seconds=rate, seconds_per_chunk=chunk,
                       audio_config=namespace(n_window=50))
    ids = after_each(token_ids(prompt, 2))
    cls = class_of(folder, name)
    sounds = [each["sound"] for each in prompt.groups if "sound" in each]
    of_tokens = audio_lengths() if is_third else {each: 4 * each for each in sounds}
    got, delta = cls.get_rope_index(
        bound(cls, config, spatial_merge_size=2), ids, prompt.grids("image"),
        prompt.grids("video"), torch.ones_like(ids), with_sound,
        tensor([of_tokens[each] for each in sounds]), prompt.seconds())
    members = {"ids_per_second": rate}
    if not is_third:
        members["ids_per_chunk"] = rate * chunk
    return convention, f"{folder}.{name}", members, prompt.groups, answered(got, delta)


def glm_image(rng, convention):
    prompt = Prompt(rng, 1, kinds=("image",))
    ids = []
    for group in prompt.groups:
        ids += [TEXT] * group.get("text", 0)
        if "image" in group:
            ids[-1] = IMAGE_START
            ids += [IMAGE] * (group["image"][0] * group["image"][1])
    ids = after_each(ids, IMAGE_END)
    ids[0, -1] = IMAGE_START
    targets = [[lengths(rng, 1), lengths(rng, 1)] for _ in range(rng.randint(1, 2))]
    grids = prompt.grids("image").tolist() + [[1, *each] for each in targets]
    cls = class_of("glm_image", "GlmImageModel")
    one = bound(cls, namespace(image_start_token_id=IMAGE_START, image_end_token_id=IMAGE_END))
    got, _ = cls.get_rope_index(one, ids, torch.tensor(grids))
    decoded = one._cached_decode_position_ids[0]
    groups = prompt.groups + [{"image": each} for each in reversed(targets)] + [{"text": 1}]
    made = {"ids": torch.cat([got[:, 0], decoded], 1).tolist(), "delta": None}
    return convention, "glm_image.GlmImageModel", {}, groups, made


def hunyuan(rng, convention):
    merge = rng.choice((1, 2))
    prompt = Prompt(rng, merge, kinds=("image",))
    kinds, groups = [], []
    for group in prompt.groups:
        if "text" in group:
            kinds += [0] * group["text"]
            groups.append(group)
            continue
        rows, columns = group["image"]
        tokens = rows // merge * (columns // merge + 1)
        around = rng.randrange(2)  # markers may be labelled like the image
        kinds += [1] * (tokens + 2 * around)
        groups += [{"text": around}, group, {"text": around}]
    kinds = torch.tensor([kinds])
    cls = class_of("hunyuan_vl", "HunYuanVLModel")
    config = namespace(vision_config=namespace(spatial_merge_size=merge),
                       text_config=namespace(rope_parameters={"mrope_section": [16] * 4}))
    got, delta = cls.get_rope_index(bound(cls, config), torch.zeros_like(kinds), kinds,
                                    prompt.grids("image"))
    return convention, "hunyuan_vl.HunYuanVLModel", {"merge": merge}, groups, answered(got, delta)


def minicpm(rng, convention):
    mode = rng.choice(("4x", "16x"))
    merge = 2 if mode == "4x" else 4
    ids, kinds, groups, sizes = [], [], [], []

    def add(tokens, kind=0):
        ids.extend(tokens)
        kinds.extend([kind] * len(tokens))

    def crop(start, grid, end):
        add([start])
        add([IMAGE] * (grid[0] // merge * (grid[1] // merge)), 1)
        add([end])
        sizes.append(grid)

    for _ in range(rng.randint(1, 4)):
        text = rng.randint(0, 6)
        add([TEXT] * text)
        groups.append({"text": text})
        thumbnail = [lengths(rng, merge, 9), lengths(rng, merge, 9)]
        crop(IMAGE_START, thumbnail, IMAGE_END)
        group = {"image": thumbnail}
        if rng.random() < 0.6:
            down, across = rng.randint(1, 3), rng.randint(1, 3)
            slice_ = [lengths(rng, merge, 9), lengths(rng, merge, 9)]
            group["slices"] = [down, across, *slice_]
            for row, _ in itertools.product(range(down), range(across)):
                crop(SLICE_START, slice_, SLICE_END)
                if _ == across - 1 and row < down - 1:
                    add([NEWLINE])
        newlines = rng.choice((0, 0, 1, 2))
        add([NEWLINE] * newlines)
        groups.append(group | {"newlines": newlines})
    add([TEXT] * 2)
    groups.append({"text": 2})
    cls = class_of("minicpmv4_7", "MiniCPMV4_7Model")
    config = namespace(downsample_mode=mode, slice_start_id=SLICE_START, slice_end_id=SLICE_END,
                       image_start_id=IMAGE_START, image_end_id=IMAGE_END, newline_id=NEWLINE)
    got, delta = cls.get_rope_index(bound(cls, config), torch.tensor([ids]), torch.tensor([kinds]),
                                    torch.tensor(sizes))
    members = {"merge": merge}
    return convention, "minicpmv4_7.MiniCPMV4_7Model", members, groups, answered(got, delta)


def cut_class(path, suffixes):
    """The file's first class with one of these functions, without its other members."""
    source = pathlib.Path(path).read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        functions = [each for each in getattr(node, "body", [])
                     if isinstance(each, ast.FunctionDef) and each.name in suffixes]
        if isinstance(node, ast.ClassDef) and functions:
            body = "\n".join(ast.unparse(each) for each in functions)
            lines = [f"class {node.name}:"] + ["    " + line for line in body.splitlines()]
            return load_definitions("\n".join(lines), [node.name],
                                    {"torch": torch, "itertools": itertools})[node.name]
    raise SystemExit(f"{path} must have a class with one of {suffixes}")


def makers(arguments):
    made = {each: by_type for each in BY_TYPE}
    made |= {"qwen2.5-omni": omni, "qwen3-omni": omni, "glm-image": glm_image,
             "hunyuan-vl": hunyuan, "minicpm-v-4.7": minicpm}
    for option, value in zip(arguments[::2], arguments[1::2]):
        convention, path = value.split("=") if option == "--old" else ("qwen2.5-vl-vllm", value)
        cls = cut_class(path, ("get_rope_index", "get_mrope_input_positions",
                               "get_vision_position_ids"))
        made[convention] = lambda rng, name, cls=cls: old_release(rng, name, cls,
                                                                  name.endswith("vllm"))
    return made


def main():
    count, *arguments = sys.argv[1:]
    for convention, maker in makers(arguments).items():
        rng = random.Random(convention)
        for _ in range(int(count)):
            name, cls, members, groups, made = maker(rng, convention)
            print(json.dumps({"convention": name, "class": cls, "members": members,
                              "groups": groups} | made), flush=True)


if __name__ == "__main__":
    main()
