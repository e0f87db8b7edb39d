# SPDX-License-Identifier: Apache-2.0
"""What the programs that run within engines share. Each answers lines of JSON on standard input:

    {"names": true}                       {"names": [...]}, of models or architectures
    {"config": {...}, "calls": [7, 149]}  {"ropes": [...], "calls": [[[layer, rope], ...], ...]}

For each call, tokens one after the other, the layers that rotate (null: not known), each with the
place of its rope among {"inv_freq": [...], "factor": 1.0, "pairing": "half"}. What another
project's code raises is an answer, too: {"error": ...}.
"""

import json
import sys


def in_ropes(calls):
    """calls: for each (layer, rope)s."""
    ropes, found = [], []
    for call in calls:
        found.append([])
        for layer, rope in call:
            if rope not in ropes:
                ropes.append(rope)
            found[-1].append([layer, ropes.index(rope)])
    return {"ropes": ropes, "calls": found}


def text_of(error):
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def answer_lines(answer):
    answers, sys.stdout = sys.stdout, sys.stderr  # some models print
    for line in sys.stdin:
        try:
            made = answer(json.loads(line))
        except (Exception, SystemExit) as error:
            made = {"error": text_of(error)}
        print(json.dumps(made), file=answers, flush=True)
