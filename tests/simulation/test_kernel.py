"""The cache of compiled kernels."""

from __future__ import annotations

from pathlib import Path

from slotwise.simulation.kernels import events, feed_forward, jit


def test_every_file_with_kernels_is_in_the_fingerprint() -> None:
    """Else a change in it would leave stale kernels behind."""
    here = Path(jit.__file__).parent
    with_kernels = {
        path.stem for path in here.glob("*.py") if "kernels.jit import" in path.read_text()
    }
    assert with_kernels <= set(jit.FILES)


def test_kernels_are_cached_under_their_fingerprint() -> None:
    for compiled in (feed_forward.advance_chunks, events.advance_to):
        assert jit._fingerprint() in compiled._cache._cache_file._index_name
