#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the filter that turns comments into Doxygen's, and the search for undocumented names.

Usage: api_test.py REPOSITORY
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

repository = pathlib.Path(sys.argv[1])
tools = repository / "tools/docs"

CPP = """\
// SPDX-License-Identifier: Apache-2.0
// Points.
#pragma once

namespace n {

// A point:
//   x, y
// and no more.
struct Point {
  double x = 0;  // metres
  // NOLINTNEXTLINE(some-check): a reason
  operator bool() const;
};

}  // namespace n
"""
CPP_FILTERED = """\
/** @file
   Points. */
#pragma once

namespace n {

/** A point: @verbatim
     x, y @endverbatim
   and no more. */
struct Point {
  double x = 0;  ///< metres

  operator bool() const;
};

}  // namespace n
"""
C = """\
/* SPDX-License-Identifier: Apache-2.0 */
/* Points,
 * in C. */
#ifndef POINT_H

/* ---- Values ---- */

/* A point. */
struct point {
  double x; /* metres */
};

#endif
"""
C_FILTERED = """\
/** @file
 * Points,
 * in C. */
#ifndef POINT_H

/** @name Values */
/** @{ */
/** A point. */
struct point {
  double x; /**< metres */
};

#endif
/** @} */
"""
XML = """<doxygen>
<compounddef kind="struct"><compoundname>n::Silent</compoundname><briefdescription/>
</compounddef>
<compounddef kind="struct"><compoundname>n::Told</compoundname>
<briefdescription><para>A type.</para></briefdescription></compounddef>
<compounddef kind="namespace"><compoundname>n</compoundname>
<memberdef kind="function"><name>told</name><briefdescription>Says it.</briefdescription>
</memberdef>
<memberdef kind="function"><name>told</name></memberdef>
<memberdef kind="function"><name>silent</name><briefdescription> </briefdescription></memberdef>
</compounddef></doxygen>
"""


def run(tool, *arguments):
    command = [sys.executable, "-B", str(tools / tool), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


class Api(unittest.TestCase):
    maxDiff = None

    def test_the_filter_turns_comments_into_doxygen_comments(self):
        for name, text, filtered in (("p.hpp", CPP, CPP_FILTERED), ("p.h", C, C_FILTERED)):
            with self.subTest(header=name), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / name
                path.write_text(text, encoding="utf-8")
                self.assertEqual(run("doxygen_filter.py", path).stdout, filtered)

    def test_names_without_a_comment_are_listed(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "n.xml").write_text(XML, encoding="utf-8")
            done = run("undocumented.py", folder)
        named = [line.partition(":  ")[0].rpartition(":")[0] for line in done.stdout.splitlines()]
        self.assertEqual((done.returncode, named), (1, ["n::Silent", "silent"]))

    def test_a_folder_without_types_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run("undocumented.py", folder).returncode, 1)

    def test_every_header_begins_with_a_file_comment(self):
        for header in sorted((repository / "include/rotary").iterdir()):
            with self.subTest(header=header.name):
                first = run("doxygen_filter.py", header).stdout.splitlines()
                self.assertRegex(first[0], r"^/\*\* @file$")
                self.assertRegex(first[1], r"^ [ *] +\S")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
