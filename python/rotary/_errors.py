# SPDX-License-Identifier: Apache-2.0
"""Error: how the library refuses input."""

import re

# Messages say "NAME must be …, got …". NAME is an argument or a config key. "config (GROUP): " may
# come before NAME. "(KEY)" follows NAME if the config has another name for the value. Messages of
# the tool begin with "rotary COMMAND: ".
_KEY = re.compile(
    r"(?:rotary \w+: (?:--|configs\[\d+\]: )?)?(?:\w+(?: \((?P<group>[\w.]+)\))?: )?"
    r"(?P<name>[A-Za-z_][\w.-]*)(?: \((?P<key>[\w.]+)\))? (?:must|is|has)\b"
)


class Error(ValueError):
    """The library refused a call; it wrote no output.

    message: the requirement and the value that breaks it.
    status: "invalid_argument", "malformed_input", "unsupported" or "out_of_memory".
    key: the config's key or the argument that the message is about, or None.
    """

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.key = _key_of(message)

    def __reduce__(self):
        return type(self), (self.status, self.message)


def invalid(message: str) -> Error:
    return Error("invalid_argument", message)


def _key_of(message: str) -> str | None:
    match = _KEY.match(message)
    if match is None:
        return None
    if match["key"]:
        return match["key"]
    name = match["name"].replace("-", "_")
    return f"{match['group']}.{name}" if match["group"] else name


class ModelWarning(UserWarning):
    """A config is legal but suspicious: have a person check it."""
