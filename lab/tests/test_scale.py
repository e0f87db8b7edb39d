# SPDX-License-Identifier: Apache-2.0
"""rotary-lab in several processes, some of which are stopped or killed."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time

from lab_case import LAB, TOOL, LabCase, tiny

JOBS = LAB / "jobs.sh"
CELLS = [(encoding, seed) for seed in (1, 2, 3) for encoding in ("rope", "none")]


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def rank_environment(rank, size, port):
    return {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


class Scale(LabCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for steps in (20, 300, 2000):
            name = cls.base / f"{steps}.json"
            name.write_text(json.dumps(tiny(steps, (1, 2, 3))), encoding="ascii")
        for steps in (20, 300, 2000):
            done = subprocess.run(cls.command(steps, f"whole{steps}"), capture_output=True,
                                  text=True, check=False)
            assert done.returncode == 0, done.stderr

    @classmethod
    def command(cls, steps, runs, *arguments, jobs=None):
        return [*([JOBS, str(jobs)] if jobs else []), TOOL, "run",
                str(cls.base / f"{steps}.json"), "--data", "book", "--data-dir", str(cls.data),
                "--runs", str(cls.base / runs), *arguments]

    def run_lab(self, steps, runs, *arguments, jobs=None, expect=0, environment=None):
        done = subprocess.run(self.command(steps, runs, *arguments, jobs=jobs),
                              capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done.stderr

    def start(self, steps, runs, *arguments, jobs=None, environment=None):
        process = subprocess.Popen(self.command(steps, runs, *arguments, jobs=jobs),
                                   env=environment, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def end(self, process, expect):
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, expect, errors)
        return errors

    def cell(self, runs, encoding, seed):
        return self.base / runs / "tiny-quick" / encoding / f"seed-{seed}"

    def losses(self, runs, encoding, seed):
        return self.losses_in(self.cell(runs, encoding, seed))

    def outcome(self, runs, encoding, seed):
        done = json.loads((self.cell(runs, encoding, seed) / "done.json").read_text())
        return {key: done[key] for key in ("steps", "validation_loss", "lengths", "metrics")}

    def check_like_whole(self, steps, runs):
        for cell in CELLS:
            self.assertEqual(self.losses(runs, *cell), self.losses(f"whole{steps}", *cell), cell)
            self.assertEqual(self.outcome(runs, *cell), self.outcome(f"whole{steps}", *cell), cell)

    def wait_until(self, is_so, what):
        deadline = time.monotonic() + 60
        while not is_so():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.005)

    def wait_for_steps(self, cell):
        log = cell / "log.csv"
        self.wait_until(lambda: log.exists() and log.read_text().count("\n") > 2, "no log")

    def test_jobs_share_the_cells_and_report_each_once(self):
        said = self.run_lab(20, "jobs", jobs=3)
        self.check_like_whole(20, "jobs")
        for encoding, seed in CELLS:
            ends = f"tiny {encoding} seed {seed}: 20 steps, validation loss"
            self.assertEqual(said.count(ends), 1, said)
        # The first cell may finish before the other processes start.
        self.assertRegex(said, r"\n6 cells, (\d finished before, )?book")
        self.assertIn("6 cells, 6 finished before", self.run_lab(20, "jobs", jobs=2))

    def test_the_cell_of_a_killed_worker_is_taken_over(self):
        workers = []
        for rank, cell in enumerate(CELLS[:2]):
            workers.append(self.start(2000, "worker", environment=rank_environment(rank, 2, 1)))
            self.wait_for_steps(self.cell("worker", *cell))
        workers[0].kill()
        for rank, worker in enumerate(workers):
            self.end(worker, -signal.SIGKILL if rank == 0 else 0)
        self.check_like_whole(2000, "worker")

    def test_a_cell_that_another_process_trains_is_left_alone(self):
        one = ("--only", "rope", "--seeds", "1")
        process = self.start(2000, "busy", *one)
        self.wait_for_steps(self.cell("busy", "rope", 1))
        process.send_signal(signal.SIGSTOP)
        self.assertIn("another process works on it", self.run_lab(2000, "busy", *one))
        process.kill()

    def test_an_interruption_stops_all_jobs_and_a_later_run_continues(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            before = self.log_bytes("interrupted")
            process = self.start(300, "interrupted", jobs=2)
            self.wait_until(lambda: self.log_bytes("interrupted") != before, "no log")
            process.send_signal(number)
            self.end(process, 130)
        self.assertFalse(self.processes_on("interrupted"))
        # If the process that starts the others is killed, the others end too.
        before = self.log_bytes("interrupted")
        process = self.start(300, "interrupted", jobs=2)
        self.wait_until(lambda: self.log_bytes("interrupted") != before, "no log")
        process.kill()
        self.wait_until(lambda: not self.processes_on("interrupted"), "they go on")
        self.run_lab(300, "interrupted", jobs=2)
        self.check_like_whole(300, "interrupted")

    def test_a_crashed_process_is_a_failure_and_a_stopped_one_is_not(self):
        for name, code in (("SEGV", 139), ("TERM", 0), ("INT", 0)):
            done = subprocess.run([JOBS, "2", "python3", "-c", "import os, signal\n"
                                   "if os.environ['RANK'] == '1':\n"
                                   f"    signal.signal(signal.SIG{name}, signal.SIG_DFL)\n"
                                   f"    os.kill(os.getpid(), signal.SIG{name})"], check=False,
                                  stderr=subprocess.DEVNULL)
            self.assertEqual(done.returncode, code, name)

    def log_bytes(self, runs):
        return [(str(log), log.stat().st_size) for log in self.base.glob(f"{runs}/*/*/*/log.csv")]

    def processes_on(self, runs):
        found = []
        # glob() would stat each process, and raise if one has ended.
        for process in filter(str.isdecimal, os.listdir("/proc")):
            try:
                command = pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
            except OSError:
                continue
            if str(self.base / runs).encode() in command.split(b"\0"):
                found.append(process)
        return found

    def test_data_parallel_ranks_share_a_cell_and_stop_if_one_is_lost(self):
        one = ("--only", "rope", "--seeds", "1", "--data-parallel")
        port = free_port()
        ranks = [self.start(300, "shared", *one, environment=rank_environment(rank, 2, port))
                 for rank in range(2)]
        self.wait_until(lambda: (self.cell("shared", "rope", 1) / "log.csv").exists(), "no log")
        ranks[1].kill()
        self.assertIn("rank 0 of 2 must reach every other one", self.end(ranks[0], 4))
        self.assertTrue((self.cell("shared", "rope", 1) / "checkpoint.pt").exists())
        self.run_lab(300, "shared", *one, jobs=2)
        loss = self.outcome("shared", "rope", 1)["validation_loss"]
        self.assertAlmostEqual(loss, self.outcome("whole300", "rope", 1)["validation_loss"], 3)
        done = json.loads((self.cell("shared", "rope", 1) / "done.json").read_text())
        machine = done["machines"][-1]
        self.assertEqual((machine["ranks"], machine["threads"]), (2, 1))
        for key in ("cpu", "blas", "torch", "rotary"):
            self.assertTrue(machine[key], key)

    def test_a_wrong_rank_variable_is_named(self):
        wrong = rank_environment(2, 2, 1)
        self.assertIn("RANK must be a number from 0 to 1, got '2'",
                      self.run_lab(20, "wrong", expect=2, environment=wrong))
        del wrong["MASTER_ADDR"]
        wrong["RANK"] = "0"
        self.assertIn("MASTER_ADDR must be the host of rank 0",
                      self.run_lab(20, "wrong", expect=2, environment=wrong))
        self.assertIn("--data-parallel must have several processes",
                      self.run_lab(20, "wrong", "--data-parallel", expect=2))
