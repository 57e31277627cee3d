from __future__ import annotations

from slotwise.suggestions import instead_of


def test_the_nearest_name_or_all_of_them() -> None:
    assert instead_of("exat", ["sam", "exact"]) == "did you mean 'exact'?"
    assert instead_of("zzz", ["sam", "exact"]) == "expected one of sam, exact"
    assert instead_of("zzz", []) == "there are none"
