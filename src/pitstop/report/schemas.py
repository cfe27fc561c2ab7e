"""The JSON Schemas of the documents, from the same structs that write them."""

from __future__ import annotations

from typing import Any

import msgspec

from pitstop.core.documents import RunDocument, TrialDocument

DOCUMENTS: dict[str, type[msgspec.Struct]] = {"run": RunDocument, "trial": TrialDocument}


def document_schema(name: str) -> dict[str, Any]:
    """The schema (draft 2020-12) of the `run` or the `trial` document; KeyError for another name.

    `schema` and `version` are pinned to the values that this version of pitstop writes.
    """
    kind = DOCUMENTS[name]
    schema = msgspec.json.schema(kind)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["$id"] = f"pitstop.{name}.v{_default(kind, 'version')}"
    for definition in schema["$defs"].values():
        if "schema" in definition.get("properties", {}):
            _pin(definition, ("schema", "version"))
    return schema


def _pin(definition: dict[str, Any], keys: tuple[str, ...]) -> None:
    """These keys are always written, and with one value."""
    for key in keys:
        definition["properties"][key]["const"] = definition["properties"][key].pop("default")
    definition["required"] = [*definition["required"], *keys]


def _default(kind: type[msgspec.Struct], field: str) -> Any:
    return next(each.default for each in msgspec.structs.fields(kind) if each.name == field)
