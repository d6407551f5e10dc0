#!/usr/bin/env python3
"""Times PyTorch's scaled_dot_product_attention on the shapes of `assay bench --platform nvidia`
(properties/suite/device_bench_shapes.cpp), and prints the same table: its flash and its cuDNN back end, by the device's
events, beside a copy in the same run. PyTorch's caches are contiguous and not FP8, so bf16 stands for both types.
Exits with 77, and says why, where there is no PyTorch with CUDA.

    tests/gpu/torch_bench.py [--launches 20] [--json FILE]
"""
import argparse
import json
import sys

QUERY_HEADS, KEY_HEADS, HEAD_DIM = 32, 8, 128
K = 1024
# Name, sequences, rows and keys of each: those of add_decoding() and add_prefill().
SHAPES = [(f"decode {batch} x {keys // K}k, contiguous", batch, 1, keys)
          for batch, keys in ((16, 8 * K), (64, 8 * K), (1, 128 * K))]
SHAPES += [(f"prefill 1 x {keys // K}k, causal, contiguous", 1, keys, keys) for keys in (2 * K, 8 * K)]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def timed(torch, launches, work):
    """Seconds of each launch, ascending; a quarter as many before are not timed. As in device_bench.cpp, all launches
    are enqueued behind a fill, so that none waits for the host."""
    work()  # what a first call prepares
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(launches)]
    lead = torch.ones(1 << 28, dtype=torch.uint8, device="cuda")
    for _ in range(32):  # two ms at 4 TB/s
        lead.fill_(0)
    for _ in range(max(1, launches // 4)):
        work()
    for begin, end in events:
        begin.record()
        work()
        end.record()
    torch.cuda.synchronize()
    return sorted(1e-3 * begin.elapsed_time(end) for begin, end in events)


def copy_seconds(torch, size, launches):
    """Median of a copy of so many bytes, which reads and writes twice as many."""
    source = torch.ones(size, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return timed(torch, launches, lambda: target.copy_(source))[launches // 2]


def copy_speed(torch, launches):
    """Bytes read plus bytes written a second."""
    size = 1 << 30
    return 2 * size / copy_seconds(torch, size, launches)


def measure(torch, attention, shape, backend, launches):
    """One line of the table, as `assay bench --json` has it."""
    name, batch, rows, keys = shape
    pairs = batch * (rows * keys - rows * (rows - 1) // 2)  # a causal mask; of one row it hides nothing
    line = {"shape": name, "kernel": f"torch {backend}", "types": f"bf16 {backend}", "refusal": "", "splits": 0,
            "bytes": batch * keys * KEY_HEADS * 2 * HEAD_DIM * 2, "operations": 2 * pairs * QUERY_HEADS * 2 * HEAD_DIM,
            "launches": launches, "median_seconds": 0, "least_seconds": 0, "most_seconds": 0,
            "copy_seconds": 0}
    try:
        def random(heads, length):
            return torch.randn(batch, heads, length, HEAD_DIM, dtype=torch.bfloat16, device="cuda")
        q, k, v = random(QUERY_HEADS, rows), random(KEY_HEADS, keys), random(KEY_HEADS, keys)
        backends = {"flash": attention.SDPBackend.FLASH_ATTENTION, "cudnn": attention.SDPBackend.CUDNN_ATTENTION}
        with attention.sdpa_kernel(backends[backend]):
            # Its causal mask begins at the first key, where a decoded row would see that key alone.
            seconds = timed(torch, launches, lambda: torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=rows > 1, enable_gqa=True))
    except (AttributeError, RuntimeError, TypeError) as e:  # of a back end, an option or a type that is not there
        line["refusal"] = (str(e).strip() or type(e).__name__).splitlines()[0]
        return line
    line.update(least_seconds=seconds[0], median_seconds=seconds[launches // 2], most_seconds=seconds[-1],
                copy_seconds=copy_seconds(torch, line["bytes"] // 2, launches))
    return line


def text_of(line, copied):
    start = f"{line['shape']:<38} {line['types']:<16} "
    if line["refusal"]:
        return start + f"not measured: {line['refusal']}"
    median, least, most = (line[f"{which}_seconds"] for which in ("median", "least", "most"))
    spread = f"{1e6 * least:.1f} to {1e6 * most:.1f}"
    read = line["bytes"] / median
    return start + (f"{'-':>6} {1e6 * median:>9.1f} {spread:>20} {1e-12 * read:>7.3f} {100 * read / copied:>5.0f}% "
                    f"{100 * line['copy_seconds'] / median:>5.0f}% {1e-12 * line['operations'] / median:>8.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=20, help="timed launches of each shape")
    parser.add_argument("--json", help="write the results to this file")
    given = parser.parse_args()
    if given.launches < 1:
        parser.error("--launches: must be at least 1")
    try:
        import torch
        from torch.nn import attention
    except ImportError as e:
        skip(f"there is no PyTorch with torch.nn.attention ({e})")
    if not torch.cuda.is_available():
        skip(f"PyTorch {torch.__version__} sees no CUDA device")
    torch.manual_seed(1)
    device, copied = torch.cuda.get_device_name(), copy_speed(torch, given.launches)
    print(f"{device}: a copy of 1 GiB reads and writes {1e-12 * copied:.2f} TB/s; as big: beside a copy of the shape's "
          f"bytes (PyTorch {torch.__version__})")
    print(f"{'shape':<38} {'types':<16} {'splits':>6} {'median us':>9} {'least to most us':>20} {'TB/s':>7} {'copy':>6} "
          f"{'as big':>6} {'TFLOP/s':>8}")
    lines = []
    for shape in SHAPES:
        for backend in ("flash", "cudnn"):
            lines.append(measure(torch, attention, shape, backend, given.launches))
            print(text_of(lines[-1], copied), flush=True)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "device": device, "copy_bytes_per_second": copied, "speeds": lines}, file)
            file.write("\n")


if __name__ == "__main__":
    main()
