# SPDX-License-Identifier: Apache-2.0
"""Code that the *_survey.py programs share. They run engines and answer JSON lines on stdin:

    {"names": true}                       {"names": [...]}, of models or architectures
    {"config": {...}, "calls": [7, 149]}  {"ropes": [...], "calls": [[[layer, rope], ...], ...]}

A call is a number of tokens. Its answer has the rotating layers (null: unknown), each with the
index of its rope. A rope is {"inv_freq": [...], "factor": 1.0, "pairing": "half"}. Exceptions of
other projects' code are answers: {"error": ...}.
"""

import json
import sys


def in_ropes(calls):
    """calls: a list of (layer, rope) for each call."""
    ropes, found = [], []
    for call in calls:
        found.append([])
        for layer, rope in call:
            if rope not in ropes:
                ropes.append(rope)
            found[-1].append([layer, ropes.index(rope)])
    return {"ropes": ropes, "calls": found}


def answer_lines(answer):
    answers, sys.stdout = sys.stdout, sys.stderr  # some models print
    for line in sys.stdin:
        try:
            made = answer(json.loads(line))
        except (Exception, SystemExit) as error:
            made = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(made), file=answers, flush=True)
