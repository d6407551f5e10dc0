"""The loop over tiles in a kernel's assembly, and the way through it that a usual tile takes."""

import re
from dataclasses import dataclass
from typing import NamedTuple

import assembly

MATRIX = re.compile(assembly.COUNTED["matrix"])
LOADED_BYTES = {"x2": 8, "x3": 12, "x4": 16, "64": 8, "96": 12, "128": 16}


@dataclass
class Way:
    """Instructions of one round of a loop, in their order."""

    instructions: list
    inner_loops: int  # loops within it, of which each is in the way once


def blocks(function):
    """(end of each block, blocks that may come next), both by the index of a block's first instruction."""
    next_of = assembly.successors(function)
    starts = {0}
    for n, following in enumerate(next_of):
        if following != [n + 1]:
            starts.update(following)
            starts.add(n + 1)
    starts = sorted(s for s in starts if s < len(next_of))
    ends = dict(zip(starts, starts[1:] + [len(next_of)]))
    return ends, {start: next_of[end - 1] for start, end in ends.items()}


def in_order(following):
    """The blocks that can be reached, each before those that come after it but by a loop's way back."""
    seen, done, stack = {0}, [], [(0, iter(following[0]))]
    while stack:
        block, rest = stack[-1]
        to = next((b for b in rest if b not in seen), None)
        if to is None:
            done.append(stack.pop()[0])
        else:
            seen.add(to)
            stack.append((to, iter(following[to])))
    return done[::-1]


def dominators(order, before):
    """The closest block that all ways to a block lead through (Cooper, Harvey and Kennedy, 2001)."""
    place = {block: n for n, block in enumerate(order)}
    closest = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [b for b in before[block] if b in closest]
            common = known[0]
            for other in known[1:]:
                while other != common:
                    if place[other] > place[common]:
                        other = closest[other]
                    else:
                        common = closest[common]
            if closest.get(block) != common:
                closest[block] = common
                changed = True
    return closest


def natural_loops(following, order):
    """The blocks of each loop, by its head."""
    before = {block: [] for block in order}
    for block in order:
        for to in following[block]:
            before[to].append(block)
    closest = dominators(order, before)

    def leads_through(block, head):
        while block != head and block != order[0]:
            block = closest[block]
        return block == head

    found = {}
    for block in order:
        for head in following[block]:
            if not leads_through(block, head):
                continue
            body, work = found.setdefault(head, {head}), [block]
            while work:
                one = work.pop()
                if one not in body:
                    body.add(one)
                    work.extend(before[one])
    return found


def wide_bytes(i):
    """Bytes a lane that an instruction loads from memory in pieces of eight or more: keys and values, not page ids."""
    load = re.match(r"(global|flat|buffer)_load_\w*?(x2|x3|x4|b64|b96|b128)$", i.name)
    return LOADED_BYTES[load[2].removeprefix("b")] if load else 0


def lds_bytes(i):
    """Bytes a lane that an instruction stores to LDS in pieces of eight or more."""
    store = re.match(r"ds_(?:write|store)(2|2st64|)_(b64|b96|b128)$", i.name)
    return LOADED_BYTES[store[2].removeprefix("b")] * (2 if store[1] else 1) if store else 0


def usual_next(last, following, end):
    """Where a usual wave goes behind a block: some of its lanes are active."""
    if last.name == "s_cbranch_execz":
        return [b for b in following if b == end] or following
    if last.name == "s_cbranch_execnz":
        return [b for b in following if b != end] or following
    return following


class Merit(NamedTuple):
    """What is counted along a way from a block to the loop's head."""

    matrix: int = 0
    loaded: int = 0  # wide_bytes
    stored: int = 0  # lds_bytes
    stores: int = 0  # of memory
    instructions: int = 0

    def plus(self, other):
        return Merit(*(a + b for a, b in zip(self, other)))

    def rank(self):
        """Among ways that store as much to LDS."""
        return self.matrix, self.loaded, self.stores, -self.instructions

    def whole_rank(self, widening):
        """Among all: what is loaded for the next tile takes, widened, the place of as much."""
        short = self.stored < widening * self.loaded
        return self.matrix, self.loaded, not short, self.stored if short else -self.stored, self.stores, -self.instructions


def usual_way(function, widening=1):
    """`widening`: bytes in LDS of one that is loaded. The Way through the outermost loop that has most of the kernel's matrix instructions; None where there is none.
    Of all ways the one with most matrix instructions, of these the one that loads most, of these the one that stores no
    less to LDS, and least; of these the one that stores most results, of these the shortest: a whole tile, of which the
    next one is brought, without a mask."""
    code = function.instructions
    ends, following = blocks(function)
    order = in_order(following)
    found = natural_loops(following, order)

    def merit(block):
        inside = code[block : ends[block]]
        return Merit(
            sum(1 for i in inside if MATRIX.match(i.name)), sum(map(wide_bytes, inside)), sum(map(lds_bytes, inside)),
            sum(1 for i in inside if re.match(r"(global|flat|buffer)_store", i.name)), len(inside))

    own = {block: merit(block) for block in ends}
    total = sum(m.matrix for m in own.values())
    main = [head for head, body in found.items() if 2 * sum(own[b].matrix for b in body) > total]
    if not main:
        return None
    head = max(main, key=lambda h: len(found[h]))
    body = found[head]
    place = {block: n for n, block in enumerate(order)}
    # block: bytes stored from it to the head: the best Merit of those ways, and (the block behind it, the bytes from there)
    best = {}
    for block in reversed([b for b in order if b in body]):
        ways = {}
        all_next = following[block]
        for choices in (usual_next(code[ends[block] - 1], all_next, ends[block]), all_next):
            for to in choices:
                rests = [(Merit(), None)] if to == head else []
                if to != head and to in best and place[to] > place[block]:
                    rests = [(m, (to, stored)) for stored, (m, _) in best[to].items()]
                for rest, behind in rests:
                    one = own[block].plus(rest)
                    if one.stored not in ways or one.rank() > ways[one.stored][0].rank():
                        ways[one.stored] = one, behind
            if ways:
                best[block] = ways
                break
    stored = max(best[head], key=lambda s: best[head][s][0].whole_rank(widening))
    taken, at = [], (head, stored)
    while at is not None:
        taken.append(at[0])
        at = best[at[0]][at[1]][1]
    return Way([i for b in taken for i in code[b : ends[b]]], sum(1 for b in taken if b != head and b in found))


def memory_wait(i):
    """At most how many loads and stores of memory are under way behind the instruction, or None where it does not say."""
    if i.name != "s_waitcnt":
        return None
    named = re.search(r"vmcnt\((\d+)\)", i.operands)
    if named:
        return int(named[1])
    return 0 if i.operands == "0" else None


def overlap(way):
    """How many matrix instructions come between a wide load of the round and the wait for it, which may be in the next
    round: of its wide loads the least; None where it has none. Memory operations of gfx9 end in order, so that a wait for
    at most n is one for the load where no more than n came behind it."""
    code = way.instructions

    def behind(load):
        others = matrix = 0
        for i in code[load + 1 :] + code[: load + 1]:
            wait = memory_wait(i)
            if wait is not None and wait <= others:
                break
            others += bool(re.match(r"(global|flat|buffer)_(load|store|atomic)", i.name))
            matrix += bool(MATRIX.match(i.name))
        return matrix

    return min((behind(n) for n, i in enumerate(code) if wide_bytes(i)), default=None)
