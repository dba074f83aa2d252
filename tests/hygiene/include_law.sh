#!/bin/sh
# The include law: a room (a folder of src) includes only lower rooms, each third party is included
# only in the files that the rules below allow, files for one instruction set include almost
# nothing, and the core neither prints nor exits.
# Usage: include_law.sh ROOT. Prints `file:line: what` for every breach; exit 1 when there are any.
set -eu
cd "$1"

isas=$(sed -n 's/^qtool_add_isa(\([a-z0-9_]*\).*/\1/p' src/CMakeLists.txt | tr '\n' '|')

find include/qtool src tools/qtool -name '*.h' -o -name '*.cpp' -o -name '*.inc' | LC_ALL=C sort |
  xargs awk -v isas="${isas%|}" '
  BEGIN {
    rooms = split("base json tensor quant image kernels graph samples ops lower exec calib quantize answers compare on_images pipeline analyze search report tools", order)
    for (i = 1; i <= rooms; ++i) rank[order[i]] = i
    rank["image"] = rank["kernels"] = rank["graph"] = rank["quant"] + 1  # siblings
    isa_file = "^src/kernels/[a-z0-9_]+/(" isas ")[.]cpp$"
    # Headers that a file for one instruction set may include besides the contract and stages.h (the
    # code that all files of a family share). They emit no function that another file could use.
    isa_header = "^base/round_up[.]h$|^kernels/(intrinsics|unroll|(epilogue|pairwise)_[a-z0-9]+)[.]h$"

    # Header pattern and where it may be included.
    rule("^(onnx|google/protobuf)/", "^src/graph/onnx/")
    rule("^(stb/)?stb_[a-z_]+[.]h$", "^src/image/")
    rule("^webp/", "^src/image/webp[.]cpp$")
    rule("^Eigen/", "^src/quantize/rounding/gptq[.]cpp$")
    rule("^xxhash[.]h$", "^src/base/hash[.]cpp$")
    rule("^(oneapi/)?dnnl", "^src/ops/onednn/[a-z]+[.](cpp|h)$")
    rule("^nlohmann/", "^src/json/|^src/image/preprocess_json[.]h$|^src/calib/formats/|^src/report/")
    rule("^zlib[.]h$", "^src/samples/npz[.]cpp$")
    rule("^CLI/", "^tools/qtool/cli/parse[.]cpp$")
    rule("^spdlog/", "^tools/qtool/console[.]cpp$")
    # oneDNN divides work by OpenMP unless it is told not to.
    rule("^omp[.]h$", "^src/ops/onednn/engine[.]cpp$")
    rule("^cpuid[.]h$", "^src/kernels/isa[.]cpp$")
    # Only these headers give access to the denormal bits of the control register.
    rule("intrin[.]h$|^arm_neon[.]h$",
         isa_file "|^src/base/floating_point_mode[.]cpp$|^src/kernels/(intrinsics|(epilogue|pairwise)_[a-z0-9]+)[.]h$")
    rule("^(unistd|sched|fcntl|poll|spawn|malloc)[.]h$|^sys/[a-z]+[.]h$", "^src/base/|^tools/qtool/")
  }
  function rule(header, place) { header_pattern[++rules] = header; place_pattern[rules] = place }
  function breach(what) { print FILENAME ":" FNR ": " what; breaches = 1 }
  function room_of(path,   part, n) {
    n = split(path, part, "/")
    if (part[1] == "tools") return "tools"
    return part[1] == "include" ? part[3] : part[2]
  }

  FNR == 1 { room = room_of(FILENAME); in_public = FILENAME ~ /^include\// }
  FNR == 1 && !(room in rank) { breach("the room \"" room "\" is not on the plan") }

  /^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\""); target = quoted[2]
    is_public = target ~ /^qtool\//
    if (room == "tools" && target !~ /\//) next  # a header of the program
    split(target, part, "/"); other = is_public ? part[2] : part[1]
    if (room == "tools" && other ~ /^(auto|commands|options|other_programs|cli)$/) next
    if (in_public && !is_public) breach("a public header includes the internal \"" target "\"")
    else if (room == "tools" && !is_public && other !~ /^(base|report)$/)
      breach("tools include the internal \"" target "\"")
    else if (!(other in rank)) breach("\"" target "\" belongs to no room")
    else if (other != room && rank[other] == rank[room]) breach(room " includes its sibling " other)
    else if (rank[other] > rank[room]) breach(room " includes the higher room " other)
    if (FILENAME ~ isa_file) {
      split(FILENAME, place, "/")
      if (target !~ ("^kernels/" place[3] "/(contract|stages)[.]h$") && target !~ isa_header)
        breach("a file for one instruction set includes \"" target "\"")
    }
    next
  }
  /^[ \t]*#[ \t]*include[ \t]*</ {
    target = $0; sub(/^[^<]*</, "", target); sub(/>.*/, "", target)
    standard = target ~ /^[a-z_0-9]+$/
    if (FILENAME ~ isa_file && standard && target !~ /^cstd(int|def)$/)
      breach("a file for one instruction set includes <" target ">")
    # The includes of the contract headers also reach the files for one instruction set.
    if (FILENAME ~ /^src\/base\/round_up[.]h$|^src\/kernels\/([a-z0-9_]+\/)?(contract|stages|output_type|unroll|logarithm|vector_math|(epilogue|pairwise)_[a-z0-9]+)[.]h$/ && standard &&
        target != "cstdint" && target != "cstddef")
      breach("a kernel contract includes <" target ">")
    if (standard) next
    if (in_public) { breach("a public header includes <" target ">"); next }
    for (i = 1; i <= rules; ++i) {
      if (target !~ header_pattern[i]) continue
      if (FILENAME !~ place_pattern[i]) breach("<" target "> outside its quarantine")
      next
    }
    breach("<" target "> is not on the list of third parties")
    next
  }
  { code = $0; sub(/\/\/.*/, "", code) }
  in_public && code ~ /(nlohmann|onnx|google|protobuf|dnnl|CLI|spdlog)::/ {
    breach("a public header names a third-party type")
  }
  room != "tools" && FILENAME != "src/base/check.cpp" &&
  code ~ /std::(cout|cerr|clog)|(^|[^A-Za-z0-9_])(f?printf|f?puts|exit|_exit|abort|quick_exit)[(]/ {
    breach("the core prints or exits")
  }
  # No command may overwrite a file that it reads. files.cpp ensures that, for files opened through it.
  room == "tools" && FILENAME !~ /\/files[.](h|cpp)$/ &&
  (code ~ /(^|[^A-Za-z0-9_])(read_file|write_files?|load_onnx|load_model_file|save_onnx|list_images|list_tensors|read_labels|fopen)[(]/ ||
   code ~ /[io]?fstream/) {
    breach("tools read and write files through files.h only")
  }
  # The umask belongs to the whole process: another thread may be creating a file at the same time.
  code ~ /(^|[^A-Za-z0-9_])umask[(]/ { breach("sets the umask of the process") }
  END { exit breaches }' || exit 1  # xargs has exit codes of its own
