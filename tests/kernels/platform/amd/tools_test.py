#!/usr/bin/env python3
"""Tests of kernels/platform/amd/tools on small texts: each rule passes what keeps it, and fails for its own reason."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "kernels/platform/amd/tools"))
import assembly  # noqa: E402
import code_objects  # noqa: E402
import loops  # noqa: E402
from importlib.machinery import SourceFileLoader  # noqa: E402

def script(name):
    return SourceFileLoader(name, str(Path(code_objects.__file__).parent / name)).load_module()


resources, estimate = script("resources"), script("estimate")


def kernel(*lines):
    """A function of the compiler's text: lines without a colon are instructions."""
    text = "kernel:\n" + "\n".join(line if line.endswith(":") else "\t" + line for line in lines) + "\n"
    return assembly.functions(text)[0]


def unwaited(*lines):
    return [f"{write.name} at {barrier.name}" for write, barrier in assembly.unwaited_writes(kernel(*lines))]


class Waits(unittest.TestCase):
    FOUND = ["ds_write_b32 at s_barrier"]

    def test_straight_lines(self):
        self.assertEqual(unwaited("ds_write_b32 v0, v1", "s_barrier", "s_endpgm"), self.FOUND)
        self.assertEqual(unwaited("ds_write_b32 v0, v1", "s_waitcnt lgkmcnt(0)", "s_barrier", "s_endpgm"), [])
        self.assertEqual(unwaited("ds_write_b32 v0, v1", "s_waitcnt vmcnt(0) lgkmcnt(0)", "s_barrier"), [])
        self.assertEqual(unwaited("ds_write_b32 v0, v1", "s_waitcnt vmcnt(0)", "s_barrier"), self.FOUND)
        self.assertEqual(unwaited("s_waitcnt lgkmcnt(0)", "ds_write_b32 v0, v1", "s_barrier"), self.FOUND)

    def test_the_second_barrier_is_reported_too(self):
        self.assertEqual(unwaited("ds_write_b32 v0, v1", "s_barrier", "s_barrier"), 2 * self.FOUND)

    def test_what_is_no_write(self):
        self.assertEqual(unwaited("ds_read_b32 v0, v1", "ds_bpermute_b32 v0, v1, v2", "s_barrier"), [])
        self.assertEqual(unwaited("global_store_dword v[0:1], v2, off", "s_barrier"), [])

    def test_atomics_and_flat_stores_write(self):
        self.assertEqual(unwaited("ds_add_u32 v0, v1", "s_barrier"), ["ds_add_u32 at s_barrier"])
        self.assertEqual(unwaited("flat_store_dword v[0:1], v2", "s_barrier"), ["flat_store_dword at s_barrier"])

    def test_a_partial_wait_counts_the_operations_behind_the_write(self):
        behind = "ds_read_b32 v2, v3"
        self.assertEqual(unwaited("ds_write_b32 v0, v1", behind, "s_waitcnt lgkmcnt(1)", "s_barrier"), [])
        self.assertEqual(unwaited("ds_write_b32 v0, v1", behind, "s_waitcnt lgkmcnt(2)", "s_barrier"), self.FOUND)
        self.assertEqual(unwaited("ds_write_b32 v0, v1", "s_waitcnt lgkmcnt(1)", "s_barrier"), self.FOUND)
        # Scalar loads share the counter and end in any order: they say nothing of the write.
        self.assertEqual(
            unwaited("ds_write_b32 v0, v1", "s_load_dword s0, s[2:3], 0x0", "s_waitcnt lgkmcnt(1)", "s_barrier"),
            self.FOUND)
        # Nor do flat operations end in order.
        self.assertEqual(
            unwaited("flat_store_dword v[0:1], v2", "s_waitcnt lgkmcnt(1)", "s_barrier"),
            ["flat_store_dword at s_barrier"])

    def test_only_a_wait_for_all_ends_a_flat_store(self):
        flat, read = "flat_store_dword v[0:1], v2", "ds_read_b32 v3, v4"
        found = ["flat_store_dword at s_barrier"]
        self.assertEqual(unwaited(flat, read, read, "s_waitcnt lgkmcnt(2)", "s_barrier"), found)
        self.assertEqual(unwaited(flat, read, read, "s_waitcnt lgkmcnt(0)", "s_barrier"), [])
        # A younger write of the LDS's own, which the wait ends, does not hide it, nor the other way round.
        self.assertEqual(unwaited(flat, "ds_write_b32 v0, v1", read, "s_waitcnt lgkmcnt(1)", "s_barrier"), found)
        self.assertEqual(unwaited("ds_write_b32 v0, v1", flat, "s_barrier"), self.FOUND + found)
        self.assertEqual(unwaited("ds_write_b32 v0, v1", flat, "s_waitcnt lgkmcnt(0)", "s_barrier"), [])
        # On one way only.
        self.assertEqual(
            unwaited("s_cbranch_scc1 .LBB0_2", flat, ".LBB0_2:", read, "s_waitcnt lgkmcnt(1)", "s_barrier"), found)

    def test_both_ways_of_a_branch(self):
        def branch(*on_one_way):
            return unwaited("ds_write_b32 v0, v1", "s_cbranch_scc1 .LBB0_2", *on_one_way, ".LBB0_2:", "s_barrier",
                            "s_endpgm")

        self.assertEqual(branch("s_waitcnt lgkmcnt(0)"), self.FOUND)
        self.assertEqual(
            unwaited("ds_write_b32 v0, v1", "s_cbranch_scc1 .LBB0_2", "s_waitcnt lgkmcnt(0)", "s_branch .LBB0_3",
                     ".LBB0_2:", "s_waitcnt lgkmcnt(0)", ".LBB0_3:", "s_barrier", "s_endpgm"), [])

    def test_fewer_operations_behind_on_one_way(self):
        self.assertEqual(
            unwaited("ds_write_b32 v0, v1", "s_cbranch_scc1 .LBB0_2", "ds_read_b32 v2, v3", ".LBB0_2:",
                     "s_waitcnt lgkmcnt(1)", "s_barrier"), self.FOUND)

    def test_a_store_at_a_loops_end_and_the_barrier_at_its_head(self):
        def loop(*head):
            return unwaited("ds_write_b64 v0, v[2:3]", "s_waitcnt lgkmcnt(0)", ".LBB0_1:", *head, "s_barrier",
                            "ds_read_b32 v4, v5", "s_waitcnt lgkmcnt(0)", "s_barrier", "ds_write_b32 v0, v1",
                            "s_cbranch_scc1 .LBB0_1", "s_endpgm")

        self.assertEqual(loop(), self.FOUND)
        self.assertEqual(loop("s_waitcnt lgkmcnt(0)"), [])

    def test_code_that_nothing_reaches_does_not_count(self):
        self.assertEqual(unwaited("s_branch .LBB0_1", "ds_write_b32 v0, v1", ".LBB0_1:", "s_barrier", "s_endpgm"), [])

    def test_waits_and_barriers_of_gfx12(self):
        found = ["ds_store_b32 at s_barrier_signal"]
        store, signal = "ds_store_b32 v0, v1", "s_barrier_signal -1"
        self.assertEqual(unwaited(store, "s_wait_loadcnt 0x0", signal, "s_barrier_wait -1"), found)
        self.assertEqual(unwaited(store, "s_wait_dscnt 0x0", signal, "s_barrier_wait -1"), [])
        self.assertEqual(unwaited(store, "s_wait_loadcnt_dscnt 0x300", signal, "s_barrier_wait -1"), [])
        self.assertEqual(unwaited(store, "s_wait_loadcnt_dscnt 0x1", signal, "s_barrier_wait -1"), found)
        for signal_of in ("s_barrier_signal_isfirst -1", "s_barrier_signal_var v0", "s_barrier_join 1", "s_barrier_leave"):
            self.assertEqual(unwaited(store, signal_of, "s_barrier_wait 1"), [f"ds_store_b32 at {signal_of.split()[0]}"])
            self.assertEqual(unwaited(store, "s_wait_dscnt 0x0", signal_of, "s_barrier_wait 1"), [])
        # Behind the signal is too late.
        self.assertEqual(unwaited(store, signal, "s_wait_dscnt 0x0", "s_barrier_wait -1"), found)

    def test_what_it_cannot_follow_it_says(self):
        for line in ("s_swappc_b64 s[30:31], s[16:17]", "s_setpc_b64 s[30:31]", "s_branch .LBB9_9"):
            with self.assertRaises(assembly.NotModelled):
                unwaited("ds_write_b32 v0, v1", line, "s_barrier")

    def test_loads_into_the_lds_are_not_followed(self):
        for line in ("buffer_load_dword v1, s[8:11], 0 offen lds", "buffer_load_dword v1, s[8:11], 0 lds offset:4",
                     "global_load_lds_dwordx4 v[0:1], off", "tensor_load_to_lds s[0:3], s[4:11]",
                     "global_load_async_to_lds_b128 v0, v[2:3], off", "ds_atomic_async_barrier_arrive_b64 v0"):
            for wait in ((), ("s_waitcnt vmcnt(0) lgkmcnt(0)",)):
                with self.assertRaisesRegex(assembly.NotModelled, "loads into the LDS are not followed"):
                    unwaited(line, *wait, "s_barrier", "s_endpgm")
        # What no wave reaches, and what has the letters only.
        self.assertEqual(unwaited("s_branch .LBB0_1", "global_load_lds_dword v[0:1], off", ".LBB0_1:", "s_barrier"), [])
        self.assertEqual(unwaited("v_mov_b32 v0, src_lds_direct", "ds_read_b32 v0, v1", "s_barrier"), [])


class Disassembly(unittest.TestCase):
    TEXT = """
a.hsaco:	file format elf64-amdgpu

Disassembly of section .text:

0000000000001000 <_Z1k>:
	ds_write_b32 v0, v1{wait}  // 000000001000: D81A0000 00000100
	s_cbranch_scc0 3           // 000000001008: BFA10006 <_Z1k+0x18>
	s_waitcnt lgkmcnt(0)       // 00000000100C: BF89FC07
	s_branch 1                 // 000000001010: BFA00001 <_Z1k+0x18>
	s_nop 0                    // 000000001014: BF800000
	s_barrier                  // 000000001018: BFBD0000
	s_endpgm                   // 00000000101C: BFB00000

0000000000002000 <_Z1m>:
	s_getpc_b64 s[2:3]             // 000000002000: BEE64700
	s_add_u32 s2, s2, {far}        // 000000002004: 8066FF66 00039880
	s_addc_u32 s3, s3, lit(0x0)    // 00000000200C: 8267FF67 00000000
	s_setpc_b64 s[2:3]             // 000000002014: BE804866
	ds_write_b32 v0, v1            // 000000002018: D81A0000 00000100
	s_barrier                      // 000000002020: BFBD0000
	s_endpgm                       // 000000002024: BFB00000
"""

    def check(self, far):
        return {f.name: len(assembly.unwaited_writes(f))
                for f in assembly.functions(self.TEXT.replace("{wait}", "").replace("{far}", far))}

    def test_branches_by_address_near_and_far(self):
        # From behind s_getpc, at 0x2004: to the write, or past it.
        self.assertEqual(self.check("0x14"), {"_Z1k": 1, "_Z1m": 1})
        self.assertEqual(self.check("0x1c"), {"_Z1k": 1, "_Z1m": 0})
        self.assertEqual(self.check("lit(0x1c)"), {"_Z1k": 1, "_Z1m": 0})
        # Backwards, out of the kernel; and between two instructions.
        for nowhere in ("0xfffff000", "0x1a"):
            with self.assertRaises(assembly.NotModelled):
                self.check(nowhere)

    def test_far_branches_backwards(self):
        text = self.TEXT[self.TEXT.index("0000000000002000"):].replace("{far}", "0xfffffffc")
        kernel = assembly.functions(text)[0]  # to s_getpc itself: for ever
        self.assertEqual(assembly.successors(kernel)[3], [0])
        self.assertEqual(assembly.unwaited_writes(kernel), [])

    def test_far_branches_of_the_compilers_text(self):
        def far(to):
            return unwaited("s_getpc_b64 s[2:3]", ".Lpost_getpc0:", f"s_add_u32 s2, s2, (.LBB0_{to}-.Lpost_getpc0)&4294967295",
                            f"s_addc_u32 s3, s3, (.LBB0_{to}-.Lpost_getpc0)>>32", "s_setpc_b64 s[2:3]", ".LBB0_1:",
                            "ds_write_b32 v0, v1", ".LBB0_2:", "s_barrier", "s_endpgm")

        self.assertEqual(far(1), ["ds_write_b32 at s_barrier"])
        self.assertEqual(far(2), [])


NOTES = """
amdhsa.kernels:
  - .agpr_count:     4
    .args:
      - .offset:         0
        .size:           200
        .value_kind:     by_value
      - .offset:         200
        .size:           4
        .value_kind:     hidden_block_count_x
    .group_segment_fixed_size: 2048
    .kernarg_segment_align: 8
    .kernarg_segment_size: 204
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 128
    .name:           split_kv
    .private_segment_fixed_size: 0
    .sgpr_count:     38
    .sgpr_spill_count: 0
    .symbol:         split_kv.kd
    .uses_dynamic_stack: false
    .vgpr_count:     132
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
"""


class Rules(unittest.TestCase):
    GOOD = (".LBB0_1:", "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]",
            "global_load_dwordx4 v[0:3], v[8:9], off", "global_load_dword v1, v[2:3], off offset:16",
            "s_cbranch_scc1 .LBB0_1", "ds_write_b32 v0, v1", "s_waitcnt lgkmcnt(0)", "s_barrier", "s_endpgm")

    def without(self, *places):
        return tuple(line for n, line in enumerate(self.GOOD) if n not in places)

    def findings(self, code=GOOD, name="split_kv_block<f16>", **changed):
        meta = code_objects.metadata(NOTES)[0] | changed
        one = code_objects.Kernel("gfx942", "gfx942/split_kv/a.hsaco", "split_kv", name, meta, kernel(*code))
        return list(resources.findings(one))

    def test_a_kernel_that_keeps_them(self):
        self.assertEqual(self.findings(), [])

    def test_scratch_and_calls(self):
        self.assertIn("604 bytes of scratch a lane, 189 registers", self.findings(
            private_segment_fixed_size=604, vgpr_spill_count=189)[0])
        self.assertIn("scratch", self.findings(("scratch_store_b32 off, v0, off", *self.GOOD))[0])
        self.assertIn("scratch", self.findings(uses_dynamic_stack=True)[0])
        self.assertIn("604 bytes of scratch a lane", self.findings(
            self.without(1), name="combine_splits<16, 4>", private_segment_fixed_size=604)[0])  # no main kernel
        self.assertEqual(self.findings(self.without(1), name="combine_splits<16, 4>"), [])

    def test_matrix_instructions(self):
        self.assertEqual(self.findings(self.without(1)), ["no matrix instruction"])

    def test_addresses(self):
        self.assertIn("addresses below 64 bits", self.findings(self.without(2, 3))[-1])
        for below in ("buffer_load_dword v0, v1, s[0:3], 0", "s_buffer_load_dword s0, s[4:7], 0x0"):
            self.assertIn("addresses below 64 bits", self.findings((below, *self.GOOD))[0])
        # One is enough: all the others are wide.
        for below in ("global_load_dword v1, v2, s[4:5] offset:16", "global_store_dword v1, v2, s[4:5]",
                      "global_store_dwordx4 v1, v[2:5], s[4:5]", "global_load_dwordx4 v[2:5], v1, s[4:5]",
                      "global_load_addtid_b32 v1, s[4:5]"):
            self.assertEqual(self.findings((below, *self.GOOD)),
                             ["addresses below 64 bits: 2 wide, 1 by an offset, 0 of buffers"])
        for wide in ("global_store_dword v[0:1], v2, off", "global_atomic_add v1, v[2:3], v4, off glc",
                     "global_inv scope:SCOPE_SE", "global_wb scope:SCOPE_SYS"):
            self.assertEqual(self.findings((wide, *self.GOOD)), [])
        # An offset that is 0 adds nothing to the base.
        zero, load = "v_mov_b32_e32 v2, 0", "global_load_dword v1, v2, s[4:5]"
        self.assertEqual(self.findings((zero, load, *self.GOOD)), [])
        self.assertEqual(self.findings((zero, "v_add_u32_e32 v3, v2, v1", load, *self.GOOD)), [])
        for between in ("v_mov_b32_e32 v2, v3", "v_mov_b32_e32 v2, 0x10", "ds_read_b64 v[1:2], v0", ".LBB0_9:"):
            self.assertIn("1 by an offset", self.findings((zero, between, load, *self.GOOD))[0])

    def test_loads_that_are_waited_for_at_once(self):
        def findings(*lines, target="gfx942"):
            one = code_objects.Kernel(target, "a.hsaco", "s", "split_kv_block<f16>", code_objects.metadata(NOTES)[0],
                                      kernel(".LBB0_1:", *lines, "s_cbranch_scc1 .LBB0_1", "s_endpgm"))
            return list(resources.findings(one))

        matrix, load, wait = *self.GOOD[1:3], "s_waitcnt vmcnt(0)"
        at_once = ["the next keys are waited for after 0 of 1 products"]
        self.assertEqual(findings(load, wait, matrix), at_once)
        self.assertEqual(findings(matrix, load, wait), at_once)
        self.assertEqual(findings(wait, load, matrix), [])
        self.assertEqual(findings(load, wait, matrix, target="gfx1100"), [])
        # Each load counts, not the last one alone; a quarter of the products is enough.
        self.assertEqual(findings(load, wait, matrix, load, matrix), ["the next keys are waited for after 0 of 2 products"])
        self.assertEqual(findings(load, matrix, wait, matrix, matrix, matrix), [])
        self.assertEqual(findings(load, matrix, wait, matrix, matrix, matrix, matrix),
                         ["the next keys are waited for after 1 of 5 products"])
        # A wait and a store to LDS behind a branch: what is loaded must be stored.
        store = "ds_write_b128 v4, v[0:3]"
        self.assertEqual(findings(load, "s_cbranch_scc0 .LBB0_2", wait, store, ".LBB0_2:", matrix), at_once)
        # No loop, and no wide load: there is nothing to judge.
        nothing = ["no loop has most of the matrix instructions and loads of 8 bytes and more"]
        self.assertEqual(findings(matrix, "global_load_dword v0, v[2:3], off"), nothing)
        self.assertEqual(self.findings(self.without(0, 4)), nothing)

    def test_main_kernels_are_those_of_every_name(self):
        for name in ("split_kv_block<f16>", "batch_prefill_block<e4m3fn, f16>", "mqa_logits_block<e4m3fn, 64, 2>"):
            self.assertEqual(self.findings(self.without(1), name), ["no matrix instruction"])

    def test_an_unwaited_write_in_any_kernel(self):
        code = self.without(6)
        for name in ("split_kv_block<f16>", "combine"):
            self.assertIn("'ds_write_b32 v0, v1' reaches s_barrier", self.findings(code, name)[0])

    def test_the_checks_own_teeth(self):
        def needs(*code):
            return resources.needs_its_waits(
                code_objects.Kernel("gfx942", "", "k", "k", {}, kernel(*code)))

        self.assertTrue(needs(*self.GOOD))
        self.assertFalse(needs("s_barrier", "ds_write_b32 v0, v1", "s_endpgm"))
        self.assertIsNone(needs("ds_write_b32 v0, v1", "s_waitcnt lgkmcnt(0)", "s_endpgm"))
        self.assertIsNone(needs("ds_write_b32 v0, v1", "global_load_lds_dword v[0:1], off", "s_barrier", "s_endpgm"))

    def test_a_load_into_the_lds_is_a_finding(self):
        code = ("buffer_load_dword v1, s[8:11], 0 offen lds", "s_barrier", "s_endpgm")
        self.assertIn("loads into the LDS are not followed", self.findings(code, "combine")[0])

    def test_a_call_is_a_finding(self):
        found = self.findings(("s_swappc_b64 s[30:31], s[16:17]", *self.GOOD))
        self.assertIn("calls are not followed", found[0])
        self.assertEqual(found[1], "1 calls")


class CodeObjects(unittest.TestCase):
    def test_metadata_and_manifest(self):
        meta = code_objects.metadata(NOTES)
        self.assertEqual(len(meta), 1)
        one = code_objects.Kernel("gfx942", "gfx942/split_kv/a.hsaco", "split_kv", "k<f16>", meta[0], kernel("s_endpgm"))
        entry = code_objects.manifest([one])["kernels"][0]
        self.assertEqual(entry["arguments"], [
            {"offset": 0, "size": 200, "kind": "by_value"}, {"offset": 200, "size": 4, "kind": "hidden_block_count_x"}])
        self.assertEqual((entry["symbol"], entry["block_size"], entry["lds_size"], entry["wave_size"]),
                         ("split_kv.kd", 128, 2048, 64))
        self.assertEqual((entry["arguments_size"], entry["arguments_align"]), (204, 8))

    def test_occupancy(self):
        self.assertEqual(code_objects.occupancy("gfx942", 64, 32), 8)
        self.assertEqual(code_objects.occupancy("gfx942", 65, 32), 7)
        self.assertEqual(code_objects.occupancy("gfx942", 340, 106), 1)
        self.assertEqual(code_objects.occupancy("gfx90a", 8, 106), 7)  # scalar registers
        self.assertEqual(code_objects.occupancy("gfx1100", 256, 106), 5)
        self.assertEqual(code_objects.occupancy("gfx1201", 96, 106), 16)

    def test_names(self):
        self.assertEqual(code_objects.short(
            "void assay::split_kv_block<assay::split_kv_traits<assay::device::f16, signed char, 64> >"
            "(assay::split_kv_arguments)"), "split_kv_block<f16, i8, 64>")
        self.assertEqual(code_objects.short("assay::(anonymous namespace)::combine(assay::combine_arguments)"), "combine")

    def test_counts(self):
        counted = assembly.counts(kernel("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]",
                                         "global_load_b128 v[0:3], v[4:5], off", "ds_load_u16_d16 v0, v1",
                                         "ds_read_u16 v0, v1", "s_wait_dscnt 0x0", "s_waitcnt lgkmcnt(0)",
                                         "v_div_scale_f32 v0, vcc, v1, v2, v1"))
        self.assertEqual([counted[k] for k in ("matrix", "loads_16", "loads_lds_2", "waits", "division")], [1, 1, 2, 2, 1])


MFMA = "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]"
LOAD = "global_load_dwordx4 v[8:11], v[12:13], off"


class Ways(unittest.TestCase):
    """The loop over tiles, and the way through it."""

    def way(self, *lines):
        way = loops.usual_way(kernel(*lines))
        return way and [i.name for i in way.instructions]

    def test_the_loop_with_the_matrix_instructions(self):
        self.assertEqual(
            self.way("s_nop 0", ".LBB0_1:", "v_add_f32 v0, v0, v1", "s_cbranch_scc1 .LBB0_1", ".LBB0_2:", MFMA,
                     "s_cbranch_scc1 .LBB0_2", "s_endpgm"),
            ["v_mfma_f32_16x16x16_f16", "s_cbranch_scc1"])
        self.assertIsNone(self.way(".LBB0_1:", "s_nop 0", "s_cbranch_scc1 .LBB0_1", MFMA, "s_endpgm"))

    def test_the_outermost_one_and_what_is_in_it(self):
        function = kernel(".LBB0_1:", "s_nop 0", ".LBB0_2:", MFMA, "s_cbranch_scc1 .LBB0_2", "s_cbranch_scc0 .LBB0_1",
                          "s_endpgm")
        way = loops.usual_way(function)
        self.assertEqual(len(way.instructions), 4)
        self.assertEqual(way.inner_loops, 1)

    def test_the_next_tile_is_brought(self):
        self.assertEqual(
            self.way(".LBB0_1:", "s_cbranch_scc1 .LBB0_2", LOAD, ".LBB0_2:", MFMA, "s_cbranch_scc1 .LBB0_1", "s_endpgm"),
            ["s_cbranch_scc1", "global_load_dwordx4", "v_mfma_f32_16x16x16_f16", "s_cbranch_scc1"])

    def test_results_are_stored_by_lanes_that_are_active(self):
        store = "global_store_dword v[0:1], v2, off"
        self.assertEqual(
            self.way(".LBB0_1:", MFMA, "s_cbranch_scc1 .LBB0_3", "s_cbranch_execz .LBB0_3", store, ".LBB0_3:",
                     "s_cbranch_scc0 .LBB0_1", "s_endpgm"),
            ["v_mfma_f32_16x16x16_f16", "s_cbranch_scc1", "s_cbranch_execz", "global_store_dword", "s_cbranch_scc0"])

    def test_what_is_loaded_is_stored_to_the_lds_once(self):
        store, branch = "ds_write_b128 v4, v[0:3]", "s_cbranch_scc0 .LBB0_2"

        def stored(widening, *lines):
            way = loops.usual_way(kernel(".LBB0_1:", LOAD, *lines, MFMA, "s_cbranch_scc1 .LBB0_1", "s_endpgm"), widening)
            return sum(map(loops.lds_bytes, way.instructions))

        # One way around, and two pieces of which each may be left out.
        self.assertEqual(stored(1, branch, store, ".LBB0_2:"), 16)
        self.assertEqual(stored(1, branch, store, ".LBB0_2:", "s_cbranch_scc0 .LBB0_3", store, ".LBB0_3:"), 16)
        self.assertEqual(stored(2, branch, store, ".LBB0_2:", "s_cbranch_scc0 .LBB0_3", store, ".LBB0_3:"), 32)
        self.assertEqual(stored(2, branch, store, ".LBB0_2:"), 16)  # there is no more
        self.assertEqual(loops.lds_bytes(kernel("ds_write2st64_b64 v0, v[2:3], v[4:5] offset1:1").instructions[0]), 16)
        self.assertEqual(loops.lds_bytes(kernel("ds_store_b64 v0, v[2:3]").instructions[0]), 8)
        self.assertEqual(loops.lds_bytes(kernel("ds_read_b128 v[0:3], v4").instructions[0]), 0)

    def test_of_two_ways_the_shorter_one(self):
        self.assertEqual(
            self.way(".LBB0_1:", "s_cbranch_scc1 .LBB0_2", "v_cndmask_b32 v0, v1, v2, vcc", "v_nop", ".LBB0_2:", MFMA,
                     "s_cbranch_scc1 .LBB0_1", "s_endpgm"),
            ["s_cbranch_scc1", "v_mfma_f32_16x16x16_f16", "s_cbranch_scc1"])

    def test_bytes_that_are_loaded_wide(self):
        def wide(line):
            return loops.wide_bytes(kernel(line).instructions[0])

        self.assertEqual([wide(LOAD), wide("global_load_b64 v[0:1], v[2:3], off"), wide("global_load_dword v0, v[2:3], off"),
                          wide("global_load_ushort v0, v[2:3], off"), wide("ds_read_b128 v[0:3], v4")], [16, 8, 0, 0, 0])

    def test_what_comes_between_a_load_and_the_wait_for_it(self):
        def overlap(*lines):
            return loops.overlap(loops.usual_way(kernel(".LBB0_1:", *lines, "s_cbranch_scc1 .LBB0_1", "s_endpgm")))

        wait, small = "s_waitcnt vmcnt(0)", "global_load_dword v0, v[2:3], off"
        self.assertEqual(overlap(LOAD, wait, MFMA), 0)
        self.assertEqual(overlap(LOAD, MFMA, wait, MFMA), 1)
        self.assertEqual(overlap(wait, LOAD, MFMA, MFMA), 2)  # in the next round
        self.assertEqual(overlap(LOAD, MFMA, "s_waitcnt lgkmcnt(0)", MFMA, wait), 2)
        # A wait that leaves it under way, and one that does not.
        self.assertEqual(overlap(LOAD, small, "s_waitcnt vmcnt(1)", MFMA), 0)
        self.assertEqual(overlap(LOAD, small, small, "s_waitcnt vmcnt(1)", MFMA), 0)
        self.assertEqual(overlap(LOAD, small, "s_waitcnt vmcnt(2)", MFMA, wait), 1)
        self.assertIsNone(overlap(small, MFMA))

    REPORT = """Iterations:        1
Instructions:      2
Total Cycles:      17

Resources:
[0]   - HWSALU
[1]   - HWVALU
[2]   - HWXDL


Resource pressure per iteration:
[0]    [1]    [2]
 -     5.00   8.00

"""

    def test_what_llvm_mca_says(self):
        self.assertEqual(estimate.read_report(self.REPORT), (17, 8.0, 8.0))

    def test_operations_of_a_matrix_instruction(self):
        self.assertEqual(estimate.flops("v_mfma_f32_32x32x8_f16"), 2 * 32 * 32 * 8)
        self.assertEqual(estimate.flops("v_wmma_f32_16x16x16_bf16"), 8192)


if __name__ == "__main__":
    unittest.main()
