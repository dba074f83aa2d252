#include "other_programs/other_runtime.h"

#include <fcntl.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "base/text.h"
#include "other_programs/child_process.h"
#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

// Both programs take the same arguments: threads, timed runs, the number of inputs, TYPE:AxBxC for
// each input, and the models. The bytes of the inputs come from stdin. They answer in lines:
// `missing WHAT` if the runtime is not installed, `error WHAT`, `version WHAT`, and, for each
// model, `seconds` with the time of each run. Nothing is imported from the current folder.
constexpr std::string_view kPython = R"(
import sys
if sys.path and sys.path[0] == '':
    sys.path.pop(0)
import time
one_line = lambda text: ' '.join(str(text).split())
try:
    import numpy
    import onnxruntime
except ImportError as problem:
    print('missing', one_line(problem))
    sys.exit(0)
threads, repeat, count = (int(word) for word in sys.argv[1:4])
tensors = []
for spec in sys.argv[4:4 + count]:
    kind, shape = spec.split(':')
    shape = [int(extent) for extent in shape.split('x')] if shape else []
    size = numpy.dtype(kind).itemsize
    for extent in shape:
        size *= extent
    tensors.append(numpy.frombuffer(sys.stdin.buffer.read(size), dtype=kind).reshape(shape))
try:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    runs = []
    for model in sys.argv[4 + count:]:
        session = onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])
        names = [value.name for value in session.get_inputs()]
        if len(names) != len(tensors):
            raise ValueError('%s takes %d inputs, not %d' % (model, len(names), len(tensors)))
        runs.append((session, dict(zip(names, tensors)), []))
    for turn in range(-3, repeat):
        for session, feeds, seconds in runs:
            begin = time.perf_counter()
            session.run(None, feeds)
            if turn >= 0:
                seconds.append(time.perf_counter() - begin)
except Exception as problem:
    print('error', one_line(problem))
    sys.exit(0)
print('version', onnxruntime.__version__)
for _, _, seconds in runs:
    print('seconds', *seconds)
)";

constexpr std::string_view kNode = R"(
const fs = require('fs');
const oneLine = (text) => String(text).trim().split(/\s+/).join(' ');
const answer = (text) => fs.writeSync(1, text + '\n');
let ort;
try {
  ort = require('onnxruntime-node');
} catch (problem) {
  answer('missing ' + oneLine(problem.message.split('\n')[0]));
  process.exit(0);
}
const words = process.argv.slice(1);
const [threads, repeat, count] = words.slice(0, 3).map(Number);
const kinds = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array,
  int16: Int16Array, uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array,
  int64: BigInt64Array, uint64: BigUint64Array, bool: Uint8Array,
};
(async () => {
  const bytes = count > 0 ? fs.readFileSync(0) : Buffer.alloc(0);
  let at = 0;
  const tensors = words.slice(3, 3 + count).map((spec) => {
    const [kind, shape] = spec.split(':');
    const dims = shape === '' ? [] : shape.split('x').map(Number);
    const array = kinds[kind];
    if (array === undefined) throw new Error('inputs of ' + kind + ' are not supported');
    const size = dims.reduce((product, extent) => product * extent, array.BYTES_PER_ELEMENT);
    const data = new array(bytes.buffer.slice(bytes.byteOffset + at, bytes.byteOffset + at + size));
    at += size;
    return new ort.Tensor(kind, data, dims);
  });
  const runs = [];
  for (const model of words.slice(3 + count)) {
    const session = await ort.InferenceSession.create(model, {
      executionProviders: ['cpu'], intraOpNumThreads: threads, interOpNumThreads: 1,
      logSeverityLevel: 3,
    });
    if (session.inputNames.length !== tensors.length) {
      throw new Error(model + ' takes ' + session.inputNames.length + ' inputs, not ' + tensors.length);
    }
    const feeds = {};
    session.inputNames.forEach((name, i) => { feeds[name] = tensors[i]; });
    runs.push({session, feeds, seconds: []});
  }
  for (let turn = -3; turn < repeat; ++turn) {
    for (const {session, feeds, seconds} of runs) {
      const begin = process.hrtime.bigint();
      await session.run(feeds);
      if (turn >= 0) seconds.push(Number(process.hrtime.bigint() - begin) / 1e9);
    }
  }
  answer('version ' + require('onnxruntime-node/package.json').version);
  for (const {seconds} of runs) answer('seconds ' + seconds.join(' '));
  process.exit(0);
})().catch((problem) => {
  answer('error ' + oneLine(problem.message));
  process.exit(0);
});
)";

/// A program that may have ONNX Runtime.
struct Host {
  const char* program;
  const char* flag;  ///< what the script follows
  std::string_view script;
  const char* package;  ///< in words, for messages
};
constexpr std::array<Host, 2> kHosts{{{"python3", "-c", kPython, "Python's onnxruntime"},
                                      {"node", "-e", kNode, "node's onnxruntime-node"}}};

constexpr double kLeastSeconds = 120.0;  // to begin, and to load the models
constexpr double kTimesSlower = 50.0;    // another runtime may be so much slower

// A file without a name that holds the bytes of all inputs.
Descriptor input_file(std::span<const Tensor> inputs) {
  std::FILE* const file = std::tmpfile();
  const auto fail = [] { throw Error(ErrorCode::kIo, "a temporary file cannot be written"); };
  if (file == nullptr) fail();
  bool whole = true;
  for (const Tensor& input : inputs) {
    const auto size = static_cast<std::size_t>(input.bytes());
    whole = whole && std::fwrite(input.data(), 1, size, file) == size;
  }
  whole = std::fflush(file) == 0 && whole;
  Descriptor copy(::fcntl(::fileno(file), F_DUPFD_CLOEXEC, 0));
  std::fclose(file);
  if (!whole || !copy.is_open()) fail();
  return copy;
}

std::string spec_of(const Tensor& input) {
  std::string text = to_text(name_of(input.dtype()), ":");
  for (std::int64_t axis = 0; axis < input.shape().rank(); ++axis) {
    text += to_text(axis == 0 ? "" : "x", input.shape()[axis]);
  }
  return text;
}

std::vector<std::string> words_for(const Host& host, const OtherRuntimeJob& job,
                                   std::span<const Tensor> inputs) {
  std::vector<std::string> words{
      host.program,         host.flag,           std::string(host.script),
      to_text(job.threads), to_text(job.repeat), to_text(std::ssize(inputs))};
  for (const Tensor& input : inputs) words.push_back(spec_of(input));
  words.insert(words.end(), job.models.begin(), job.models.end());
  return words;
}

// The rest of a line that begins with `key`; nullopt for other lines.
std::optional<std::string> rest_of(const std::string& line, std::string_view key) {
  if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') {
    return std::nullopt;
  }
  return line.substr(key.size() + 1);
}

[[noreturn]] void fail_answer(const Host& host, const std::string& found) {
  throw Error(ErrorCode::kInvalidArgument,
              to_text(host.package, ": found ", found, ", expected the seconds of every run"));
}

std::vector<double> run_seconds(const Host& host, const std::string& text, std::int64_t repeat) {
  std::vector<double> seconds;
  for (const std::string& word : split(text, ' ')) {
    double value = -1.0;
    try {
      value = parse_double(word, "seconds");
    } catch (const Error&) {
      fail_answer(host, to_text("'", word.substr(0, 40), "'"));
    }
    if (!std::isfinite(value) || value <= 0.0) fail_answer(host, to_text(value, " s"));
    seconds.push_back(value);
  }
  if (std::ssize(seconds) != repeat) fail_answer(host, to_text(seconds.size(), " runs"));
  return seconds;
}

/// What a host answered.
struct HostAnswer {
  std::string runtime{};                       ///< `ONNX Runtime 1.20.1 (python3)`
  std::vector<std::vector<double>> seconds{};  ///< of every run, for each model
};

// Reads the answer of a host. nullopt if it lacks the runtime; `lacks` then says so.
std::optional<HostAnswer> read_answer(const Host& host, const ChildOutput& child,
                                      const OtherRuntimeJob& job, std::string& lacks) {
  HostAnswer answer;
  for (const std::string& line : split(child.output, '\n')) {
    if (const auto what = rest_of(line, "missing")) {
      lacks = to_text(host.program, " has none (", what->substr(0, 200), ")");
      return std::nullopt;
    }
    if (const auto what = rest_of(line, "error")) {
      throw Error(ErrorCode::kUnsupported,
                  to_text("ONNX Runtime does not run the model: ", what->substr(0, 1000)));
    }
    if (const auto version = rest_of(line, "version")) {
      answer.runtime = to_text("ONNX Runtime ", version->substr(0, 40), " (", host.program, ")");
    }
    const auto seconds = rest_of(line, "seconds");
    if (seconds && answer.seconds.size() < job.models.size()) {
      answer.seconds.push_back(run_seconds(host, *seconds, job.repeat));
    }
  }
  if (child.code != 0) {
    throw Error(ErrorCode::kUnsupported,
                to_text("program '", host.program, "' ends with ", child.code, ": ",
                        child.last_error.empty() ? "no message" : child.last_error));
  }
  if (answer.runtime.empty() || answer.seconds.size() != job.models.size()) {
    fail_answer(host, to_text(answer.seconds.size(), " of ", job.models.size(), " models"));
  }
  return answer;
}

// Asks one host after the other for the times, until one has the runtime.
HostAnswer ask_hosts(const OtherRuntimeJob& job, std::span<const Tensor> inputs) {
  const Descriptor input = input_file(inputs);
  const std::chrono::duration<double> limit(kLeastSeconds + kTimesSlower * job.seconds);
  std::string found;
  for (const Host& host : kHosts) {
    std::string lacks;
    const std::optional<ChildOutput> child = run_child(words_for(host, job, inputs), input, limit);
    if (!child) {
      lacks = to_text(host.program, " is not on PATH");
    } else if (std::optional<HostAnswer> answer = read_answer(host, *child, job, lacks)) {
      return *std::move(answer);
    }
    found += to_text(found.empty() ? "" : "; ", host.package, ": ", lacks);
  }
  throw Error(ErrorCode::kUnsupported,
              to_text("--also-time onnxruntime: looked for ", found,
                      ". Install one of them (pip install onnxruntime, or npm install "
                      "onnxruntime-node in this folder)"));
}

}  // namespace

RuntimeTimes time_in_onnxruntime(const OtherRuntimeJob& job, std::span<const Tensor> inputs) {
  HostAnswer answer = ask_hosts(job, inputs);
  return times_of_runs(std::move(answer.runtime), job.threads, answer.seconds);
}

void require_onnxruntime() { static_cast<void>(ask_hosts({}, {})); }

}  // namespace qtool::tool
