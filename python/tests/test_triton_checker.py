"""The checker of Triton kernels by itself: lanes at addresses. It needs no Triton."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import pytest

from assay.triton import Checker, MemoryFaults, Place, Region, empty, wrap

BASE = 1 << 30


def region(
    shape: Any, strides: Any, role: Any = "input", itemsize: int = 4, base: int = BASE, name: str = "t"
) -> Region:
    return Region(name, base, shape, strides, itemsize, role)


def addresses(*elements: int, size: int = 4, base: int = BASE) -> Any:
    return (np.array(elements, np.int64) * size + base).astype(np.uint64)


def kinds(c: Checker) -> list[str]:
    return [f.kind for f in c.faults]


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((3, 4), (4, 1)), ((3, 4), (6, 1)), ((2, 3, 4), (40, 9, 2)), ((4, 3), (1, 4)), ((3, 1, 2), (7, 999, 3)),
     ((5,), (3,)), ((2, 1), (5, 1)), ((1, 1), (3, 7)), ((0, 4), (4, 1)), ((2, 3), (1 << 33, 2)), ((3, 4), (0, 1))],
)  # fmt: skip
def test_only_addresses_of_elements_are_inside(shape: Any, strides: Any) -> None:
    r = region(shape, strides)
    elements = set()
    if 0 not in shape:
        elements = {int(np.dot(i, strides)) for i in np.ndindex(*shape)}
    probes = sorted({e + d for e in elements | {0} for d in range(-3, 4)})
    c = Checker([r])
    ok = c.access("load", addresses(*probes), None, 4, home=r)
    inside = np.ones(len(probes), bool) if ok is None else ok
    assert [p for p, good in zip(probes, inside, strict=True) if good] == sorted(elements)
    for e in elements:
        index = c_index(r.describe(e * 4))
        assert int(np.dot(index, strides)) == e and all(i < max(1, n) for i, n in zip(index, shape, strict=True))


def c_index(text: str) -> list[int]:
    return [int(i) for i in text.partition("[")[2].partition("]")[0].split(",")]


def test_wide_and_narrow_accesses() -> None:
    r = region((2, 4), (5, 1), "scratch", itemsize=2)
    c = Checker([r])
    assert c.access("store", addresses(0, 2, size=2), None, 4, home=r) is None
    assert c.access("load", addresses(0, 1, 2, 3, size=2), None, 2, home=r) is None
    assert c.access("load", addresses(1, size=2), None, 4, home=r) is not None
    c.access("store", addresses(4, size=2), None, 4, home=r)  # its second half lies in a gap
    assert kinds(c) == ["misaligned", "out of bounds"]
    b = region((4,), (1,), "scratch")
    c = Checker([b])
    c.access("store", addresses(0, size=1), None, 1, home=b)  # one byte of four
    c.access("load", addresses(0), None, 4, home=b)
    assert kinds(c) == ["unwritten read"]
    c.access("store", addresses(1, 2, 3, size=1), None, 1, home=b)
    assert c.access("load", addresses(0), None, 4, home=b) is None


def test_rows_that_lie_far_apart() -> None:
    """Their numbers are by element: the span is 2^40 bytes."""
    r = region((3, 2), (1 << 37, 1), "output")
    assert r.writes.size == 6
    c = Checker([r])
    far = addresses(0, 1 << 37, (1 << 37) + 1)
    assert c.access("store", far, None, 4, (0, 0, 0), home=r) is None
    assert c.access("load", far, None, 4, (0, 0, 0), home=r) is None
    c.access("load", addresses(1), None, 4, (0, 0, 0), home=r)
    c.access("store", far, None, 4, (1, 0, 0), home=r)
    c.access("load", addresses(2, 5), None, 4, home=r)
    assert kinds(c) == ["unwritten read", "race", "out of bounds"]


def test_masked_lanes_do_nothing() -> None:
    r = region((4,), (1,), "output")
    c = Checker([r])
    mask = np.array([True, False, True])
    assert c.access("store", addresses(0, 99, 3), mask, 4, home=r) is None
    assert c.access("store", addresses(0, 99, 3), np.zeros(3, bool), 4, home=r) is None
    assert c.accesses == 2
    ok = c.access("store", addresses(0, 1, 99), np.array([True, False, True]), 4, home=r)
    assert ok is not None and ok.tolist() == [True, False, False]
    assert c.faults[0].lane == (2,) and c.faults[0].lanes == 1


def test_lanes_of_several_tensors() -> None:
    a, b = region((4,), (1,), name="a"), region((4,), (1,), "output", base=BASE + 4096, name="b")
    c = Checker([a, b])
    both = np.concatenate([addresses(0, 3), addresses(0, 3, base=BASE + 4096)])
    c.access("store", both, None, 4)
    assert [(f.kind, f.tensor, f.lanes) for f in c.faults] == [("input store", "a", 2)]
    c = Checker([a, b])
    c.access("load", addresses(0, 1, 2, 9), None, 4)
    assert [f.tensor for f in c.faults] == ["a"]
    c.access("load", np.array([1 << 60], np.uint64), None, 4)
    assert c.faults[1].tensor is None and "outside of all tensors" in c.faults[1].what


def test_a_page_without_memory() -> None:
    """A large pool has memory only where it is used."""
    memory = mmap.mmap(-1, 1 << 20)
    base = np.frombuffer(memory, np.uint8).ctypes.data
    r = Region("k", base, (1 << 40,), (1,), 1, may_lack_memory=True)
    c = Checker([r])
    pages = np.array([0, 5, 1 << 39], np.int64)
    ok = c.access("load", (pages + base).astype(np.uint64), None, 1, home=r)
    assert ok is not None and ok.tolist() == [True, True, False] and kinds(c) == ["unused page"]


def test_the_first_fault_or_all() -> None:
    r = region((4,), (1,))
    c = Checker([r], keep_going=False)
    with pytest.raises(MemoryFaults, match=r"load of 4 bytes outside of t of shape \[4\]: t\[7\], program \(2, 0, 0\)"):
        c.access("load", addresses(7), None, 4, (2, 0, 0), home=r)
    assert len(c.faults) == 1  # also where a caller takes the exception
    c = Checker([r])
    here, there = Place("a.py", 1), Place("a.py", 2)
    for _ in range(3):
        c.access("load", addresses(7), None, 4, place=here, home=r)
    c.access("load", addresses(8), None, 4, place=lambda: there, home=r)
    assert [(f.place, f.times) for f in c.faults] == [(here, 3), (there, 1)]


def test_outputs_outlive_a_checker() -> None:
    t = empty(4)
    for _ in range(2):
        c = Checker([t.region])
        at = addresses(0, 1, 2, 3, base=t.data_ptr())
        for program in ((0, 0, 0), (1, 0, 0)):
            c.access("store", at[:2] if program[0] else at[2:], None, 4, program)
            c.begin_launch("next")
        assert c.access("load", at, None, 4, (5, 0, 0)) is None and not c.faults


def test_the_host_writes_parts() -> None:
    t = empty(4, 6)
    t[1:3, ::2].fill_(1)
    written = t.region.writes.reshape(4, 6) != 0
    assert written[1:3, ::2].all() and written.sum() == 6
    t[0].view("int16").copy_(np.arange(12))  # narrower elements
    assert (t.region.writes != 0).sum() == 4 * (6 + 6)
    held = np.zeros(3, np.float32)
    held.flags.writeable = False
    with pytest.raises(ValueError, match="the host writes to the input q"):
        wrap("q", held, "float32", "input").zero_()
    with pytest.raises(TypeError, match="it must be a view"):
        t[[0, 1]]
    with pytest.raises(ValueError, match="there is no element type 'float7'"):
        empty(3, dtype="float7")


def _replay(steps: list[Any], seed: str) -> list[tuple[int, str]]:
    """Which steps race, by the checker."""
    r, flags = region((3,), (1,), "in_out"), region((2,), (1,), "in_out", base=BASE + 4096)
    c, found = Checker([r, flags]), []
    for i, (program, kind, element, order) in enumerate(steps):
        before = len(c.faults)
        where = r if order is None else flags
        at = addresses(element, base=where.base)
        name = "atomic" if "rmw" in kind else kind.removeprefix("atomic ")
        is_atomic = kind == "rmw" or kind.startswith("atomic ")
        acquires, releases = order in ("acquire", "acq_rel"), order in ("release", "acq_rel")
        c.access(name, at, None, 4, (program, 0, 0), Place(seed, i), home=where, atomic=is_atomic, acquires=acquires,
                 releases=releases)  # fmt: skip
        found += [(i, f.kind) for f in c.faults[before:]]
    return sorted(set(found))


def _races(steps: list[Any]) -> list[tuple[int, str]]:
    """Which steps race, by all pairs and vector clocks."""
    clocks = [[0] * 4 for _ in range(4)]
    flags = [[0] * 4 for _ in range(2)]
    done: list[tuple[int, int, str, int]] = []
    found = []
    for i, (p, kind, element, order) in enumerate(steps):
        clocks[p][p] += 1
        if order is None:
            is_wrong = any(
                q != p and e == element and (kind, k) != ("load", "load") and when > clocks[p][q]
                and {kind, k} - {"load", "atomic load"} and not {kind, k} <= {"rmw", "atomic load", "atomic store"}
                for q, when, k, e in done
            )  # fmt: skip
            found += [(i, "race")] if is_wrong else []
            done.append((p, clocks[p][p], kind, element))
            continue
        if order in ("acquire", "acq_rel"):
            clocks[p] = [max(a, b) for a, b in zip(clocks[p], flags[element], strict=True)]
        if order in ("release", "acq_rel"):
            flags[element] = [max(a, b) for a, b in zip(clocks[p], flags[element], strict=True)]
    return found


def test_races_are_those_of_vector_clocks() -> None:
    """The first race of random histories, against all pairs of accesses; later ones depend on what a race leaves."""
    rng, verdicts = np.random.default_rng(5), []
    for trial in range(3000):
        steps: list[Any] = []
        for _ in range(int(rng.integers(3, 14))):
            p = int(rng.integers(4))
            if rng.random() < 0.45:
                order = ("acquire", "release", "acq_rel", "relaxed")[int(rng.choice(4, p=[0.2, 0.2, 0.5, 0.1]))]
                steps.append((p, "rmw", int(rng.integers(2)), order))
            else:
                kind = ("load", "store", "rmw", "atomic load", "atomic store", "narrow rmw")[int(rng.integers(6))]
                steps.append((p, kind, int(rng.integers(3)), None))
        wanted = _races(steps)
        assert _replay(steps, str(trial))[:1] == wanted[:1], (steps, wanted)
        verdicts.append(bool(wanted))
    assert 0.2 < np.mean(verdicts) < 0.8


def test_many_readers_of_one_element_cost_little() -> None:
    r = region((64,), (1,), "in_out")
    c, all_ = Checker([r]), addresses(*range(64))
    for p in range(2000):
        c.access("load", all_, None, 4, (p, 0, 0), home=r)
    assert r.reads.nbytes == 256 and len(np.unique(r.reads)) == 1
    c.access("store", all_[:1], None, 4, (0, 0, 0), home=r)
    (fault,) = c.faults
    assert "loaded by program (1999, 0, 0)" in fault.what


def test_the_host_settles_what_atomics_did() -> None:
    t = empty(4)
    c, at = Checker([t.region]), addresses(0, 1, 2, 3, base=t.data_ptr())
    c.access("store", at, None, 4, (0, 0, 0), atomic=True)
    assert c.access("load", at, None, 4, (0, 0, 0)) is None  # an atomic store has written it
    t[:2].fill_(1)
    c.access("load", at[:2], None, 4, (1, 0, 0))
    assert c.faults == []
    c.access("load", addresses(4, size=2, base=t.data_ptr()), None, 2, (1, 0, 0))  # half of an element
    assert kinds(c) == ["race"]
    t.region.forget()
    c.access("load", at[2:], None, 4, (1, 0, 0), Place("b.py", 2))
    assert kinds(c) == ["race", "unwritten read"]


def test_lanes_beside_those_at_fault_are_checked_on() -> None:
    """Else what they wrote would count as unwritten."""
    held = np.zeros(4, np.float32)
    t = wrap("o", held, "float32", "output", dead=np.array([False, False, True, False]), why_dead="dead")
    c, at = Checker([t.region]), addresses(0, 1, 2, 3, base=t.data_ptr())
    ok = c.access("store", at, None, 4, values=np.arange(4.0))
    assert ok is not None and ok.tolist() == [True, True, False, True] and kinds(c) == ["dead store"]
    c.access("load", at[[0, 1, 3]], None, 4)
    assert kinds(c) == ["dead store"]
    c.access("store", at[:2], None, 4, (1, 0, 0))
    assert kinds(c) == ["dead store", "race"]
    t.region.forget()
    c.access("store", np.append(at[:1], at[1] + np.uint64(2)), None, 4, (2, 0, 0), Place("b.py", 1))
    c.access("load", at[:1], None, 4, (2, 0, 0), Place("b.py", 2))
    assert kinds(c)[2:] == ["misaligned"]
