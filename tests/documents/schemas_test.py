# SPDX-License-Identifier: Apache-2.0
"""docs/schema matches the facts in the headers, and its references are consistent.

Usage: schemas_test.py PROGRAM_THAT_PRINTS_THE_FACTS
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from schemas import DOCUMENTS, SCHEMAS, validator  # noqa: E402

PROGRAM = sys.argv.pop(1)


class SchemasTest(unittest.TestCase):
    def test_scaling_rules_and_biases_equal_the_headers(self):
        made = subprocess.run([PROGRAM], capture_output=True, check=True).stdout
        kept = DOCUMENTS[(SCHEMAS / "encodings.schema.json").as_uri()]
        self.assertEqual(json.loads(made), kept, "./dev record --accept makes it again")

    def test_references_and_definitions_match(self):
        defined = {f"{uri}#/$defs/{name}" for uri, schema in DOCUMENTS.items()
                   for name in schema.get("$defs", ())}
        referred = set()
        for path in SCHEMAS.iterdir():
            resolver = validator(path.name.removesuffix(".schema.json")).resolver
            for reference in re.findall(r'"\$ref": "(.*?)"', path.read_text(encoding="utf-8")):
                referred.add(resolver.resolve(reference)[0])
        self.assertEqual({each for each in referred if "#/$defs/" in each}, defined)


if __name__ == "__main__":
    unittest.main()
