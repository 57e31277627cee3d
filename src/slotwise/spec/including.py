"""Files that a spec includes: profiles and the platform's costs, measured once for many specs."""

from __future__ import annotations

from pathlib import Path

from slotwise.model import ModelError
from slotwise.spec.build_profiles import platform_of, profiles_of
from slotwise.spec.document import SpecDocument
from slotwise.spec.errors import SpecError
from slotwise.spec.profile_document import IncludedDocument, PlatformDocument, ProfileDocument
from slotwise.spec.reading import checked, read_text
from slotwise.spec.tree import read_tree


def with_included(document: SpecDocument, folder: Path) -> SpecDocument:
    """The spec with all entries of the files that it includes; `folder` is the one it is in.

    Its own entries win, then those of later files. Profiles of operators that it does not have are
    left out: a file may serve several specs. Raises SpecError that names the included file.
    """
    files = [document.include] if isinstance(document.include, str) else document.include or []
    profiles: dict[str, ProfileDocument] = {}
    platform: PlatformDocument | None = None
    for file in files:
        included = read_included(str(folder / file))
        profiles |= included.profiles
        platform = included.platform or platform
    used = {name: each for name, each in profiles.items() if name in document.topology.operators}
    merged = {
        "include": None,
        "profiles": used | document.profiles,
        "platform": document.platform or platform,
    }
    return document.model_copy(update=merged)


def read_included(name: str) -> IncludedDocument:
    """A file of profiles, checked as far as that goes without a topology. Raises SpecError."""
    tree = read_tree(read_text(name, "profiles").removeprefix("\ufeff"), name)
    if tree is None or tree.value is None:
        return IncludedDocument()
    document = checked(IncludedDocument, tree, name, "profiles file")
    try:
        profiles_of(document.profiles)
        platform_of(document.platform)
    except ModelError as error:
        raise SpecError(name, error.message, *tree.place(error.path)) from None
    return document
