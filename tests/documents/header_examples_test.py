#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the examples in comments of public headers, except those with an ellipsis.

Usage: header_examples_test.py REPOSITORY
"""

import pathlib
import re
import subprocess
import sys
import unittest

# Declarations that the examples assume.
GIVEN = """
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "rotary/numeric_contract.hpp"
#include "rotary/rotary.hpp"
#include "rotary/threads.hpp"

namespace rotary {
extern HeadsView q, k, v, out, d_q, k_cache, v_cache, out_of_suffix;
extern ScoresView scores, log_sum_exp, log_sum_exp_of_suffix;
extern TokensView x, rows;
extern TableView table_of_512, table_of_1024;
extern const ConstTableView weights;
extern const std::vector<float> table, w;
extern float* const data;
extern std::int8_t* const elements;
extern const std::span<const std::byte> bytes;
extern RotarySpec spec;
extern const Frequencies frequencies;
extern const Rotations rotations;
extern const ModelSpec one, other;
extern const Threads pool;
extern const T5Buckets buckets;
extern const RelativeBias bias;
extern const std::string_view config_json;
template <class Value>
void use(const Value& value);
void fail(std::string_view message);
"""
# An example is the indented end of a header's or section's comment.
EXAMPLE = re.compile(r"^//\n((?://   .*\n|//\n)+)(?=#ifndef |\n)", re.MULTILINE)


class HeaderExamples(unittest.TestCase):
    def test_examples_compile(self):
        examples = []
        without = []
        for header in sorted((repository / "include/rotary").glob("*.hpp")):
            found = EXAMPLE.findall(header.read_text(encoding="utf-8"))
            if not found:
                without.append(header.name)
            for number, lines in enumerate(found):
                code = "\n".join(line[2:] for line in lines.splitlines())
                if "…" not in code:
                    examples.append(f'#line 1 "{header.name}"\n[[maybe_unused]] static void '
                                    f'example_{header.stem}_{number}() {{\n{code}\n}}\n')
        self.assertEqual(without, ["version.hpp"])
        self.assertGreater(len(examples), 30)
        command = ["c++", "-std=c++20", "-fsyntax-only", "-Wno-unused-result",
                   f"-I{repository / 'include'}", "-x", "c++", "-"]
        done = subprocess.run(command, input=GIVEN + "\n".join(examples) + "}\n", text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    repository = pathlib.Path(sys.argv.pop(1))
    unittest.main(verbosity=1)
