# SPDX-License-Identifier: Apache-2.0
"""BLEU (Papineni et al. 2002) by the program sacreBLEU (Post 2018). Scores of other programs are
not comparable with published ones."""

import contextlib
import json
import os
import subprocess

ADVICE = "BLEU needs sacreBLEU: pip install sacrebleu, or ROTARY_LAB_SACREBLEU=PROGRAM"


def ask(references, hypotheses, how):
    """sacreBLEU's answer; None if the program is missing or its answer has an unknown form."""
    command = [os.environ.get("ROTARY_LAB_SACREBLEU", "sacrebleu"), references, "-i", *hypotheses,
               "--metrics", "bleu", "--width", "6", "--format", "json", how]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
        return json.loads(done.stdout)
    except (OSError, subprocess.CalledProcessError, ValueError):
        return None


def add_score(cell):
    """Scores a finished translation once, and keeps the score beside its texts."""
    hypotheses, kept = cell.folder / "hypotheses.txt", cell.folder / "bleu.json"
    if "bleu" in cell.metrics or not hypotheses.exists():
        return
    if not kept.exists():
        answer = ask(cell.folder / "references.txt", [hypotheses], "--confidence")
        try:
            score = {"bleu": float(answer["score"]),
                     "bleu_half_width": float(answer["confidence_var"])}
        except (KeyError, TypeError, ValueError):
            return
        cell.metrics.update(score)
        with contextlib.suppress(OSError):  # others may own the folder
            kept.write_text(json.dumps(score), encoding="ascii")
        return
    cell.metrics.update(json.loads(kept.read_text(encoding="ascii")))


def comparisons(arms, claims):
    """Yields a line for each claim about BLEU and each seed, with both scores by paired bootstrap
    (Koehn 2004). Without sacreBLEU, yields advice."""
    cells = {(arm.name, cell.seed): cell for arm in arms for cell in arm.cells}
    for claim in claims:
        if claim.higher.metric != "bleu" or claim.lower.metric != "bleu":
            continue
        for (name, seed), cell in cells.items():
            base = cells.get((claim.lower.encoding, seed))
            texts = [each.folder / "hypotheses.txt" for each in (base, cell) if each is not None]
            if name != claim.higher.encoding or len(texts) < 2 or not all(
                    text.exists() for text in texts):
                continue
            answer = ask(cell.folder / "references.txt", texts, "--paired-bs")
            try:
                first, second = (each.get("BLEU", each) for each in answer)
                scores = [f"{each['score']:.2f} ± {each['ci']:.2f}" for each in (second, first)]
                p_value = second["p_value"] if second["p_value"] is not None else 1
                yield (f"BLEU, seed {seed}: {name} {scores[0]}, {claim.lower.encoding} "
                       f"{scores[1]}, p = {p_value:.3f} by paired bootstrap\n")
            except (AttributeError, KeyError, TypeError, ValueError):
                yield ADVICE + "\n"
                return
