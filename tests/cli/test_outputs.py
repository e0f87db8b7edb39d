# SPDX-License-Identifier: Apache-2.0
"""Tests output files and standard streams: failures, signals, permissions, links and inputs."""

import errno
import itertools
import json
import os
import shutil
import signal
import struct
import subprocess
import unittest

import numpy as np

import safetensors_files
from tool import LLAMA, TOOL, ToolTest


class OutputTest(ToolTest):
    def run_script(self, script, *arguments, **options):
        """Runs a line of bash, in which "$@" is the tool with the arguments."""
        command = ["/bin/bash", "-c", script, "bash", TOOL, *map(str, arguments)]
        return subprocess.run(command, cwd=self.path, timeout=60, stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, **({"stdout": subprocess.PIPE} | options))

    def names(self):
        return sorted(path.name for path in self.path.iterdir())

    def table(self, name="table.npy", *arguments):
        return ["table", "config.json", "--positions", "0:4", "--out", name, *arguments]


class StandardStreamsTest(OutputTest):
    def test_closed_standard_streams_leave_output_files_intact(self):
        """A file must not get a closed stream's descriptor, or messages would enter the file."""
        self.run_ok(*self.table("expected.npy"))
        expected = (self.path / "expected.npy").read_bytes()
        for count in (1, 2, 3):
            for closed in itertools.combinations("012", count):
                with self.subTest(closed=closed):
                    redirections = " ".join(f"{number}>&-" for number in closed)
                    result = self.run_script(f'exec "$@" {redirections}', *self.table())
                    self.assertEqual(result.returncode, 4 if "1" in closed else 0, result.stderr)
                    self.assertEqual((self.path / "table.npy").read_bytes(), expected)
                    (self.path / "table.npy").unlink()

    def test_a_closed_standard_input_exits_with_4(self):
        result = self.run_script('exec "$@" <&-', "inspect", "-")
        self.assertEqual((result.returncode, result.stdout), (4, b""))
        self.assertIn(b"standard input: cannot read it", result.stderr)

    def check_lost_answer(self, script, **options):
        result = self.run_script(script, *self.table(), **options)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn(b"standard output: cannot write it", result.stderr)
        self.assertIn(b"output files, if any, are written", result.stderr)
        self.assertEqual(np.load(self.path / "table.npy").shape, (2, 4, 8))
        (self.path / "table.npy").unlink()

    def test_an_unwritable_answer_exits_with_4_and_keeps_the_files(self):
        self.check_lost_answer('exec "$@" > /dev/full')
        self.check_lost_answer('exec "$@" >&-')
        self.check_lost_answer('exec "$@" --json > /dev/full')
        with self.broken_pipe() as pipe:
            self.check_lost_answer('trap "" PIPE; exec "$@"', stdout=pipe)

    def broken_pipe(self):
        reader, writer = os.pipe()
        os.close(reader)
        return os.fdopen(writer, "wb", buffering=0)

    def test_a_broken_pipe_ends_the_tool_after_its_files_are_written(self):
        """SIGPIPE ends the tool, as it ends other filters."""
        with self.broken_pipe() as pipe:
            result = self.run_script('exec "$@"', *self.table(), stdout=pipe,
                                     restore_signals=True)
        self.assertEqual(result.returncode, -signal.SIGPIPE)
        self.assertEqual(self.names(), ["config.json", "table.npy"])

    def test_a_failure_keeps_its_exit_code_without_streams(self):
        for redirections in ["> /dev/full", ">&-", "2> /dev/full", "2>&-", ">&- 2>&-"]:
            with self.subTest(redirections=redirections):
                script = f'exec "$@" --json {redirections}'
                self.assertEqual(self.run_script(script, "inspect").returncode, 2)
                self.assertEqual(self.run_script(script, "inspect", "gone.json").returncode, 4)
                self.write_config("{", "malformed.json")
                result = self.run_script(script, "inspect", "malformed.json")
                self.assertEqual(result.returncode, 3)

    def test_unwritable_warnings_change_neither_exit_code_nor_answer(self):
        arguments = ["inspect", "llama-3.1-8b", "--context", "1000000"]
        warned = self.run_tool(*arguments)
        self.assertIn(b": warning: ", warned.stderr)
        for redirection in ["2> /dev/full", "2>&-"]:
            result = self.run_script(f'exec "$@" {redirection}', *arguments)
            self.assertEqual((result.returncode, result.stdout), (0, warned.stdout))


class PartialFilesTest(OutputTest):
    def test_files_with_the_longest_name_are_written_and_replaced(self):
        name = 251 * "n" + ".npy"
        self.run_ok(*self.table(name))
        self.run_ok(*self.table(name, "--force"))
        self.assertEqual(self.names(), sorted(["config.json", name]))


class ReplacedFilesTest(OutputTest):
    def setUp(self):
        super().setUp()
        self.old = self.path / "table.npy"
        self.old.write_bytes(b"old")

    def replace(self):
        self.run_ok(*self.table("table.npy", "--force"))
        self.assertEqual(self.names(), ["config.json", "table.npy"])
        np.load(self.old)
        return self.old.stat()

    def test_permissions_are_kept(self):
        for mode in [0o600, 0o640, 0o444, 0o666, 0o777]:
            self.old.chmod(mode)
            self.assertEqual(self.replace().st_mode & 0o7777, mode)

    def test_new_files_have_the_permissions_of_the_umask(self):
        self.old.unlink()
        for mask, mode in [(0o022, 0o644), (0o077, 0o600), (0o000, 0o666)]:
            result = self.run_script(f'umask {mask:o}; exec "$@"', *self.table())
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.old.stat().st_mode & 0o7777, mode)
            self.old.unlink()

    def test_a_link_stays_and_its_file_is_replaced(self):
        (self.path / "link.npy").symlink_to("table.npy")
        self.run_ok(*self.table("link.npy", "--force"))
        self.assertTrue((self.path / "link.npy").is_symlink())
        np.load(self.old)

    def test_hard_links_are_refused(self):
        os.link(self.old, self.path / "second.npy")
        self.assert_fails(4, ["table.npy: is one of 2 hard links", "remove this one first"],
                          *self.table("table.npy", "--force"))

    def access_list(self, *entries):
        """Encodes entries (tag, permissions, identity) in version 2 of the kernel's format."""
        return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *each) for each in entries)

    def test_an_access_list_is_kept(self):
        nobody, everybody = 65534, 0xFFFFFFFF
        wanted = self.access_list((1, 6, everybody), (2, 6, nobody), (4, 0, everybody),
                                  (16, 6, everybody), (32, 0, everybody))
        name = "system.posix_acl_access"
        try:
            os.setxattr(self.old, name, wanted)
        except OSError as error:
            if error.errno != errno.ENOTSUP:
                raise
            self.skipTest("the file system has no access lists")
        self.replace()
        self.assertEqual(os.getxattr(self.old, name), wanted)

    @unittest.skipUnless(os.geteuid() == 0, "only root may change an owner")
    def test_the_owner_is_kept(self):
        os.chown(self.old, 12345, 23456)
        self.old.chmod(0o640)
        status = self.replace()
        self.assertEqual((status.st_uid, status.st_gid), (12345, 23456))
        self.assertEqual(status.st_mode & 0o7777, 0o640)

    @unittest.skipUnless(os.geteuid() == 0, "only root makes files of others")
    def test_a_group_that_cannot_be_kept_gets_the_permissions_of_others(self):
        os.chown(self.old, 12345, 23456)
        self.old.chmod(0o664)
        self.path.chmod(0o777)
        result = self.run_script('exec "$@"', *self.table("table.npy", "--force"), user=54321,
                                 group=54321, extra_groups=[])
        self.assertEqual(result.returncode, 0, result.stderr)
        status = self.old.stat()
        self.assertEqual((status.st_gid, status.st_mode & 0o7777), (54321, 0o644))


class InputsAsOutputsTest(OutputTest):
    """No command overwrites its input, whichever path names it."""

    ROTATE = ["rotate", "--config", "config.json", "--layout", "bthd", "--q", "q.npy"]
    # (command that writes, option of its output, input that the output would overwrite)
    CALLS = [
        (["table", "config.npy", "--positions", "0:4"], "--out", "config.npy"),
        (["table", "alibi", "--parameters", "slopes.npy", "--distances", "-3:1"], "--out",
         "slopes.npy"),
        (ROTATE, "--out-q", "q.npy"),
        (ROTATE, "--out-q", "config.json"),
        ([*ROTATE, "--positions", "positions.npy"], "--out-q", "positions.npy"),
        ([*ROTATE, "--out-q", "o.npy", "--k", "k.npy"], "--out-k", "q.npy"),
        (["encode", "--like", "whisper", "--x", "rows.npy"], "--out", "rows.npy"),
        (["encode", "--table", "table.npy", "--x", "rows.npy"], "--out", "table.npy"),
        (["bias", "alibi", "--parameters", "slopes.npy", "--rows", "0:2", "--cols", "0:2"],
         "--out", "slopes.npy"),
        (["plot", "wavelengths", "config.svg"], "--out", "config.svg"),
        (["plot", "tables", "--table", "table.svg"], "--out", "table.svg"),
        (["report", "config.json", "config.npy"], "--out", "config.npy"),
        (["permute", "model.safetensors", "--to", "interleaved"], "--out", "model.safetensors"),
        (["permute", "model.safetensors", "--to", "interleaved"], "--out", "config.json"),
    ]
    WITHOUT_INPUTS = [["positions", "--text", "2", "--as", "qwen2-vl"], ["trace"],
                      ["bench", "--operations", "rows", "--tokens", "1", "--seconds", "0.001"],
                      ["bench", "attention", "--tokens", "1", "--seconds", "0.001"]]

    def setUp(self):
        super().setUp()
        for name in ("config.npy", "config.svg"):
            self.write_config(LLAMA, name)
        for name, shape in {"q.npy": (1, 4, 2, 16), "k.npy": (1, 4, 1, 16), "rows.npy": (4, 8),
                            "table.npy": (8, 8), "slopes.npy": (2,)}.items():
            np.save(self.path / name, np.ones(shape, np.float32))
        np.save(self.path / "positions.npy", np.arange(4))
        shutil.copy(self.path / "table.npy", self.path / "table.svg")
        safetensors_files.save(self.path / "model.safetensors", self.queries(0))

    def queries(self, layer):
        return {f"model.layers.{layer}.self_attn.q_proj.weight": np.ones((64, 2), np.float32)}

    def test_an_input_is_refused_as_an_output_by_any_path(self):
        for call, option, name in self.CALLS:
            link, second = (self.path / f"{kind}-{name}" for kind in ("link", "second"))
            link.symlink_to(name)
            for path in (name, f"./{name}", self.path / name, link.name):
                with self.subTest(call=call, path=path):
                    self.assert_fails(2, [f"an output must not be an input, got '{path}'", name],
                                      *call, option, path, "--force")
            link.unlink()
            os.link(self.path / name, second)
            with self.subTest(call=call, path=second.name):
                self.assert_fails(4, ["is one of 2 hard links"], *call, option, second.name,
                                  "--force")
            second.unlink()

    def test_an_existing_output_is_kept_without_force(self):
        for call, option, name in [*self.CALLS,
                                   *((call, "--out", "o.npy") for call in self.WITHOUT_INPUTS)]:
            (self.path / f"old-{name}").write_bytes(b"precious")
            with self.subTest(call=call):
                self.assert_fails(4, [f"old-{name}: exists; ", "--force"], *call, option,
                                  f"old-{name}")

    def test_every_command_with_outputs_is_tested(self):
        names = self.run_json("help", "help")["commands"]
        names += [f"bench {name}" for name in self.run_json("help", "help", "bench")["commands"]]
        writing = {name for name in names
                   if any("--force" in option["names"] for option in
                          self.run_json("help", "help", *name.split())["options"])}
        self.assertEqual(writing, {call[0] for call, _, _ in self.CALLS}
                         | {" ".join(call).split(" --")[0] for call in self.WITHOUT_INPUTS})

    def test_the_file_of_standard_input_is_refused_as_an_output(self):
        call = [*self.ROTATE[:-1], "-", "--out-q", "q.npy", "--force"]
        before = self.contents()
        result = self.run_script('exec < q.npy; exec "$@"', *call)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(b"the file of the input 'standard input'", result.stderr)
        self.assertEqual(self.contents(), before)

    def test_an_output_that_is_another_input_of_the_index_is_refused(self):
        """The output of the first file is a link to the second input."""
        names = ["a.safetensors", "b.safetensors"]
        for layer, name in enumerate(names):
            safetensors_files.save(self.path / name, self.queries(layer))
        (self.path / "all.index.json").write_text(json.dumps(
            {"weight_map": {next(iter(self.queries(i))): names[i] for i in range(2)}}))
        (self.path / "out").mkdir()
        (self.path / "out" / names[0]).symlink_to("../" + names[1])
        self.assert_fails(2, ["got 'out/a.safetensors'", "the input 'b.safetensors'"], "permute",
                          "all.index.json", "--to", "interleaved", "--out", "out", "--force")


class EndlessInputTest(OutputTest):
    def bytes_taken(self, beginning):
        """Returns how many bytes the tool reads of an endless stream with this beginning."""
        command = [TOOL, "rotate", "--config", "config.json", "--layout", "thd", "--q", "-",
                   "--out-q", "o.npy"]
        process = subprocess.Popen(command, cwd=self.path, stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0)
        taken = process.stdin.write(beginning)
        most = 1 << 26
        try:
            while taken < most:
                taken += process.stdin.write(bytes(1 << 16))
            process.kill()
        except BrokenPipeError:
            pass
        process.stdin.close()
        errors = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), 3, errors)
        self.assertEqual(self.names(), ["config.json"])
        return taken, errors

    def test_reading_stops_at_the_announced_size(self):
        in_a_pipe = 1 << 20
        taken, errors = self.bytes_taken(b"")
        self.assertIn(b"must begin with \\x93NUMPY", errors)
        self.assertLess(taken, in_a_pipe)
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2, 16), }\n"
        magic = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
        taken, errors = self.bytes_taken(magic + header)
        self.assertIn(b"must have 512 bytes, got more", errors)
        self.assertLess(taken, in_a_pipe)
        taken, errors = self.bytes_taken(magic + header.replace(b"shape", b"shade"))
        self.assertIn(b"got 'shade'", errors)
        self.assertLess(taken, in_a_pipe)

    def test_sizes_beyond_the_data_are_refused_as_truncated(self):
        """Tests a file, and a pipe, whose size is known only at its end."""
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,), }\n"
        file = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"data"
        (self.path / "q.npy").write_bytes(file)
        for path, stdin in [("q.npy", b""), ("-", file)]:
            self.assert_fails(3, ["must have 17179869184 bytes, got 4: truncated?"], "rotate",
                              "--config", "config.json", "--layout", "thd", "--q", path, "--out-q",
                              "o.npy", stdin=stdin)
