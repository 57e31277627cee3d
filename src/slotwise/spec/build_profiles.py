"""Profiles and the platform: document -> model and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from slotwise.model import (
    FixedLoad,
    Hop,
    Measurement,
    Platform,
    Profile,
    ProfileForms,
    ServiceRate,
    TaskCosts,
    ThreadRow,
    ThreadTable,
)
from slotwise.spec.base import given, located
from slotwise.spec.profile_document import MeasuredDocument, PlatformDocument, ProfileDocument

HOPS = ("in_slot", "in_node", "between_nodes")


def profiles_of(documents: Mapping[str, ProfileDocument]) -> dict[str, Profile]:
    """Raises ModelError with a path that starts at `profiles`."""
    profiles = {}
    for name, document in documents.items():
        with located("profiles", name):
            profiles[name] = _profile(document)
    return profiles


def platform_of(document: PlatformDocument | None) -> Platform:
    """Raises ModelError with a path that starts at `platform`."""
    if document is None:
        return Platform()
    figures = given(document)
    with located("platform", "measured"):
        figures["measurement"] = _measurement(document.measured)
    figures.pop("measured", None)
    figures |= {name: Hop(**(figures[name] or {})) for name in HOPS if name in figures}
    return Platform(**figures)


def profile_document(profile: Profile) -> dict[str, Any]:
    match profile:
        case ThreadTable():
            rows = (dataclasses.asdict(row) for row in profile.rows)
            return {"threads": {row.pop("threads"): row for row in rows}}
        case TaskCosts():
            return {"costs": dataclasses.asdict(profile)}
        case ServiceRate():
            return {"service": dataclasses.asdict(profile)}
        case FixedLoad():
            return {"fixed": dataclasses.asdict(profile)}
        case ProfileForms():
            document: dict[str, Any] = {}
            for form in profile.forms:
                document |= profile_document(form)
            if profile.measurement is not None:
                document["measured"] = dataclasses.asdict(profile.measurement)
            return document


def platform_document(platform: Platform) -> dict[str, Any] | None:
    if platform == Platform():
        return None
    document = dataclasses.asdict(platform)
    document["measured"] = document.pop("measurement")
    for name in HOPS:
        if getattr(platform, name) == Hop():
            del document[name]
    return document


def _profile(document: ProfileDocument) -> Profile:
    if document.fixed is not None:
        return FixedLoad(**given(document.fixed))
    return ProfileForms(
        None if document.threads is None else _table(document),
        None if document.costs is None else TaskCosts(**given(document.costs)),
        None if document.service is None else ServiceRate(**given(document.service)),
        _measurement(document.measured),
    )


def _table(document: ProfileDocument) -> ThreadTable:
    rows = (document.threads or {}).items()
    return ThreadTable(tuple(ThreadRow(count, row.rate, row.cpu, row.mem) for count, row in rows))


def _measurement(document: MeasuredDocument | None) -> Measurement | None:
    return None if document is None else Measurement(**given(document))
