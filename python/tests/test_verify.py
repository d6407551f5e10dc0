"""assay.verify on a right kernel, and on wrong ones: each a finding, and the run goes on."""

from __future__ import annotations

from typing import Any

import naive
import numpy as np
import pytest

import assay


def run(fn: Any, cases: int = 40, operation: str = "split_kv", **options: Any) -> assay.Result:
    supports = naive.PREFILL if operation == "batch_prefill" else naive.SUPPORTS
    given = {"seed": 3, "jobs": 2, "shrink": 5, "properties": ["output_enclosed"], **options}
    return assay.verify(fn, operation, supports=supports, cases=cases, **given)


def only_finding(result: assay.Result, origin: str) -> assay.Finding:
    """The run found one kind of failure, and has judged other cases, too."""
    print(result)
    assert result.verdict == "defect"
    assert not result
    (found,) = result.findings
    assert found.origin == origin
    assert found.file is not None
    assert assay.case(found.file) == found.case
    return found


@pytest.mark.parametrize("fn", [naive.split_kv, naive.returned])
def test_a_right_kernel_is_verified(fn: Any) -> None:
    result = run(fn, cases=150, properties=())
    assert result, result
    assert result.verdict == "verified"
    assert not result.findings
    assert result.counts["pass"] > 140
    assert result.seed == 3
    seen = {t.fault: t.seen / t.asked for t in result.teeth if t.asked > 20}
    assert seen["key_dropped"] > 0.5
    assert "verified for: split_kv: f16" in str(result)


def test_a_right_kernel_with_descales_passes() -> None:
    assert run(naive.split_kv, operation="batch_prefill", accept_blunt=True), "FP8 by a table of codes"


def test_a_short_run_is_not_verified_and_says_why() -> None:
    result = run(naive.split_kv, cases=3)
    assert result.verdict == "not verified"
    assert result.shortfall in str(result)
    assert result.shortfall


def test_a_wrong_page_is_found() -> None:
    found = only_finding(run(naive.wrong_page), "enclosure")
    assert len(found.case.fields["sequences"][0]["pages"]) == 3, "the second page of two is the last one"


def test_a_stale_scale_is_found() -> None:
    found = only_finding(run(naive.stale_scale, operation="batch_prefill"), "enclosure")
    assert found.case.fields["kv_descale"] == "per_page"
    assert found.case.problem["max_k"] > found.case.problem["page_size"], "it takes a second page"


def test_a_missing_mask_is_found() -> None:
    found = only_finding(run(naive.missing_mask), "enclosure")
    assert found.case.problem["causal"] is True


def test_a_crash_is_found_with_its_traceback() -> None:
    result = run(naive.aborts)
    found = only_finding(result, "crash")
    assert "Aborted" in found.traceback
    assert ", line " in found.traceback and " in aborts" in found.traceback
    assert result.counts["pass"] > 0
    assert found.case.problem["max_k"] == 101


def test_a_hang_is_found_with_its_traceback() -> None:
    result = run(naive.hangs, cases=4, limit=0.25, shrink=0)
    found = only_finding(result, "hang")
    assert " in hangs" in found.traceback
    assert result.counts["pass"] > 0


def test_an_exception_is_found_with_its_traceback() -> None:
    result = run(naive.raises)
    found = only_finding(result, "exception")
    assert found.what.startswith("ZeroDivisionError: ")
    assert "(in raises, naive.py:" in found.what
    assert "1 // int(" in found.traceback
    assert "_call.py" not in found.traceback
    assert found.traceback.strip() in str(result)
    assert result.counts["pass"] > 0


def test_a_nan_is_found() -> None:
    found = only_finding(run(naive.gives_nan), "enclosure")
    assert "o[0, 0, 0] = nan" in found.what


@pytest.mark.parametrize(
    ("fn", "what"),
    [
        (naive.wrong_dtype, "o has elements of float32, not of float16"),
        (naive.wrong_shape, "lse has the shape (1, 1, 1), not (1, 1)"),
        (lambda **n: 3, "a int, neither None nor a dict of outputs"),
        (lambda **n: {"out": n["o"]}, "'out', which is no output of this problem; there are o, lse"),
    ],
)
def test_wrong_outputs_are_found(fn: Any, what: str) -> None:
    found = only_finding(run(fn, cases=5), "launch")
    assert found.what == f"the kernel returned wrong outputs: {what}"


def test_what_is_not_written_is_found() -> None:
    found = only_finding(run(lambda **n: None, cases=10), "enclosure")
    assert "nan lies outside" in found.what


def test_an_input_that_is_written_is_found() -> None:
    found = only_finding(run(naive.writes_input, cases=10), "exception")
    assert "read-only" in found.what


def test_an_input_that_is_written_behind_numpys_back_is_found() -> None:
    def sly(**n: Any) -> None:
        address = n["seqlens_k"].__array_interface__["data"][0]
        import ctypes

        ctypes.memset(address, 0, 1)
        naive.run(n)

    (found,) = run(sly, cases=10).findings
    assert found.origin == "memory"
    assert "seqlens_k was written" in found.what


def test_exit_is_an_exception() -> None:
    def leaves(**n: Any) -> None:
        raise SystemExit(0)

    assert only_finding(run(leaves, cases=4), "exception").what.startswith("SystemExit")


def test_unsupported_is_a_failure_within_what_is_supported() -> None:
    def picky(max_k: int, **n: Any) -> None:
        if max_k > 20:
            raise assay.Unsupported("so many keys")
        naive.run({**n, "max_k": max_k})

    found = only_finding(run(picky), "refusal")
    assert "so many keys" in found.what


def test_a_finding_has_enclosures_and_exact_values() -> None:
    found = only_finding(run(naive.missing_mask), "enclosure")
    bounds, exact = found.enclosure["lse"], found.exact["lse"]
    assert bounds.lo.shape == bounds.hi.shape == exact.shape == found.case.outputs()["lse"].shape
    assert np.all(bounds.lo <= exact) and np.all(exact <= bounds.hi)
    n = {**found.case.problem, **dict.fromkeys(["k_descale", "v_descale"]), **found.case.inputs, **found.case.outputs()}
    naive.missing_mask(**n)
    assert np.any((n["lse"] < bounds.lo) | (n["lse"] > bounds.hi))


def test_a_finding_is_replayed() -> None:
    found = only_finding(run(naive.missing_mask), "enclosure")
    assert found.file is not None
    for case in (found.file, found.case, str(found.file), found.case.fields):
        assert not assay.verify(naive.missing_mask, supports=naive.SUPPORTS, cases=[case])
    again = assay.verify(naive.missing_mask, supports=naive.SUPPORTS, cases=found.case)
    assert again.findings[0].what == found.what
    assert assay.verify(naive.split_kv, supports=naive.SUPPORTS, cases=[found.file])
    assert f'assay.verify(missing_mask, cases=["{found.file}"])' in str(run(naive.missing_mask))


def test_the_same_seed_gives_the_same_cases() -> None:
    one, two = run(naive.missing_mask), run(naive.missing_mask, jobs=1)
    assert one.counts == two.counts
    assert one.findings[0].case == two.findings[0].case


def test_a_kernel_object_and_its_decorator() -> None:
    @assay.kernel(supports=naive.SUPPORTS)
    def mine(**n: Any) -> None:
        """Mine."""
        naive.run(n)

    assert mine.__name__ == "mine" and mine.__doc__ == "Mine."
    assert "test_verify.py" in repr(mine)
    assert mine.verify(cases=5, accept_blunt=True, seed=1, properties=["output_enclosed"])
    assert isinstance(assay.kernel(naive.split_kv), assay.Kernel)
    with pytest.raises(ValueError, match="Kernel's own"):
        mine.verify(supports={})


def test_parameters_may_name_a_part_of_the_arguments() -> None:
    def part(q: Any, k: Any, v: Any, block_table: Any, cu_seqlens_q: Any, seqlens_k: Any, o: Any, lse: Any,
             causal: bool, scale: float, v_scale: float, bias: Any, extra: int = 3) -> None:  # fmt: skip
        assert bias is None and extra == 3
        naive.run({**locals(), "q_scale": 1, "k_scale": 1, "k_descale": None, "v_descale": None})

    assert run(part, cases=20, accept_blunt=True)


def test_ctrl_c_ends_a_run() -> None:
    import os
    import signal
    import threading
    import time

    begin = time.monotonic()
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        run(naive.split_kv, cases=10**6)
    assert time.monotonic() - begin < 60


def from_zero(q: Any, k: Any, v: Any, block_table: Any, seqlens_k: Any, o: Any, scale: float, page_size: int) -> None:
    """Decodes with weights of f16. Their reference is the largest logit, or 0 if that is larger."""
    for s, keys in enumerate(seqlens_k):
        page, slot = np.divmod(np.arange(keys), page_size)
        ks, vs = (pool[block_table[s, page], slot].astype("f4") for pool in (k, v))
        x = np.einsum("hd,khd->hk", q[s].astype("f4"), ks) * scale
        p = np.exp(x - x.max(1, initial=0, keepdims=True))
        o[s] = np.einsum("hk,khd->hd", p.astype("f2").astype("f4"), vs) / p.sum(1, keepdims=True) if keys else 0


def test_a_maximum_that_starts_at_zero_is_found_without_bias_and_sinks() -> None:
    supports = {"types": "f16", "group_sizes": 1, "most_rows": 1, "no_sequences_without_rows": 1, "no_live_nan": 1,
                "no_live_infinity": 1, "no_lse": 1, "most_sequences": 16, "no_nonpositive_scale": 1}  # fmt: skip
    result = assay.verify(from_zero, supports=supports, declares={"recipe": "flash_attention_2", "tile_keys": 64},
                          cases=150, seed=1, jobs=2, properties=["output_enclosed"])  # fmt: skip
    (finding,) = result.findings
    assert finding.origin == "enclosure" and finding.case.fields["data"]["fill"] == "far_logits", result
    assert finding.alike >= 2
