// Runs one ONNX model with ONNX Runtime on the CPU and reports which kernels ran.
//
//   node run.mjs MODEL.onnx --input NAME=DIMS=FILE ... [--output DIR] [--threads N]
//   node run.mjs MODEL.onnx --optimize FILE --level basic|extended|all
//
// DIMS is like 1x3x224x224; FILE holds that many little-endian float32 values, or a multiple of
// them; then the model runs several times, once for each part. Each float32 output of all runs is
// written to DIR/<number>.f32. The second form only writes the model as ONNX Runtime optimizes it.
// Standard output of the first is one JSON object:
//   { "version", "outputs": [{ "name", "type", "dims", "file" }], "nodes": [{ "name", "op" }] }
// where "nodes" are those that ran after ONNX Runtime's own optimizations, in order of execution:
// an integer convolution is a QLinearConv there, one left in FP32 a Conv or FusedConv.
// Exit code: 0 ok, 1 failure, 2 usage.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';

// The package is looked up from the current folder, where it was installed, not beside this file.
const require = createRequire(path.join(process.cwd(), 'package.json'));

function fail(message) {
  console.error(message);
  process.exit(2);
}

function parseArguments(args) {
  const options = { model: undefined, inputs: [], output: undefined, threads: 1, level: 'all' };
  for (let i = 0; i < args.length; ++i) {
    const value = () => args[++i] ?? fail(`${args[i - 1]}: expected a value`);
    if (args[i] === '--input') {
      const parts = value().split('=');
      if (parts.length !== 3) fail(`--input: expected NAME=DIMS=FILE, found '${parts.join('=')}'`);
      options.inputs.push({ name: parts[0], dims: parts[1].split('x').map(Number), file: parts[2] });
    } else if (args[i] === '--output') {
      options.output = value();
    } else if (args[i] === '--optimize') {
      options.optimized = value();
    } else if (args[i] === '--level') {
      options.level = value();
    } else if (args[i] === '--threads') {
      options.threads = Number(value());
    } else if (args[i].startsWith('--') || options.model !== undefined) {
      fail(`unexpected argument '${args[i]}'`);
    } else {
      options.model = args[i];
    }
  }
  return options.model === undefined ? fail('expected the path of a model') : options;
}

// The values of one input, a list with one array for each run.
function readFloats({ name, dims, file }) {
  const bytes = fs.readFileSync(file);
  const size = 4 * dims.reduce((product, dim) => product * dim, 1);
  if (bytes.length === 0 || bytes.length % size !== 0) {
    fail(`input '${name}': ${file} has ${bytes.length} bytes, expected a multiple of ${size}`);
  }
  const runs = [];
  for (let at = bytes.byteOffset; at < bytes.byteOffset + bytes.length; at += size) {
    runs.push(new Float32Array(bytes.buffer.slice(at, at + size)));
  }
  return runs;
}

// The profile lists every kernel that ran, with the operator it implements.
function ranNodes(profileFolder) {
  const suffix = '_kernel_time';
  return fs.readdirSync(profileFolder)
    .flatMap((file) => JSON.parse(fs.readFileSync(path.join(profileFolder, file), 'utf8')))
    .filter((event) => event.cat === 'Node' && event.args?.op_name !== undefined)
    .map((event) => ({
      name: event.name.endsWith(suffix) ? event.name.slice(0, -suffix.length) : event.name,
      op: event.args.op_name,
    }));
}

async function run(session) {
  const values = options.inputs.map(readFloats);
  const runs = Math.max(1, ...values.map((list) => list.length));
  const outputs = [];
  for (let i = 0; i < runs; ++i) {
    const feeds = {};
    options.inputs.forEach(({ name, dims }, number) => {
      const list = values[number];
      feeds[name] = new ort.Tensor('float32', list[list.length === 1 ? 0 : i], dims);
    });
    const results = await session.run(feeds);
    session.outputNames.forEach((name, number) => {
      const { type, dims, data } = results[name];
      outputs[number] = { name, type, dims };
      if (options.output === undefined || type !== 'float32') return;
      const file = path.join(options.output, `${number}.f32`);
      const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      (i === 0 ? fs.writeFileSync : fs.appendFileSync)(file, bytes);
      outputs[number].file = file;
    });
  }
  session.endProfiling();
  const { version } = require('onnxruntime-node/package.json');
  console.log(JSON.stringify({ version, outputs, nodes: ranNodes(profiles) }));
}

const options = parseArguments(process.argv.slice(2));
const ort = require('onnxruntime-node');
const profiles = fs.mkdtempSync(path.join(os.tmpdir(), 'qtool-interop-'));
try {
  const session = await ort.InferenceSession.create(options.model, {
    executionProviders: ['cpu'],
    graphOptimizationLevel: options.level,
    intraOpNumThreads: options.threads,
    interOpNumThreads: 1,
    ...(options.optimized === undefined ? {} : { optimizedModelFilePath: options.optimized }),
    enableProfiling: true,
    profileFilePrefix: path.join(profiles, 'profile'),
    logSeverityLevel: 3,
  });
  if (options.optimized === undefined) await run(session);
} catch (error) {
  console.error(`${options.model}: ${error.message}`);
  process.exitCode = 1;
} finally {
  fs.rmSync(profiles, { recursive: true, force: true });
}
