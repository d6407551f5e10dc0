#!/usr/bin/env python3
"""Draws docs/error_map.svg: one case, judged by a tolerance and by its enclosure, on a correct and a faulty kernel.

    docs/error_map.py PROGRAM FAULTY_LIBRARY > docs/error_map.svg

Each value comes from `assay explain docs/error_map_case.json --element o,ROW,0,COLUMN`, so the picture shows what the
program printed. It takes some minutes: the program runs once per element and kernel.
"""
import itertools
import math
import os
import re
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

CASE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "error_map_case.json")
ROWS, COLUMNS = 8, 64
TOLERANCE = 0.055  # aiter's for this kernel
CELL_WIDTH, CELL_HEIGHT = 6, 14


def bf16(value):
    """The order number of the nearest bf16 number (ties to even): neighbours differ by 1."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return bits if bits < 0x8000 else 0x8000 - bits


def element(program, library, row, column):
    """|o - exact|, and how many bf16 numbers o lies outside of its enclosure (0: inside)."""
    command = [program, "explain", CASE, "--element", f"o,{row},0,{column}"]
    if library:
        command += ["--library", library]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    value = float(re.search(rf"^o\[{row}, 0, {column}\] = (\S+)", text, re.M)[1])
    low, high = (float(x) for x in re.search(r"^  enclosure \[(\S+), (\S+)\]", text, re.M).groups())
    exact = float(re.search(r"^  exact +([^,\s]+)", text, re.M)[1])
    return abs(value - exact), max(bf16(low) - bf16(value), bf16(value) - bf16(high), 0)


def panel(x, y, title, cells, colour):
    out = [f'<text x="{x}" y="{y - 8}">{title}</text>']
    for row in range(ROWS):
        column = 0
        for fill, cells_alike in itertools.groupby(colour(c) for c in cells[row * COLUMNS:(row + 1) * COLUMNS]):
            count = len(list(cells_alike))
            out.append(f'<rect x="{x + column * CELL_WIDTH}" y="{y + row * CELL_HEIGHT}" width="{count * CELL_WIDTH}" '
                       f'height="{CELL_HEIGHT}" fill="{fill}"/>')
            column += count
    out.append(f'<rect x="{x}" y="{y}" width="{COLUMNS * CELL_WIDTH}" height="{ROWS * CELL_HEIGHT}" fill="none" '
               'stroke="#666"/>')
    return "\n".join(out)


def shade(share):
    """White to red, in 16 steps."""
    rest = 17 * round(15 * (1 - min(max(share, 0), 1)))
    return f"#ff{rest:02x}{rest:02x}" if share > 0 else "#ffffff"


def by_tolerance(cell):
    return shade(cell[0] / TOLERANCE)


def by_enclosure(cell):
    return "#8fce8f" if cell[1] == 0 else shade(0.35 + 0.65 * math.log2(cell[1]) / 8)


def main():
    program, faulty = sys.argv[1:3]
    places = [(row, column) for row in range(ROWS) for column in range(COLUMNS)]
    with ThreadPoolExecutor(2) as pool:
        good, bad = (list(pool.map(lambda at, lib=lib: element(program, lib, *at), places)) for lib in (None, faulty))
    worst = [max(c[0] for c in cells) for cells in (good, bad)]
    outside = [sum(c[1] > 0 for c in cells) for cells in (good, bad)]
    total = ROWS * COLUMNS
    left, right, top, low = 10, 30 + COLUMNS * CELL_WIDTH, 30, 30 + ROWS * CELL_HEIGHT + 45
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{right + COLUMNS * CELL_WIDTH + 10}" '
          f'height="{low + ROWS * CELL_HEIGHT + 45}" font-family="sans-serif" font-size="13">')
    print('<rect width="100%" height="100%" fill="#ffffff"/>')
    print(panel(left, top, f"Correct kernel, distance to exact: at most {worst[0]:.4f}", good, by_tolerance))
    print(panel(right, top, f"Faulty kernel, distance to exact: at most {worst[1]:.4f}", bad, by_tolerance))
    print(panel(left, low, f"Correct kernel, outside of enclosure: {outside[0]} of {total}", good, by_enclosure))
    print(panel(right, low, f"Faulty kernel, outside of enclosure: {outside[1]} of {total}", bad, by_enclosure))
    print(f'<text x="{left}" y="{low + ROWS * CELL_HEIGHT + 20}">Rows: 8 query rows of O. Columns: 64 dimensions. '
          f'Upper maps: white 0, full red {TOLERANCE} (aiter\'s tolerance).</text>')
    print(f'<text x="{left}" y="{low + ROWS * CELL_HEIGHT + 37}">Lower maps: green inside of the enclosure; red outside, '
          'darker with more bf16 numbers between (full red: 256).</text>')
    print("</svg>")


if __name__ == "__main__":
    main()
