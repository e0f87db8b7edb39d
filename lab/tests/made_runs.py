# SPDX-License-Identifier: Apache-2.0
"""Makes run directories like rotary-lab's, with numbers from formulas instead of trainings."""

import json
import math
import pathlib

STEPS = 200
TOKENS = 64  # per sequence
BATCH = 8
# (final loss, decay of the excess loss to 1/e in steps, seeds, CPU seconds)
ARMS = {
    "rope": (2.40, 70, (1, 2, 3), 25.0),
    "learned": (2.74, 120, (1, 2, 3), 24.0),
    "sinusoidal": (2.72, 110, (1, 2, 3), 25.0),
    "alibi": (2.42, 75, (1,), 25.5),
    "t5": (2.69, 110, (1,), 26.0),
    "shaw": (2.41, 80, (1,), 40.0),
    "none": (2.72, 115, (1,), 23.0),
    "kerple_log": (2.37, 72, (1,), 26.5),
    "p-rope": (2.41, 71, (1,), 25.0),
}
RULES = ("linear", "ntk", "yarn", "dynamic")
# The loss added by each doubling of the length.
BEYOND = {"rope": 0.20, "p-rope": 0.10, "sinusoidal": 0.30}
BY_RULE = {"": 1, "linear": 1.6, "ntk": 0.6, "yarn": 0.1, "dynamic": 0.5}
MULTIPLES = (1, 2, 4)
WINDOWS = 32
MACHINE = {"cpu": "a processor", "blas": "a BLAS", "torch": "1.13.0", "rotary": "0.1.0",
           "commit": "", "threads": 1, "ranks": 1}


def experiment(name="e1-made", arms=ARMS):
    return {
        "schema_version": 1, "name": name, "title": "E1: made, not trained",
        "mirrors": "nothing but what a test needs", "task": "causal_lm",
        "presets": {"quick": {
            "model": {"d_model": 64, "layers": 1, "heads": 2, "tokens": TOKENS},
            "training": {"steps": STEPS, "batch": BATCH, "learning_rate": 0.002,
                         "warmup_steps": 5, "validate_every": 20, "validation_rows": 64,
                         "evaluate_lengths": list(MULTIPLES), "rescale": ["linear", "yarn"]},
            "seeds": [1, 2, 3], "encodings": list(arms)}},
        "claims": [
            {"statement": "RoPE is ahead of learned positions",
             "lower": "rope", "higher": "learned", "margin": 0.05},
            {"statement": "RoPE is as good as ALiBi, but for 0.05",
             "lower": "rope", "higher": "alibi", "margin": -0.05},
            {"statement": "T5 is ahead of RoPE", "lower": "t5", "higher": "rope", "margin": 0.05},
            {"statement": "RoPE is far ahead of ALiBi",
             "lower": "rope", "higher": "alibi", "margin": 0.1},
            {"statement": "YaRN repairs RoPE at four times the length", "margin": 0.1,
             "lower": {"encoding": "rope", "multiple": 4, "rule": "yarn"},
             "higher": {"encoding": "rope", "multiple": 4}},
            {"statement": "RoPE is where learned positions end in half the steps", "margin": 0.5,
             "lower": {"encoding": "rope", "metric": "steps_to@learned"},
             "higher": {"encoding": "learned", "metric": "steps_to@learned"}},
            {"statement": "RoPE costs little at 512 tokens", "margin": -0.05,
             "lower": {"encoding": "rope", "metric": "overhead@512"},
             "higher": {"encoding": "none", "metric": "overhead@512"}},
            {"statement": "Nobody ran this", "lower": "rope", "higher": "rope-window", "margin": 0},
        ],
        "paper": [{"label": "A language model of 125 million parameters", "unit": "nats",
                   "source": "EleutherAI 2021, Rotary Embeddings: A Relative Revolution",
                   "values": [["learned", 2.809], ["t5", 2.801], ["rope", 2.759]]},
                  {"label": "WikiText-103", "unit": "perplexity",
                   "source": "Press et al. 2022, arXiv 2108.12409, 512 tokens",
                   "values": [["sinusoidal", 20.05], ["rope", 20.07], ["alibi", 19.73],
                              [{"encoding": "rope", "multiple": 2}, 21.37]]}],
    }


def loss_at(arm, seed, step):
    end, tau, _, _ = ARMS[arm]
    noise = 0.01 * math.sin(7 * seed + step)
    shape = (math.exp(-step / tau) - math.exp(-STEPS / tau)) / (1 - math.exp(-STEPS / tau))
    return end + (5.5 - end) * shape + 0.02 * (seed - 2) * (arm != "learned") + noise


def log_of(arm, seed):
    lines = ["step,tokens,train_loss,validation_loss,learning_rate,wall_s,cpu_s,tokens_per_s"]
    cpu = ARMS[arm][3]
    for step in range(20, STEPS + 1, 20):
        loss = loss_at(arm, seed, step)
        lines.append(f"{step},{step * BATCH * TOKENS},{loss + 0.03:.9g},{loss:.9g},0.002,"
                     f"{cpu * step / STEPS * 1.1:.3f},{cpu * step / STEPS:.3f},4000")
    return "\n".join(lines) + "\n"


def length_of(arm, seed, multiple, rule):
    end = loss_at(arm, seed, STEPS)
    doublings = math.log2(multiple)
    more = BEYOND.get(arm, 0.01) * BY_RULE[rule]
    loss = end + more * doublings
    if arm == "learned" and multiple > 1:
        return {"multiple": multiple, "rule": rule, "loss": None, "last_quarter": None,
                "windows": [], "by_position": []}
    positions = [end + 0.3 / (n + 1) + more * max(0, n / 8 - 1) for n in range(8 * multiple)]
    waves = [0.2 * math.sin(3 * n) + 0.01 * math.cos(n + len(arm)) for n in range(WINDOWS)]
    # Windows have equal numbers of targets, so their mean must be the loss.
    windows = [loss + wave - sum(waves) / WINDOWS for wave in waves]
    return {"multiple": multiple, "rule": rule, "loss": loss,
            "last_quarter": loss + more * doublings,
            "windows": windows, "by_position": positions}


def metrics_of(arm):
    slope = {"t5": 0.08, "shaw": 0.7, "kerple_log": 0.09}.get(arm, 0.03)
    flat = 0 if arm == "none" else slope
    return {f"overhead@{n}": flat * (1 if arm == "rope" else n / 512) for n in (128, 256, 512)}


def done_of(arm, seed):
    lengths = []
    for multiple in MULTIPLES:
        lengths.append(length_of(arm, seed, multiple, ""))
        if multiple > 1 and arm in ("rope", "p-rope"):
            lengths += [length_of(arm, seed, multiple, rule) for rule in RULES]
    return {"schema_version": 1, "steps": STEPS, "parameters": 385120,
            "validation_loss": loss_at(arm, seed, STEPS), "wall_s": ARMS[arm][3] * 1.1,
            "cpu_s": ARMS[arm][3], "lengths": lengths, "metrics": metrics_of(arm),
            "machines": [MACHINE]}


def config_of(arm, seed, made):
    preset = made["presets"]["quick"]
    return {"schema_version": 1, "experiment": made["name"], "preset": "quick", "seed": seed,
            "encoding": {"name": arm, "kind": "made", "base": 10000}, "model": preset["model"],
            "training": preset["training"], "data": {"name": "book", "sha256": "0123" * 16}}


def write_runs(folder, arms=ARMS, made=None):
    """Writes the experiment's file and folder/runs; returns the file's path."""
    folder = pathlib.Path(folder)
    made = made or experiment(arms=arms)
    path = folder / f"{made['name']}.json"
    path.write_text(json.dumps(made), encoding="ascii")
    for arm in arms:
        for seed in arms[arm][2]:
            cell = folder / "runs" / f"{made['name']}-quick" / arm / f"seed-{seed}"
            cell.mkdir(parents=True)
            (cell / "config.json").write_text(json.dumps(config_of(arm, seed, made)))
            (cell / "log.csv").write_text(log_of(arm, seed))
            (cell / "done.json").write_text(json.dumps(done_of(arm, seed)))
    return path
