# SPDX-License-Identifier: Apache-2.0
"""The engines: their releases, where their code comes from, and the program that runs it."""

import dataclasses
import email
import functools
import pathlib
import re
import subprocess
import sys
import zipfile

from names import BUILD, architecture_among, architectures, families, language_models, pins
from sizes import OWN, SIZES
from wheels import python_with, wheel_of

from cells import Model

HERE = pathlib.Path(__file__).resolve().parent
# Models with these names have positions on two axes, which conformance/golden/classes compares.
OF_IMAGES = re.compile("vision|vit|pixtral|_dit|Transformer|_video|siglip|clip")
PART = re.compile(r"_(text|vision|audio|encoder|decoder|talker)(_(?!\d).*)?$")
ROTATES = re.compile("rotary|rotate_half|\\brope\\b|_rope|rope_", re.IGNORECASE)
# Patterns that recognise the code of each non-rotary encoding.
SIGN_OF = {encoding: re.compile(pattern, re.IGNORECASE) for encoding, pattern in {
    "learned": r"pos\w*emb\w*\s*(:[^=]*)?=\s*(nn\.)?\w*(Embedding|Parameter|Position)"
               r"|embed_positions|class \w*Position\w*Embedding|nn\.Embedding\([^)]*pos",
    "sinusoidal": r"sinus|\.sin\(", "t5_bias": "relative_attention_bias|_relative_position_bucket",
    "alibi": "alibi", "none": "", "no_attention": ""}.items()}
LABELS = ("full_attention", "sliding_attention")
# Text models without their own class, and the full model whose class reads their configs.
WITHIN = {"kimi_k2": "kimi_k25", "exaone4_5_text": "exaone4_5"}
TORCH = ("torch==2.15.0", "transformers==5.23.0", "numpy==2.4.6")


@dataclasses.dataclass(frozen=True)
class Engine:
    """survey: the program that runs the engine; packages: the packages of its environment; folder:
    the engine's folder in the wheel of --from."""

    name: str
    releases: tuple
    survey: str
    packages: tuple
    folder: str = ""
    agreed: str = "run"
    # Verdicts if the engine fails on a config that the library refuses, or cannot read.
    both_fail: tuple = ("run", "unknown")
    # Worst first: a cell gets the worst verdict on its configs.
    worst_first: tuple = ("differs", "fails", "run", "unknown")

    def command(self, release, source):
        python = python_with(self.packages, BUILD / "environments")
        place = [] if source is None else [unpacked(source) / self.folder]
        return [python, "-B", HERE / self.survey, *place], {}

    def version(self, release):
        return release

    def dialect(self, release):
        return self.name

    def families(self):
        return [family for family, *_ in families()]

    def name_of(self, family, names):
        return architecture_among(family, names)

    def model(self, family, survey):
        keys = {"model_type": family} | SIZES | OWN.get(family, {})
        within = language_models().get(family)
        if within is None and "text_config" not in keys:
            return Model(family, keys, LABELS)
        text = keys.get("text_config", {"model_type": within} | OWN.get(within, {}))
        return Model(family, keys | {"text_config": SIZES | text}, LABELS, path="text_config")

    def is_absent(self, family, release, names):
        return self.name_of(family, names) is None

    def read(self, release):
        return {}

    def trusted(self, family, cells):
        """Returns a family's verdicts; none if no config ran, since our sizes may be the cause."""
        return cells if any(kind in ("run", "differs") for kind, *_ in cells.values()) else {}

    def with_parts(self, found, absent, not_run):
        """Counts a full model for the text model in it, too, except for cells that differ."""
        found, absent, there = dict(found), set(absent), found.keys() | not_run
        for family, within in language_models().items():
            if family in there:
                there, absent = there | {within}, absent - {within}
                found.setdefault(within, {cell: each for cell, each in found.get(family, {}).items()
                                          if each[0] != "differs"})
        return found, {family for family in absent
                       if (whole := PART.sub("", family)) == family or whole not in there}


class Transformers(Engine):
    """Runs the release's own configuration class and model, all releases in one environment."""

    def command(self, release, source):
        python = python_with(self.packages, BUILD / "environments")
        return [python, "-B", HERE / self.survey], {
            "PYTHONPATH": str(package_of(release)), "HF_HUB_OFFLINE": "1", "USE_TF": "0",
            "PYTHONWARNINGS": "ignore", "PYTHONPYCACHEPREFIX": str(BUILD / "pycache"),
            "USE_FLAX": "0"}

    def version(self, release):
        return ".".join(release.split(".")[:2])

    def dialect(self, release):
        is_newest = release == self.releases[-1]
        return self.name if is_newest else f"{self.name}@{self.version(release)}"

    def families(self):
        """Leaves out families whose source is another project: they count as neither run nor
        absent. A source of "" means that the code ships with the model."""
        known = folders_of(pins()["lines"][-1]) | {""}
        return [family for family, encoding, source, _ in families()
                if source in known and encoding != "around another"]

    def name_of(self, family, names):
        name = WITHIN.get(family, family)
        return name if name in names and not OF_IMAGES.search(family) else None

    def model(self, family, survey):
        whole = WITHIN.get(family)
        made = survey.ask({"base": language_models()[whole] if whole else family})
        if "error" in made:
            raise LookupError(made["error"])
        if whole is None:
            return Model(family, made["base"], tuple(made["labels"]))
        text = made["base"] | {"model_type": family}
        return Model(family, {"model_type": whole, "text_config": text}, path="text_config")

    def is_absent(self, family, release, names):
        """True if the release lacks the folder, or no class in it may read the family's keys."""
        source = next(source for each, _, source, _ in families() if each == family)
        folders = folders_of(release) | {""}
        may_be_read = (PART.sub("", family) in folders - {family} or OF_IMAGES.search(family)
                       or family in words_of_configs(release))
        return source not in folders or not may_be_read

    def trusted(self, family, cells):
        return cells

    def with_parts(self, found, absent, not_run):
        return found, absent

    def read(self, release):
        """Returns non-rotary families whose modeling file has their encoding and no rotation."""
        return {family: {"plain:default": ("read", "", "")}
                for family, encoding, source, _ in families()
                if encoding in SIGN_OF and source in folders_of(release)
                and (text := modeling_text(source, release))
                and not ROTATES.search(text) and SIGN_OF[encoding].search(text)}


class WithOwnConfigs(Engine):
    """Engines that also run families whose configuration class ships with the model. Such a
    class may read more keys, so a failure is no verdict."""

    def is_absent(self, family, release, names):
        return self.name_of(family, names) is None and (
            # Other engines may run a family of Transformers by Transformers' class.
            self.name == "onnxruntime" or family not in architectures())

    def trusted(self, family, cells):
        return {cell: each for cell, each in super().trusted(family, cells).items()
                if family in architectures() or each[0] != "fails"}


class Mlx(Engine):
    def name_of(self, family, names):
        return family if family in names else None


def modeling_text(source, release):
    name = re.compile(rf"transformers/models/{source}/modeling_(?!tf_|flax_)")
    wheel = archive_of(release)
    return "\n".join(wheel.read(each).decode() for each in wheel.namelist() if name.match(each))


@functools.cache
def archive_of(release):
    return zipfile.ZipFile(wheel_of(release, BUILD / "wheels"))


@functools.cache
def folders_of(release):
    return {name.split("/")[2] for name in archive_of(release).namelist()
            if name.startswith("transformers/models/")}


@functools.cache
def words_of_configs(release):
    """Returns the strings in the files of configuration classes and of Auto classes."""
    name = re.compile(r"transformers/models/(\w+/configuration_|auto/(configuration_|auto_map))")
    wheel = archive_of(release)
    return {word for each in wheel.namelist() if name.match(each)
            for word in re.findall(r"[\"']([\w.-]+)[\"']", wheel.read(each).decode())}


def package_of(release):
    """Returns a folder with a Transformers release and its requirements besides torch."""
    place = BUILD / "releases" / release
    if (place / "installed").exists():
        return place
    install(place, wheel_of(release, BUILD / "wheels"))
    metadata = place / f"transformers-{release}.dist-info/METADATA"
    wanted = [requirement.split(";")[0].replace(" ", "")
              for requirement in email.message_from_string(metadata.read_text())
              .get_all("Requires-Dist") if "extra" not in requirement]
    beside = ("tokenizers", "huggingface-hub", "safetensors")
    install(place, *(each for each in wanted if each.startswith(beside)))
    (place / "installed").touch()
    return place


def install(place, *packages):
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile",
                    "--no-cache-dir", "--upgrade", "--target", place, *packages], check=True)


def unpacked(source):
    """Returns a folder with the wheel's Python files, or the source itself if it is a folder."""
    source = pathlib.Path(source)
    if source.is_dir():
        return source
    folder = BUILD / "sources" / source.stem
    with zipfile.ZipFile(source) as wheel:
        wheel.extractall(folder, [name for name in wheel.namelist() if name.endswith(".py")])
    return folder


ENGINES = {engine.name: engine for engine in (
    Transformers("transformers", tuple(pins()["lines"]), "transformers_survey.py",
                 tuple(pins()["environment"]),
                 both_fail=("fails", "fails"),
                 worst_first=("differs", "run", "fails", "unknown")),
    Mlx("mlx", ("0.32",), "mlx_survey.py", ("mlx-lm==0.32.2", "mlx[cpu]==0.32.4", "numpy==2.4.6")),
    Engine("llama.cpp", ("0.0",), "llama_cpp_survey.py", (*TORCH, "sentencepiece==0.2.1"),
           agreed="read"),
    WithOwnConfigs("vllm", ("0.33",), "vllm_survey.py", (*TORCH, "pillow==12.1.0", "torchvision")),
    WithOwnConfigs("sglang", ("0.0",), "sglang_survey.py",
                   (TORCH[0], "transformers==5.19.0", *TORCH[2:], "pillow==12.1.0", "torchvision")),
    WithOwnConfigs("onnxruntime", ("0.18",), "onnxruntime_survey.py",
                   (*TORCH, "onnx_ir", "onnxruntime"), "onnxruntime_genai/models"))}
