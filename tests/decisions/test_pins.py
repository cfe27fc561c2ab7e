"""Whether a tag still means what is pinned."""

import pytest

from pitstop.decisions.pins import (
    Absent,
    Entry,
    Manifest,
    PinStatus,
    Platform,
    Unanswered,
    judge,
    judge_local,
)

ARM, AMD = Platform("linux", "arm64", "v8"), Platform("linux", "amd64")
ATTESTATION = Entry("sha256:att", None)
INDEX = Manifest("sha256:index", (Entry("sha256:arm", ARM), Entry("sha256:amd", AMD), ATTESTATION))
SINGLE = Manifest("sha256:arm", platform=ARM)
GONE, BUSY = Absent("MANIFEST_UNKNOWN"), Unanswered("429")
HERE = Platform("linux", "arm64")


@pytest.mark.parametrize(
    ("pinned", "by_tag", "by_digest", "status"),
    [
        ("sha256:index", INDEX, None, PinStatus.MATCH),
        ("sha256:arm", SINGLE, None, PinStatus.MATCH),
        ("sha256:arm", Manifest("sha256:arm"), None, PinStatus.MATCH),
        ("sha256:arm", INDEX, SINGLE, PinStatus.MATCH_PLATFORM),
        ("sha256:index", SINGLE, INDEX, PinStatus.MATCH_PLATFORM),
        ("sha256:amd", INDEX, None, PinStatus.WRONG_PLATFORM),
        ("sha256:amd", Manifest("sha256:amd", platform=AMD), None, PinStatus.WRONG_PLATFORM),
        ("sha256:x", Manifest("sha256:x", (Entry("sha256:amd", AMD), ATTESTATION)), None, PinStatus.WRONG_PLATFORM),
        ("sha256:old", INDEX, SINGLE, PinStatus.MOVED),
        ("sha256:old", INDEX, GONE, PinStatus.MOVED),
        ("sha256:old", INDEX, BUSY, PinStatus.MOVED),
        ("sha256:old", GONE, INDEX, PinStatus.GONE),
        ("sha256:old", GONE, GONE, PinStatus.GONE),
        ("sha256:old", GONE, BUSY, PinStatus.GONE),
        ("sha256:old", BUSY, INDEX, PinStatus.UNKNOWN),
        ("sha256:att", INDEX, None, PinStatus.MATCH_PLATFORM),
    ],
)
def test_a_tag_is_compared_with_its_pin(pinned, by_tag, by_digest, status):
    found = judge(pinned, "v1", by_tag, by_digest, HERE)
    assert found.status is status
    assert found.reason
    assert (found.upstream_digest is not None) == isinstance(by_tag, Manifest)


def test_a_pin_without_a_tag_is_asked_for_by_its_digest():
    assert judge("sha256:index", None, None, INDEX, HERE).status is PinStatus.MATCH
    assert judge("sha256:index", None, None, GONE, HERE).status is PinStatus.GONE
    assert judge("sha256:index", None, None, BUSY, HERE).status is PinStatus.UNKNOWN


def test_where_it_moved_and_whether_the_old_one_can_be_had_is_said():
    assert "sha256:index" in judge("sha256:old", "v1", INDEX, GONE, HERE).reason
    assert "gone from the registry" in judge("sha256:old", "v1", INDEX, GONE, HERE).reason
    assert "can still be had" in judge("sha256:old", "v1", GONE, SINGLE, HERE).reason


def test_a_local_build_that_nobody_published_is_neither_drift_nor_outage():
    assert judge_local(["sha256:a"], GONE, HERE).status is PinStatus.UNVERIFIABLE
    assert judge_local(["sha256:a"], BUSY, HERE).status is PinStatus.UNKNOWN
    assert judge_local(["sha256:a", "sha256:index"], INDEX, HERE).status is PinStatus.MATCH
    assert judge_local(["sha256:a"], INDEX, HERE).status is PinStatus.MOVED


def test_variants_only_part_32_bit_arm():
    assert HERE.runs(ARM)
    assert not Platform("linux", "arm", "v6").runs(Platform("linux", "arm", "v7"))
    assert Platform("linux", "arm", "v7").runs(Platform("linux", "arm"))
