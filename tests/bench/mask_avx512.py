"""Runs a program whose libonnxruntime.so sees a processor without AVX-512 and VNNI.

    gdb -q -batch -x tests/bench/mask_avx512.py --args node tests/bench/networks.mjs speed --isa avx2 ...

ONNX Runtime has no option that limits its instruction set. It asks the CPUID instruction, so this
script for gdb stops at each CPUID of the library and clears the bits of AVX-512, VNNI, AMX and
AVX-VNNI in the answer. Afterwards nothing stops any more, and the program runs at full speed.
"""

import re
import subprocess
import tempfile

import gdb

LIBRARY = "libonnxruntime.so"
# CPUID leaf 7 (Intel manual, volume 2, table of CPUID): bits of AVX-512, AMX and their parts.
EBX = [16, 17, 21, 26, 27, 28, 30, 31]
ECX = [1, 6, 11, 12, 14]
EDX = [2, 3, 8, 22, 23, 24, 25]
EAX_1 = [4, 5, 21, 23]  # subleaf 1: AVX-VNNI, BF16, AMX-FP16, AVX-IFMA
EDX_1 = [4, 5, 10]  # subleaf 1: AVX-VNNI-INT8, AVX-NE-CONVERT, AVX-VNNI-INT16


def cleared(value, bits):
    for bit in bits:
        value &= ~(1 << bit)
    return value


class Cpuid(gdb.Breakpoint):
    def stop(self):
        # The breakpoint stands at the CPUID; it is skipped, and its answer is computed here.
        read = lambda name: int(gdb.parse_and_eval("$" + name)) & 0xFFFFFFFF
        leaf, subleaf = read("eax"), read("ecx")
        if leaf != 7:
            return False
        answers = ANSWERS[1 if subleaf == 1 else 0]
        for name, value in zip(("rax", "rbx", "rcx", "rdx"), answers):
            gdb.execute(f"set ${name} = {value}")
        gdb.execute("set $pc = $pc + 2")
        return False


def answer(subleaf):
    """What CPUID leaf 7 says here, without the bits above."""
    code = (
        "#include <cpuid.h>\n#include <stdio.h>\nint main(void) { unsigned a, b, c, d;"
        f"__cpuid_count(7, {subleaf}, a, b, c, d); printf(\"%u %u %u %u\", a, b, c, d); }}"
    )
    with tempfile.TemporaryDirectory() as folder:
        program = folder + "/cpuid"
        subprocess.run(["cc", "-x", "c", "-", "-o", program], input=code, text=True, check=True)
        out = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    a, b, c, d = (int(word) for word in out.split())
    if subleaf == 1:
        return cleared(a, EAX_1), b, c, cleared(d, EDX_1)
    return a, cleared(b, EBX), cleared(c, ECX), cleared(d, EDX)


ANSWERS = {0: answer(0), 1: answer(1)}
seen = set()


def on_load(event):
    name = event.new_objfile.filename
    if LIBRARY not in name or name in seen:
        return
    seen.add(name)
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", name], capture_output=True, text=True, check=True
    ).stdout
    base = min(
        int(line.split()[0], 16)
        for line in gdb.execute("info proc mappings", to_string=True).splitlines()
        if name in line
    )
    for match in re.finditer(r"^ *([0-9a-f]+):\s+cpuid\b", listing, re.MULTILINE):
        Cpuid(f"*{base + int(match.group(1), 16):#x}", internal=True).silent = True


gdb.execute("set breakpoint pending on")
gdb.execute("set pagination off")
gdb.execute("handle all nostop noprint pass")
# Seen on a processor with AVX-VNNI: with SIGSEGV passed on, the program ended with it in every run;
# with gdb keeping it, the runs went to their end. The reason is not known.
gdb.execute("handle SIGTRAP SIGSEGV stop noprint nopass")
gdb.events.new_objfile.connect(on_load)
gdb.execute("run")
