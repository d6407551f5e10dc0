"""Reads the assembly of AMD's GPUs, as llvm-objdump or the compiler writes it: what a kernel is made of, and writes to
the LDS that reach a barrier before the wave has waited for them."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

LABEL = re.compile(r"^([A-Za-z_.$][\w.$]*):")
ADDRESS = re.compile(r"//\s*([0-9A-Fa-f]{8,}):(?:.*<([^>+]+)(?:\+0x([0-9a-f]+))?>)?")
BEGIN = re.compile(r"^([0-9a-f]+) <([^>]+)>:")
# The counters hold at most 63 (6 bits): more operations behind a write than that tell no more.
MOST_BEHIND = 63


@dataclass
class Instruction:
    name: str
    operands: str
    address: int | None = None  # of the disassembly only
    target: str | int | None = None  # of a branch: a label or an address
    text: str = ""  # as it was written: `name` lacks the encoding

    def __str__(self):
        return f"{self.name} {self.operands}".strip()


@dataclass
class Function:
    name: str
    instructions: list = field(default_factory=list)
    labels: dict = field(default_factory=dict)  # label: index of the instruction behind it


class NotModelled(Exception):
    """An instruction that the check of waits cannot follow."""


def is_branch(i):
    return i.name == "s_branch" or i.name.startswith("s_cbranch_")


def functions(text):
    """Kernels and functions of an assembly text, in its order."""
    found, starts = [], {}
    for line in text.split("\t.amdgpu_metadata")[0].splitlines():
        begin = BEGIN.match(line)
        label = LABEL.match(line)
        if begin or (label and not label[1].startswith(".")):
            found.append(Function(begin[2] if begin else label[1]))
            if begin:
                starts[begin[2]] = int(begin[1], 16)
            continue
        if label and found:
            found[-1].labels[label[1]] = len(found[-1].instructions)
            continue
        code = re.split(r"//|;", line)[0].strip()
        if not found or not code or code.startswith((".", "Disassembly")) or line[:1] not in " \t":
            continue
        name, _, operands = code.partition(" ")
        one = Instruction(re.sub(r"_(e32|e64|dpp|sdwa)$", "", name), operands.strip(), text=code)
        place = ADDRESS.search(line)
        if place:
            one.address = int(place[1], 16)
        if is_branch(one):
            if place and place[2]:
                one.target = starts[place[2]] + int(place[3] or "0", 16)
            else:
                one.target = one.operands
        found[-1].instructions.append(one)
    return [f for f in found if f.instructions]


def far_target(function, n):
    """Where the s_setpc at index n of a long branch goes: the program counter of an s_getpc above plus a constant, which
    the disassembly has as a number and the compiler's text as (LABEL-.Lpost_getpcN)&0xffffffff. Else None."""
    code = function.instructions
    register = code[n].operands
    low = re.match(r"s\[(\d+):", register)
    offset = None
    for i in range(n - 1, max(n - 6, 0) - 1, -1):
        if code[i].name == "s_getpc_b64" and code[i].operands == register:
            if offset is None:
                return None
            label = re.match(r"\(?(\.\w+)-", offset)
            if label:
                return label[1]
            if not re.fullmatch(r"0x[0-9a-f]+|\d+", offset):
                return None
            distance = int(offset, 0)  # the low half: backwards it is that of a negative number
            return code[i + 1].address + distance - (2**32 if distance >= 2**31 else 0)
        if low and code[i].name in ("s_add_u32", "s_add_co_u32") and code[i].operands.startswith(f"s{low[1]}, s{low[1]}, "):
            offset = code[i].operands.split(", ")[2]
            if offset.startswith("lit("):
                offset = offset[4:-1]
    return None


def successors(function):
    """For each instruction the indices of those that may come next."""
    at = {i.address: n for n, i in enumerate(function.instructions) if i.address is not None}
    at.update(function.labels)
    next_of = []
    for n, i in enumerate(function.instructions):
        falls = [n + 1] if n + 1 < len(function.instructions) else []
        if i.name in ("s_endpgm", "s_endpgm_saved"):
            falls = []
        elif i.name == "s_setpc_b64" and far_target(function, n) in at:
            falls = [at[far_target(function, n)]]
        elif i.name.startswith(("s_setpc", "s_swappc", "s_call")):
            raise NotModelled(f"{function.name}: {i}: calls are not followed")
        elif is_branch(i):
            if i.target not in at:
                raise NotModelled(f"{function.name}: {i}: its target is not in the kernel")
            falls = ([] if i.name == "s_branch" else falls) + [at[i.target]]
        next_of.append(falls)
    return next_of


def is_lds(i):
    return i.name.startswith("ds_") and " gds" not in f" {i.operands}"


def writes_lds(i):
    if is_lds(i):
        return not re.match(r"ds_(read|load|bpermute|permute|swizzle|nop)", i.name)
    return i.name.startswith(("flat_store", "flat_atomic"))  # may be the LDS


def moves_to_lds(i):
    """Loads of memory straight into the LDS and their like: by a modifier, or by their name. They end with counters of
    their own, by generation: vmcnt, asynccnt, tensorcnt."""
    return bool(re.search(r"\blds\b", i.operands) or re.search(r"(^|_)lds(_|$)|_async_", i.name))


def is_barrier(i):
    """Where a wave says that it has arrived: gfx12 has the wait for the others apart. What a wave does with a named
    barrier (init, join, leave) changes for whom others wait, so it counts, too."""
    return bool(re.match(r"s_barrier(?!_wait)|s_wakeup_barrier|ds_gws_barrier", i.name))


def lds_wait(i):
    """At most how many LDS operations are under way behind the instruction, or None where it does not say."""
    if i.name in ("s_wait_dscnt", "s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt"):
        value = int(i.operands.split(",")[-1], 0)
        return value & 0x3F  # both counters in one word: the low bits are the LDS's
    if i.name == "s_wait_idle":
        return 0
    if i.name == "s_waitcnt_lgkmcnt":
        return int(i.operands.split(",")[-1], 0)
    if i.name != "s_waitcnt":
        return None
    named = re.search(r"lgkmcnt\((\d+)\)", i.operands)
    if named:
        return int(named[1])
    return 0 if i.operands == "0" else None


class State(NamedTuple):
    """Writes that may be under way: the youngest of the LDS's own as (LDS operations behind it, its index), and the
    index of a flat one."""

    write: tuple | None = None
    flat: int | None = None


def step(i, index, state):
    """The state behind an instruction. A wave's LDS operations end in order, so a wait for at most n leaves no write
    behind which n or more came. Flat ones do not, so only a wait for all ends them."""
    if moves_to_lds(i):
        raise NotModelled(f"{i}: loads into the LDS are not followed")
    wait = lds_wait(i)
    if wait is not None:
        ends = state.write is not None and wait <= state.write[0]
        return State(None if ends else state.write, None if wait == 0 else state.flat)
    if not is_lds(i):
        return state._replace(flat=index) if writes_lds(i) else state
    if writes_lds(i):
        return state._replace(write=(0, index))
    if state.write is None or i.name == "ds_nop":
        return state
    return state._replace(write=(min(state.write[0] + 1, MOST_BEHIND), state.write[1]))


def joined(a, b):
    """Where two ways meet, the one that has waited less counts."""
    return State(*(x if y is None else y if x is None else min(x, y) for x, y in zip(a, b)))


def unwaited_writes(function):
    """(write, barrier) for each barrier that an LDS write may reach before the wave has waited for it, on any way."""
    if not any(is_barrier(i) for i in function.instructions):
        return []
    next_of = successors(function)
    states = {0: State()}
    work = [0]
    while work:
        n = work.pop()
        after = step(function.instructions[n], n, states[n])
        for to in next_of[n]:
            state = joined(states[to], after) if to in states else after
            if to not in states or state != states[to]:
                states[to] = state
                work.append(to)
    return [
        (function.instructions[write], i)
        for n, i in enumerate(function.instructions)
        if is_barrier(i) and n in states
        for write in (states[n].write and states[n].write[1], states[n].flat)
        if write is not None
    ]


# Columns of the table: what they count.
COUNTED = {
    "matrix": r"v_(mfma|smfmac|wmma|swmmac)_",
    "loads_16": r"global_load_(dwordx4|b128)$",
    "loads_lds_2": r"ds_(read|load)_u16",
    "waits": r"s_wait(cnt|_)",
    "calls": r"s_(swappc|call)",
    "flat": r"flat_(load|store|atomic)",
    "buffer": r"(s_|t)?buffer_(load|store|atomic)",
    "scratch": r"scratch_(load|store)",
    "division": r"v_div_scale",
}


def counts(function):
    return {
        key: sum(1 for i in function.instructions if re.match(pattern, i.name)) for key, pattern in COUNTED.items()
    }


def first_registers(operands):
    """The vector registers of the first operand, which is the result of all but stores: v7, or v[2:5]."""
    named = re.match(r"v(\d+)\b|v\[(\d+):(\d+)\]", operands)
    if not named:
        return range(0)
    first = int(named[1] or named[2])
    return range(first, int(named[1] or named[3]) + 1)


def entries(function):
    """Indices of the instructions that a branch goes to."""
    targets = {i.target for i in function.instructions if is_branch(i)}
    places = {n for n, i in enumerate(function.instructions) if i.address is not None and i.address in targets}
    return places | set(function.labels.values())


def offset_is_zero(function, at, entered):
    """Whether the offset from a scalar base, a register of the instruction at index `at`, was set to 0 on the only way to
    it: then the address is the 64 bits of the base."""
    code = function.instructions
    offset = re.fullmatch(r"v(\d+)", code[at].operands.split(",")[0 if "store" in code[at].name else 1].strip())
    if not offset:
        return False
    for n in range(at - 1, -1, -1):
        if n + 1 in entered or re.match(r"s_(c?branch|setpc|swappc|endpgm)", code[n].name):
            return False
        if int(offset[1]) in first_registers(code[n].operands):
            return code[n].name == "v_mov_b32" and code[n].operands == f"v{offset[1]}, 0"
    return False


def wide_addresses(function):
    """Global accesses by their address: how many in 64 bits, the lane's own or a scalar's, and how many in another way,
    as by a 32-bit offset from a scalar base. Such an offset is sound where its index has only 32 bits; a pool's has 64."""
    wide = narrow = 0
    entered = entries(function)
    for at, i in enumerate(function.instructions):
        if re.match(r"global_(load|store|atomic)", i.name):
            is_wide = bool(re.search(r"v\[\d+:\d+\],.*\boff\b", i.operands)) or offset_is_zero(function, at, entered)
            wide += is_wide
            narrow += not is_wide
    return wide, narrow
