"""Contract suites: what the members of each family keep, as tests to inherit.

    import pytest
    from slotwise.testing.placers import PlacerContract
    from slotwise_level import Level

    @pytest.mark.parametrize("placer", [Level()])
    class TestLevel(PlacerContract):
        ...

Slotwise's own algorithms are tested with the same classes. Nothing else in Slotwise imports this
package: it needs pytest and hypothesis, which `pip install 'slotwise[testing]'` brings along.
"""

from __future__ import annotations

try:
    import hypothesis  # noqa: F401
    import pytest
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"slotwise.testing needs the package '{error.name}': run pip install 'slotwise[testing]'",
        name=error.name,
    ) from error

# So that a failed assertion in these modules shows its values, as one in a test file does.
pytest.register_assert_rewrite(
    *(
        f"{__name__}.{module}"
        for module in ("allocators", "answers", "controllers", "placers", "provisioners")
    )
)
