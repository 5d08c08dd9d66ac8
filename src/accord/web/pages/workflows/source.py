"""Definitions as texts that people read and edit: YAML where that can be read here, else JSON.
Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec

EXAMPLE: Final = """\
# A first example: somebody is asked, and what they say is kept as an epic.
# Steps run as they are listed. Everything is checked before it is saved.
name: ask-first
description: Asks an administrator, then writes it down.
input:
  type: object
  required: [title]
  properties:
    title: {type: string, description: What the epic is called}
steps:
  - name: decide
    type: wait
    approval: {by: [Administrator], timeout: 86400}
  - name: keep
    type: call
    operation: create_epic
    input: {title: "${input.title}"}
output: {kept_as: "${steps.keep.output.reference_id}"}
"""
"""What somebody without a workflow begins with."""
_WIDTH: Final = 100
_FIRST: Final = ("name", "type", "description", "on")


def without_version(definition: dict[str, Any]) -> dict[str, Any]:
    """A definition as it is saved again: its version counts up by itself."""
    return {name: value for name, value in definition.items() if name != "version"}


def as_json(definition: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(definition)).decode()


def as_yaml(definition: dict[str, Any]) -> str:
    """The same as YAML; as JSON, which can be read as YAML too, where there is none that says
    exactly the same."""
    try:
        import yaml

        from accord.workflows.core.yaml_values import read_yaml
    except ImportError:
        return as_json(definition)
    text: str = yaml.dump(
        _ordered(definition),
        Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper),
        sort_keys=False,
        allow_unicode=True,
        width=_WIDTH,
        default_flow_style=None,
    )
    text = text.replace("\n'on':", "\non:")  # which means something else in YAML 1.1 only
    # What is written by the rules of YAML 1.1 may mean something else by those of 1.2.
    return text if read_yaml(text) == definition else as_json(definition)


def _ordered(value: Any) -> Any:
    """The same, in the order in which people write it, and whole numbers as such."""
    if isinstance(value, dict):
        first = [name for name in _FIRST if name in value] if "name" in value else []
        return {name: _ordered(value[name]) for name in dict.fromkeys((*first, *value))}
    if isinstance(value, list):
        return [_ordered(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
