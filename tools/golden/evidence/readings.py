# SPDX-License-Identifier: Apache-2.0
"""What the tool makes of configs as an engine reads them (readings.cpp)."""

import hashlib
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "build/release/bin/rotary_readings"


class Answers:
    """A program that answers each line of JSON with a line of JSON."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def ask(self, question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args} ended")
        return json.loads(line)


class Kept(Answers):
    """Answers that are kept in a file, so that what was stopped goes on."""

    def __init__(self, command, name):
        self.path = ROOT / f"build/golden/evidence/{name}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        self.known = dict(json.loads(line) for line in lines)
        self.command = command
        self.process = None

    def ask(self, question):
        key = hashlib.sha256(json.dumps(question).encode()).hexdigest()
        if key not in self.known:
            if self.process is None:
                super().__init__(self.command)
            self.known[key] = super().ask(question)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]


class Tool(Answers):
    def __init__(self):
        super().__init__([PROGRAM])

    def read(self, config, dialect, context=None):
        return self.ask({"config": config, "dialect": dialect, "context": context})
