"""What the code objects of a build say of their kernels: llvm-readelf's notes (.notes), its metadata of version 5, and
the disassembly (.s) beside them."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import assembly


def metadata(notes):
    """The kernels' maps in what `llvm-readelf --notes` prints: YAML of maps, lists and scalars, indented by two."""
    kernels, argument = [], None
    for line in notes.splitlines():
        entry = re.match(r"^(\s*)(- )?(\s*)(\.[\w]+):\s*(.*)$", line)
        if not entry:
            continue
        indent, dash, pad, key, value = len(entry[1]), entry[2], len(entry[3]), entry[4][1:], entry[5].strip("'\"")
        if indent == 2 and dash:
            kernels.append({"args": []})
            argument = None
        if indent <= 4 and not (indent == 2 and not dash) and indent + (2 if dash else 0) + pad == 4:
            argument = None
            if key != "args":
                kernels[-1][key] = number(value)
        elif indent >= 6:
            if dash:
                argument = {}
                kernels[-1]["args"].append(argument)
            if argument is not None:
                argument[key] = number(value)
    return kernels


def number(text):
    return int(text) if re.fullmatch(r"-?\d+", text) else text == "true" if text in ("true", "false") else text


def demangled(names):
    """Readable names where a c++filt is there, else the names."""
    tool = next((t for t in ("llvm-cxxfilt", "llvm-cxxfilt-22", "c++filt") if shutil.which(t)), None)
    if tool is None or not names:
        return {n: n for n in names}
    out = subprocess.run([tool], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return dict(zip(names, out.splitlines()))


def short(name):
    """'void assay::k<assay::device::f16, 64>(assay::arguments)' as 'k<f16, 64>'."""
    name = re.sub(r"\(anonymous namespace\)::|assay::|device::|split_kv_traits|prefill_traits", "", name)
    name = re.sub(r"heads_as_\w+<(\w+)>", r"\1", name)
    name = re.sub(r"\([^()]*\)$", "", re.sub(r"^void ", "", name))
    return re.sub(r"<<(.*?)>\s*>", r"<\1>", name).replace("signed char", "i8")


@dataclass
class Kernel:
    target: str
    file: str  # of the code object, from the folder of all
    symbol: str
    name: str  # readable
    meta: dict
    code: assembly.Function

    @property
    def is_main(self):
        """Those that compute with matrix instructions, or should: all but combine and append_kv's."""
        return self.name.startswith(("split_kv", "batch_prefill", "mqa_"))

    @property
    def widening(self):
        """Bytes in LDS of one of K or V that is loaded: batch_prefill's FP8 is widened on its way."""
        return 2 if self.name.startswith("batch_prefill") and "e4m3" in self.name else 1


def read(folder):
    """All kernels of FOLDER/TARGET/KERNEL/NAME.hsaco."""
    kernels = []
    for notes in sorted(Path(folder).glob("*/*/*.notes")):
        code = {f.name: f for f in assembly.functions(notes.with_suffix(".s").read_text())}
        for meta in metadata(notes.read_text()):
            symbol = meta["symbol"].removesuffix(".kd")
            file = str(notes.with_suffix(".hsaco").relative_to(folder))
            kernels.append(Kernel(file.split("/")[0], file, symbol, symbol, meta, code[symbol]))
    names = demangled(sorted({k.symbol for k in kernels}))
    for k in kernels:
        k.name = short(names[k.symbol])
    return kernels


# Per SIMD: vector registers of a lane, the step in which a wave gets them, and the most waves (LLVM,
# AMDGPUBaseInfo.cpp; for gfx11 and gfx12 waves of 32, and the large register file that these two targets have). gfx9
# also has 800 scalar registers, in steps of 16.
FILES = {"gfx90a": (512, 8, 8), "gfx942": (512, 8, 8), "gfx950": (512, 8, 8), "gfx1100": (1536, 24, 16), "gfx1201": (1536, 24, 16)}


def occupancy(target, vgprs, sgprs):
    """Waves of a SIMD, as far as registers bound them."""
    registers, granule, most = FILES[target]
    waves = min(most, registers // (max(1, -(-vgprs // granule)) * granule))
    if target.startswith("gfx9"):
        waves = min(waves, 800 // (max(1, -(-sgprs // 16)) * 16))
    return waves


def manifest(kernels):
    """What a loader or an emulator needs to launch each kernel. Sizes and offsets in bytes."""
    entries = []
    for k in kernels:
        m = k.meta
        entries.append({
            "target": k.target,
            "code_object": k.file,
            "kernel": k.name,
            "symbol": m["symbol"],
            "arguments": [
                {"offset": a["offset"], "size": a["size"], "kind": a["value_kind"]} for a in m["args"]
            ],
            "arguments_size": m["kernarg_segment_size"],
            "arguments_align": m["kernarg_segment_align"],
            "block_size": m["max_flat_workgroup_size"],
            "lds_size": m["group_segment_fixed_size"],
            "scratch_size": m["private_segment_fixed_size"],
            "wave_size": m["wavefront_size"],
        })
    return {"version": 1, "kernels": entries}
