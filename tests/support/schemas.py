# SPDX-License-Identifier: Apache-2.0
"""Validates documents against docs/schema. Needs no network for references between its files."""

import functools
import json
import pathlib

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "docs/schema"
DOCUMENTS = {
    path.as_uri(): json.loads(path.read_text(encoding="utf-8")) for path in SCHEMAS.glob("*.json")
}


@functools.cache
def validator(name):
    """A validator for NAME.schema.json."""
    uri = (SCHEMAS / f"{name}.schema.json").as_uri()
    jsonschema.Draft202012Validator.check_schema(DOCUMENTS[uri])
    resolver = jsonschema.RefResolver(uri, DOCUMENTS[uri], store=DOCUMENTS)
    return jsonschema.Draft202012Validator(DOCUMENTS[uri], resolver=resolver)


def validate(document, name):
    validator(name).validate(document)
