"""What every blob store does (model.md section 6), tried on both that come with weft."""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from weft.blobs import BlobReference, BlobStore, FileBlobStore, InMemoryBlobStore, PruneReport
from weft.errors import BlobIntegrityError, BlobNotFoundError

if TYPE_CHECKING:
    from pathlib import Path

UNKNOWN = BlobReference("0" * 32, "0" * 64, None, "file", 0)


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    return InMemoryBlobStore() if request.param == "memory" else FileBlobStore(tmp_path / "blobs")


def put(store: BlobStore, *sizes: int, **how: Any) -> list[BlobReference]:
    """Put blobs of these sizes, each a moment younger than the one before."""
    refs = []
    for size in sizes:
        refs.append(store.put_blob(bytes(size), **how))
        time.sleep(0.002)
    return refs


def ids(store: BlobStore, **filters: Any) -> list[str]:
    return [entry.ref.id for entry in store.list_blobs(**filters)]


def test_both_stores_are_blob_stores(store: BlobStore) -> None:
    assert isinstance(store, BlobStore)
    assert not isinstance(object(), BlobStore)


def test_the_same_bytes_put_twice_get_two_ids(store: BlobStore) -> None:
    """M-25: UUID4 in 32 hex digits, no deduplication at this level."""
    first, second = store.put_blob(b"same"), store.put_blob(b"same")

    assert first.id != second.id
    assert replace(first, id=second.id) == second
    assert all(re.fullmatch(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}", ref.id) for ref in (first, second))
    assert [store.get_blob(ref) for ref in (first, second)] == [b"same", b"same"]


def test_a_reference_says_what_was_put(store: BlobStore) -> None:
    """M-26: lower-case hex digest and byte count."""
    ref = store.put_blob(b"bytes", media_type="image/png", kind="image")

    assert ref == BlobReference(ref.id, hashlib.sha256(b"bytes").hexdigest(), "image/png", "image", 5)
    assert store.put_blob(b"").kind == "file"
    assert store.put_blob(b"").media_type is None


def test_bytes_that_change_after_the_put_do_not_change_the_blob(store: BlobStore) -> None:
    given = bytearray(b"before")
    ref = store.put_blob(given)  # type: ignore[arg-type]  # a buffer works as well

    given[:] = b"after!"

    assert store.get_blob(ref) == b"before"


def test_an_unknown_blob_is_not_found(store: BlobStore) -> None:
    """M-27."""
    with pytest.raises(BlobNotFoundError) as caught:
        store.get_blob(UNKNOWN)

    assert caught.value.blob_id == UNKNOWN.id
    assert not store.has_blob(UNKNOWN)


def test_bytes_other_than_the_reference_names_are_never_returned(store: BlobStore) -> None:
    """M-27: both digests in the error."""
    ref = store.put_blob(b"bytes")

    with pytest.raises(BlobIntegrityError) as caught:
        store.get_blob(replace(ref, sha256="0" * 64))

    assert (caught.value.blob_id, caught.value.expected, caught.value.actual) == (ref.id, "0" * 64, ref.sha256)
    assert all(fact in str(caught.value) for fact in (ref.id, "0" * 64, ref.sha256))


def test_only_a_successful_get_is_an_access(store: BlobStore) -> None:
    """M-27: `has_blob`, `list_blobs`, `put_blob` and a failed get are none."""
    ref = store.put_blob(b"bytes")
    store.has_blob(ref)
    store.list_blobs()
    store.put_blob(b"bytes")
    with pytest.raises(BlobIntegrityError):
        store.get_blob(replace(ref, sha256="0" * 64))
    untouched = next(entry for entry in store.list_blobs() if entry.ref == ref)

    before = datetime.now(UTC)
    store.get_blob(ref)
    touched = next(entry for entry in store.list_blobs() if entry.ref == ref)

    assert untouched.last_accessed_at is None
    assert touched.last_accessed_at is not None
    assert before <= touched.last_accessed_at <= datetime.now(UTC)
    assert replace(touched, last_accessed_at=None) == untouched


@pytest.mark.parametrize("by", ["reference", "id"])
def test_deleting_removes_once_and_never_raises(store: BlobStore, by: str) -> None:
    """M-28."""
    ref, kept = store.put_blob(b"bytes"), store.put_blob(b"bytes")
    name = ref if by == "reference" else ref.id

    answers = [store.delete_blob(name), store.delete_blob(name)]

    assert answers == [True, False]
    assert (store.has_blob(ref), ids(store), store.get_blob(kept)) == (False, [kept.id], b"bytes")


def test_a_list_is_filtered_and_oldest_first(store: BlobStore) -> None:
    """M-29: by exact kind and media type, sorted by creation."""
    png, jpg = (store.put_blob(b"i", media_type=kind, kind="image") for kind in ("image/png", "image/jpeg"))
    pdf = store.put_blob(b"f", media_type="application/pdf")
    entries = store.list_blobs()

    assert list(entries) == sorted(entries, key=lambda entry: (entry.created_at, entry.ref.id))
    assert {entry.ref for entry in entries} == {png, jpg, pdf}
    assert set(ids(store, kind="image")) == {png.id, jpg.id}
    assert ids(store, media_type="image/png") == [png.id]
    assert ids(store, kind="image", media_type="application/pdf") == []
    assert ids(store, kind="imag") == []


def test_entries_made_in_order_are_listed_in_order(store: BlobStore) -> None:
    """M-29."""
    refs = put(store, 3, 2, 1)

    assert ids(store) == [ref.id for ref in refs]


def test_pruning_by_size_takes_the_oldest_until_the_rest_fits(store: BlobStore) -> None:
    """M-30: the example of the model, with its report [M-33]."""
    first, second, third = put(store, 4, 6, 5, kind="image")
    [other] = put(store, 100)
    entries = store.list_blobs(kind="image")

    report = store.prune_blobs(kind="image", max_bytes=9)

    assert report == PruneReport(entries[:2], bytes_freed=10, examined=3, remaining=2, dry_run=False)
    assert [entry.ref for entry in report.deleted] == [first, second]
    assert ids(store) == [third.id, other.id]


def test_pruning_by_age_takes_what_is_strictly_older(store: BlobStore) -> None:
    """M-30: "strictly before"; a time without a zone is in UTC."""
    refs = put(store, 1, 1, 1)
    moment = store.list_blobs()[1].created_at

    dry = store.prune_blobs(older_than=moment.replace(tzinfo=None), dry_run=True)
    report = store.prune_blobs(older_than=moment)

    assert [entry.ref for entry in report.deleted] == [refs[0]]
    assert replace(dry, dry_run=False) == report
    assert ids(store) == [ref.id for ref in refs[1:]]


def test_age_and_size_together_take_first_the_old_then_the_oldest_left(store: BlobStore) -> None:
    """M-30: both may be combined; the size is that of the filtered blobs alone."""
    put(store, 1000, kind="other")
    refs = put(store, 1, 2, 3, 4, kind="image")
    moment = store.list_blobs(kind="image")[1].created_at

    report = store.prune_blobs(older_than=moment, max_bytes=7, kind="image")

    assert [entry.ref for entry in report.deleted] == refs[:2]
    assert (report.bytes_freed, report.examined, report.remaining) == (3, 4, 3)


def test_a_total_that_fits_already_is_left_alone(store: BlobStore) -> None:
    """M-30: "at or below the limit"."""
    put(store, 4, 5)

    assert store.prune_blobs(max_bytes=9) == PruneReport((), 0, 2, 2, False)
    assert store.prune_blobs(media_type="image/png", max_bytes=0) == PruneReport((), 0, 0, 2, False)


def test_a_limit_of_zero_takes_all_and_one_below_is_refused(store: BlobStore) -> None:
    """M-31: all that match, those of no bytes too."""
    with pytest.raises(ValueError, match="max_bytes must be 0 or more, not -1"):
        store.prune_blobs(max_bytes=-1)
    put(store, 1, 2, 0)

    report = store.prune_blobs(max_bytes=0)

    assert (report.bytes_freed, report.examined, report.remaining, ids(store)) == (3, 3, 0, [])


def test_pruning_to_zero_takes_only_what_matches(store: BlobStore) -> None:
    """M-31: removes all that match."""
    put(store, 1, 2, kind="image")
    [other] = put(store, 1)

    store.prune_blobs(max_bytes=0, kind="image")

    assert ids(store) == [other.id]


def test_no_limit_prunes_nothing(store: BlobStore) -> None:
    """M-32."""
    put(store, 1, 2)

    assert store.prune_blobs() == PruneReport((), 0, 2, 2, False)
    assert len(ids(store)) == 2


def test_a_dry_run_reports_what_would_be_and_removes_nothing(store: BlobStore) -> None:
    """M-33."""
    put(store, 1, 2, 3)
    entries = store.list_blobs()

    report = store.prune_blobs(max_bytes=3, dry_run=True)

    assert report == PruneReport(entries[:2], 3, 3, 1, True)
    assert store.list_blobs() == entries


def test_reading_does_not_make_a_blob_younger(store: BlobStore) -> None:
    """M-34: age is creation, not last access."""
    first, second = put(store, 1, 1)
    store.get_blob(first)

    report = store.prune_blobs(max_bytes=1)

    assert [entry.ref for entry in report.deleted] == [first]
    assert store.has_blob(second)


def test_b11_a_blob_of_no_bytes_and_two_types_for_one_content_are_fine(store: BlobStore) -> None:
    """B-11: the type belongs to the reference, not to the bytes."""
    nothing = store.put_blob(b"")
    png = store.put_blob(b"bytes", media_type="image/png", kind="image")
    raw = store.put_blob(b"bytes", media_type="application/octet-stream")

    assert [store.get_blob(ref) for ref in (nothing, png, raw)] == [b"", b"bytes", b"bytes"]
    assert nothing.size == 0
    assert {(entry.ref.media_type, entry.ref.kind) for entry in store.list_blobs()} == {
        (None, "file"),
        ("image/png", "image"),
        ("application/octet-stream", "file"),
    }


def test_a_store_is_equal_to_itself_alone(store: BlobStore, tmp_path: Path) -> None:
    """M-9."""
    other = InMemoryBlobStore() if isinstance(store, InMemoryBlobStore) else FileBlobStore(tmp_path / "blobs")

    assert store == store  # noqa: PLR0124 - the point
    assert store != other


def test_a_preloaded_store_trusts_what_it_is_given_and_checks_what_it_gives() -> None:
    """M-39: built without looking at digests; reading still does."""
    good = BlobReference("g", hashlib.sha256(b"x").hexdigest(), None, "file", 1)
    bad = BlobReference("b", "0" * 64, None, "file", 1)

    store = InMemoryBlobStore.from_preloaded({"g": (good, b"x"), "b": (bad, b"y")})

    assert store.get_blob(good) == b"x"
    assert store.has_blob(bad)
    assert {entry.ref for entry in store.list_blobs()} == {good, bad}
    with pytest.raises(BlobIntegrityError):
        store.get_blob(bad)


def test_a_store_shows_what_it_is(tmp_path: Path) -> None:
    assert repr(InMemoryBlobStore()) == "InMemoryBlobStore(0 blobs)"
    assert repr(FileBlobStore(tmp_path)) == f"FileBlobStore({str(tmp_path)!r})"


def test_a_prune_a_day_ahead_takes_all(store: BlobStore) -> None:
    """M-30: an `older_than` in another zone is the same moment."""
    put(store, 1, 1)

    report = store.prune_blobs(older_than=datetime.now(UTC) + timedelta(days=1))

    assert (len(report.deleted), report.remaining) == (2, 0)


@pytest.mark.parametrize("wrong", [None, 5, "text", [1, 2], {}], ids=repr)
def test_only_bytes_are_put(store: BlobStore, wrong: Any) -> None:
    """M-26: Python would make bytes of a number, a list, and in a file of nothing at all; none was meant."""
    with pytest.raises(TypeError, match=f"must be bytes, not {type(wrong).__name__}"):
        store.put_blob(wrong)

    assert store.list_blobs() == ()


@pytest.mark.parametrize("data", [bytearray(b"abc"), memoryview(b"a-b-c")[::2]], ids=["bytearray", "memoryview"])
def test_what_can_be_seen_as_bytes_is_put_as_its_bytes(store: BlobStore, data: Any) -> None:
    """M-26."""
    ref = store.put_blob(data)

    assert (ref.size, store.get_blob(ref)) == (3, b"abc")
