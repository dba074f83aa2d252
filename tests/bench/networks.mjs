// Measures whole networks and prints the tables of docs/benchmarks.md.
//
//   node tests/bench/networks.mjs accuracy|correction|speed|float|kernels|collection|pairs --qtool PATH
//                             [--data DIR] [--network NAME] [--work DIR] [--rounds N]
//                             [--threads N[,N]] [--isa NAME] [--packages DIR]
//
// accuracy:  calibrate, quantize and eval every network with every method.
// correction: quantize and eval every network with every bias correction, and with 4-bit weights by
//            every weight method.
// speed:     latency of the FP32 and the INT8 model in our executor and in ONNX Runtime, measured
//            in turn within each round, for each number of --threads, such as 1,2.
// float:     latency of every model of DIR/models and DIR/models/wild as it is, in our executor and
//            in ONNX Runtime, measured in turn. "ratio of the fastest" compares the fastest runs of
//            both, which other work on the machine disturbs least.
// kernels:   for each instruction set of this processor, the share of the machine's measured peak that
//            the steps of each operator reach in the INT8 models that `speed` has made.
// collection: time and peak memory of `calibrate` on 100 photographs, in turn with `eval` of the same
//            FP32 model on the same photographs, which decodes and infers but observes nothing. Takes
//            resnet18 and resnet50 too when make_resnets.py has put them into the --work folder.
// pairs:     time of `calibrate` on 100 photographs with its choice of --weight-pairs, in turn with
//            --weight-pairs free, which needs no choice. Takes the resnets as above.
// --isa avx2 limits both programs to AVX2 on a processor with more: ours by their own switches, ONNX
// Runtime, which has none, by mask_avx512.py and gdb. `speed` then makes models with
// --weight-pairs limited, because ONNX Runtime's sums may saturate otherwise.
// --data is a folder like the one the tests read from (QTOOL_SHARED_DATA); without it only the
// embedded networks are measured. --packages is the folder in which onnxruntime-node is installed
// (the build folder of the interop tests). --network measures one network only. `accuracy` makes
// the INT8 models in the --work folder; `speed` makes those that are missing there, from at most
// 100 images.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const [mode, ...rest] = process.argv.slice(2);
const options = { qtool: '', data: '', network: '', work: 'build/networks', rounds: '7', threads: '1', isa: '', packages: 'build/release/tests/interop' };
for (let i = 0; i < rest.length; i += 2) options[rest[i].replace(/^--/, '')] = rest[i + 1];
const modes = { accuracy, correction, speed, float, kernels, collection, pairs };
if (!modes[mode] || !options.qtool) {
  console.error(`usage: networks.mjs ${Object.keys(modes).join('|')} --qtool PATH [--data DIR] [--network NAME] [--work DIR]`);
  process.exit(2);
}
if (options.isa) {
  if (options.isa !== 'avx2') throw new Error(`--isa ${options.isa}: only avx2 can be forced`);
  process.env.QTOOL_KERNEL = 'avx2';
  process.env.ONEDNN_MAX_CPU_ISA = 'AVX2';
  if (!process.env.QTOOL_MASKED) {
    const run = spawnSync('gdb', ['-q', '-batch', '-x', `${root}/tests/bench/mask_avx512.py`, '--args',
      process.execPath, ...process.argv.slice(1)], { encoding: 'utf8', maxBuffer: 1 << 28,
      env: { ...process.env, QTOOL_MASKED: '1' }, stdio: ['ignore', 'pipe', 'inherit'] });
    if (run.error) throw run.error;
    const lines = run.stdout.split('\n').filter((line) => line.startsWith('|'));
    console.log(lines.join('\n'));
    process.exit(lines.length > 2 ? 0 : 1);
  }
}
fs.mkdirSync(options.work, { recursive: true });

const imagenet = ['--mean', '123.675,116.28,103.53', '--std', '58.395,57.12,57.375'];
const networks = [
  ...['signs_mobilenet', 'signs_resnet'].map((name) => ({
    name, model: `${root}/data/${name}.onnx`, calib: `${root}/data/calib`, eval: `${root}/data/test`,
    labels: `${root}/data/labels.txt`, flags: ['--preprocess', `${root}/data/preprocess.json`],
    dims: [1, 3, 64, 64],
  })),
  ...(options.data ? [
    { name: 'squeezenet1.1', images: 'photos', labels: 'imagenet_synsets', dims: [1, 3, 224, 224],
      flags: ['--resize', '224x224', ...imagenet] },
    { name: 'mobilenet_v2_1.0_224', images: 'photos', labels: 'imagenet_synsets',
      dims: [1, 3, 224, 224], flags: ['--resize', '224x224', '--mean', '127.5', '--std', '127.5'] },
    { name: 'cifar10_resnet20', images: 'cifar10', labels: 'cifar10_classes', dims: [1, 3, 32, 32],
      flags: imagenet },
  ].map((n) => ({
    ...n, model: `${options.data}/models/${n.name}.onnx`,
    calib: `${options.data}/images/${n.images}/calib`, eval: `${options.data}/images/${n.images}/eval`,
    labels: `${options.data}/labels/${n.labels}.txt`,
  })) : []),
];
// These networks have no labels. They are calibrated on the same few images that they are measured
// on.
const detectors = options.data ? [
  { name: 'ultraface_rfb_320', images: 'faces', dims: [1, 3, 240, 320],
    flags: ['--resize', '320x240', '--mean', '127', '--std', '128'] },
  { name: 'fastestdet_coco_352', images: 'street', dims: [1, 3, 352, 352],
    flags: ['--resize', '352x352', '--mean', '0', '--std', '255', '--channels', 'bgr'] },
].map((n) => ({
  ...n, model: `${options.data}/models/${n.name}.onnx`,
  calib: `${options.data}/images/${n.images}`, eval: `${options.data}/images/${n.images}`,
  // The images above are too few to tell methods apart, so the SQNR is also measured on these.
  more: `${options.data}/images/photos/eval`,
})) : [];

// Networks of which only the speed is measured. make_resnets.py puts the resnets into the --work
// folder.
const timed_only = options.data ? [
  { name: 'yolox_nano_416', model: `${options.data}/models/wild/yolox_nano_416.onnx`,
    dims: [1, 3, 416, 416], flags: ['--preprocess', 'yolox'] },
  ...['resnet18', 'resnet50'].map((name) => ({ name, model: `${options.work}/${name}.onnx`,
    dims: [1, 3, 224, 224], flags: ['--resize', '224x224', ...imagenet] })),
].map((n) => ({ ...n, calib: `${options.data}/images/photos/calib` })) : [];

const qtool = (...args) => JSON.parse(execFileSync(options.qtool, [...args, '--json', '--quiet'],
  { encoding: 'utf8', maxBuffer: 1 << 28 }));
const int8Of = (n, method) => `${options.work}/${n.name}.${method}.int8.onnx`;
// Returns the names that the help of `calibrate` lists for `option`.
const listed = (option) => {
  const help = execFileSync(options.qtool, ['calibrate', '--help-all'], { encoding: 'utf8' });
  const [own] = help.slice(help.indexOf(`\n      ${option} `) + 1).split(/\n {2,6}(?=-)/);
  const found = own.replace(/\s+/g, ' ').match(/One of ([^.]*)\./);
  if (!found) throw new Error(`calibrate --help-all lists no names for ${option}`);
  return found[1].split(/, | or /);
};
const methods = () => listed('--method');
const row = (...cells) => console.log(`| ${cells.join(' | ')} |`);
const head = (...cells) => { row(...cells); row(...cells.map(() => '---')); };
const asked = (list) => list.filter((n) => !options.network || n.name === options.network);
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const decibels = (e) => e.outputs.map((o) => o.sqnr_db.toFixed(2)).join(', ');
const share = (part, whole) => (100 * part / whole).toFixed(2);

function accuracy() {
  head('network', 'method', 'FP32 top-1 %', 'INT8 top-1 %', 'change', 'agreement %', 'SQNR dB',
    'SQNR dB, photographs', 'MACs on integers %', 'size % of FP32');
  for (const n of asked([...networks, ...detectors])) {
    const all = `${options.work}/${n.name}.json`;
    qtool('calibrate', n.model, '--images', n.calib, ...n.flags, '--save-statistics', '-o', all);
    for (const method of methods()) {
      const table = `${options.work}/${n.name}.${method}.json`;
      qtool('calibrate', n.model, '--from', all, '--method', method, '-o', table);
      const q = qtool('quantize', n.model, '--table', table, '-o', int8Of(n, method));
      const evaluate = (images, ...flags) => qtool('eval', n.model, '--int8', int8Of(n, method),
        '--images', images, ...flags);
      const e = evaluate(n.eval, ...(n.labels ? ['--labels', n.labels] : []));
      const fp32 = 100 * e.fp32.top1;
      const int8 = 100 * e.int8.top1;
      const top1 = n.labels ? [fp32.toFixed(2), int8.toFixed(2), (int8 - fp32).toFixed(2),
        (100 * e.agreement).toFixed(2)] : ['', '', '', ''];
      row(n.name, method, ...top1, decibels(e), n.more ? decibels(evaluate(n.more)) : '',
        share(q.coverage.integer_macs, q.coverage.macs), share(q.int8_bytes, q.fp32_bytes));
    }
  }
}

function correction() {
  head('network', 'weights', 'bias correction', 'FP32 top-1 %', 'INT8 top-1 %', 'agreement %',
    'SQNR dB', 'cosine');
  for (const n of asked([...networks, ...detectors])) {
    const table = `${options.work}/${n.name}.correction.json`;
    const int8 = int8Of(n, 'correction');
    qtool('calibrate', n.model, '--images', n.calib, '--method', 'kl', ...n.flags, '-o', table);
    const measure = (weights, how, ...flags) => {
      qtool('quantize', n.model, '--table', table, '-o', int8, '--bias-correction', how,
        ...(how === 'sequential' ? ['--images', n.calib] : []), ...flags);
      const e = qtool('eval', n.model, '--int8', int8, '--images', n.eval,
        ...(n.labels ? ['--labels', n.labels] : []));
      const classes = n.labels
        ? [e.fp32.top1, e.int8.top1, e.agreement].map((part) => (100 * part).toFixed(2))
        : ['', '', ''];
      row(n.name, weights, how, ...classes, decibels(e),
        e.outputs.map((o) => o.cosine.toFixed(5)).join(', '));
    };
    for (const how of ['off', 'table', 'sequential']) measure('8 bits, absmax', how);
    for (const method of listed('--weight-method')) {
      measure(`4 bits, ${method}`, 'table', '--weight-bits', '4', '--weight-method', method);
    }
  }
}

const runtime = () => createRequire(path.resolve(options.packages, 'package.json'))('onnxruntime-node');
const session = (file, threads, extra = {}) => runtime().InferenceSession.create(file,
  { intraOpNumThreads: threads, interOpNumThreads: 1, graphOptimizationLevel: 'all', logSeverityLevel: 3, extra });

async function times_of(run, repeat) {
  const times = [];
  await run();
  for (let i = 0; i < repeat; ++i) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  return times;
}

const latency = async (run, repeat) => median(await times_of(run, repeat));
const noise = (dims) => Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) },
  (_, i) => ((i * 2654435761) % 4096) / 1024 - 2);

// Without VNNI, sums of two products saturate in ONNX Runtime unless this option is 1. It cannot run
// every model then.
const exact = { session: { x64quantprecision: '1' } };

async function runs(s, feeds) {
  try {
    await s.run(feeds);
    return true;
  } catch {
    return false;
  }
}

async function speed() {
  const ort = runtime();
  head('network', 'threads', 'FP32 ms', 'INT8 ms', 'ONNX Runtime FP32 ms', 'ONNX Runtime INT8 ms',
    'its exact INT8 ms', 'INT8 / FP32', 'FP32 / ORT FP32', 'INT8 / ORT INT8', 'INT8 / exact');
  for (const n of asked([...networks, ...detectors, ...timed_only])) {
    if (!fs.existsSync(n.model)) continue;
    // Where sums may saturate, ONNX Runtime needs limited pairs of weights for right answers.
    const pairs = options.isa === 'avx2' ? ['--weight-pairs', 'limited'] : [];
    const made = pairs.length === 0 ? 'kl' : 'limited';
    const int8 = int8Of(n, made);
    if (!fs.existsSync(int8)) {
      const table = `${options.work}/${n.name}.${made}.json`;
      qtool('calibrate', n.model, '--images', n.calib, '--limit', '100', ...n.flags, ...pairs,
        '-o', table);
      qtool('quantize', n.model, '--table', table, '-o', int8);
    }
    for (const threads of options.threads.split(',').map(Number)) {
      const sessions = [await session(n.model, threads), await session(int8, threads),
        await session(int8, threads, exact)];
      const feeds = { [sessions[0].inputNames[0]]: new ort.Tensor('float32', noise(n.dims), n.dims) };
      if (!await runs(sessions[2], feeds)) sessions.pop();
      const times = [[], [], [], [], []];
      for (let round = 0; round < Number(options.rounds); ++round) {
        // One model after the other, as in ONNX Runtime: taking turns would empty the caches.
        for (const [i, file] of [n.model, int8].entries()) {
          const ours = qtool('bench', file, '--threads', String(threads), '--repeat', '30');
          times[i].push(1e3 * ours.fp32.median_seconds);
        }
        for (const [i, s] of sessions.entries()) {
          times[2 + i].push(await latency(() => s.run(feeds), 30));
        }
      }
      const text = (list) => (list.length > 0 ? median(list).toFixed(2) : '');
      const ratio = (a, b) => text(times[b].map((t, i) => times[a][i] / t));
      row(n.name, threads, ...times.map(text), ratio(1, 0), ratio(0, 2), ratio(1, 3), ratio(1, 4));
    }
  }
}

// Values for the extents that models leave open, in the order of the input's axes. All other open
// extents become 1.
const open_extents = { ppocr_v2_det_ch: [1, 480, 480], ppocr_v2_rec_en: [1, 320] };

async function float() {
  const ort = runtime();
  const folders = [`${options.data}/models`, `${options.data}/models/wild`];
  const files = folders.flatMap((folder) => fs.readdirSync(folder).filter((f) => f.endsWith('.onnx'))
    .sort().map((f) => ({ name: path.basename(f, '.onnx'), model: `${folder}/${f}` })));
  head('network', 'threads', 'ms', 'ONNX Runtime ms', 'ratio', 'ratio of the fastest');
  const threads = Number(options.threads);
  for (const n of asked(files)) {
    const s = await session(n.model, threads);
    const feeds = {};
    const shapes = [];
    for (const { name, shape } of s.inputMetadata) {
      let open = 0;
      const dims = shape.map((d) => (typeof d === 'number' && d > 0 ? d
        : open_extents[n.name]?.[open++] ?? 1));
      feeds[name] = new ort.Tensor('float32', noise(dims), dims);
      shapes.push('--shape', `${name}=${dims.join('x')}`);
    }
    const ours = [];
    const theirs = [];
    for (let round = 0; round < Number(options.rounds); ++round) {
      const bench = qtool('bench', n.model, ...shapes, '--threads', options.threads, '--repeat', '20');
      ours.push({ middle: 1e3 * bench.fp32.median_seconds, least: 1e3 * bench.fp32.fastest_seconds });
      const runs = await times_of(() => s.run(feeds), 20);
      theirs.push({ middle: median(runs), least: Math.min(...runs) });
    }
    const middle = (list) => median(list.map((r) => r.middle));
    const least = (list) => Math.min(...list.map((r) => r.least));
    row(n.name, threads, middle(ours).toFixed(2), middle(theirs).toFixed(2),
      median(ours.map((r, i) => r.middle / theirs[i].middle)).toFixed(2),
      (least(ours) / least(theirs)).toFixed(2));
  }
}

// Returns, for each operator of the INT8 models, the seconds of its steps and those that it would
// take at the measured peak: of products for a step that multiplies, else of copying.
function steps_with(kernel) {
  const sums = new Map();
  for (const n of asked([...networks, ...detectors, ...timed_only])) {
    const model = int8Of(n, 'kl');
    if (!fs.existsSync(model)) {
      console.error(`${model} is missing; 'speed' makes it`);
      continue;
    }
    const run = spawnSync(options.qtool, ['bench', model, '--threads', '1', '--json', '--quiet'],
      { encoding: 'utf8', maxBuffer: 1 << 28, env: { ...process.env, QTOOL_KERNEL: kernel } });
    if (run.status !== 0) {
      console.error(run.stderr.trim());  // such as: this processor lacks the instruction set
      return null;
    }
    for (const step of JSON.parse(run.stdout).fp32.steps.filter((st) => st.integer)) {
      // A filter of 3x3 for each channel has few products for each byte.
      const kind = step.operator === 'Conv' && step.macs < 6 * step.bytes ? ' by channel' : '';
      const sum = sums.get(step.operator + kind) ?? { seconds: 0, atPeak: 0 };
      sum.seconds += step.seconds;
      sum.atPeak += step.seconds * step.peak_share;
      sums.set(step.operator + kind, sum);
    }
  }
  return sums;
}

function kernels() {
  const found = new Map(['avx2', 'avxvnni', 'avx512vnni', 'avx512vbmi']
    .map((kernel) => [kernel, steps_with(kernel)]).filter(([, sums]) => sums));
  head('operator', ...[...found.keys()].map((kernel) => `${kernel} us`), ...[...found.keys()].map((kernel) => `${kernel} % of peak`));
  const all = [...found.values()];
  const slowestFirst = [...all[0]].sort(([, a], [, b]) => b.seconds - a.seconds);
  for (const [operator] of slowestFirst) {
    row(operator, ...all.map((sums) => (1e6 * sums.get(operator).seconds).toFixed(0)),
      ...all.map((sums) => (100 * sums.get(operator).atPeak / sums.get(operator).seconds).toFixed(0)));
  }
}

// Runs a command of qtool and returns its wall and CPU seconds and its peak resident megabytes.
function measured(...args) {
  const run = spawnSync('/usr/bin/time', ['-f', '%e %U %S %M', options.qtool, ...args, '--quiet'],
    { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (run.status !== 0) throw new Error(run.stderr);
  const [wall, user, system, kilobytes] = run.stderr.trim().split('\n').at(-1).split(' ').map(Number);
  return { wall, cpu: user + system, peak: kilobytes / 1024 };
}

// The networks whose calibration on photographs is timed.
function calibrated_on_photos() {
  const photos = networks.filter((n) => n.images === 'photos');
  const resnets = ['resnet18', 'resnet50'].map((name) => ({ ...photos[0], name,
    model: `${options.work}/${name}.onnx` })).filter((n) => fs.existsSync(n.model));
  return asked([...photos, ...resnets]);
}

function pairs() {
  head('network', 'threads', 'calibrate s', 'with --weight-pairs free s', 'ratio');
  for (const n of calibrated_on_photos()) {
    const seconds = [[], []];
    for (let round = 0; round < Number(options.rounds); ++round) {
      for (const [i, flags] of [[], ['--weight-pairs', 'free']].entries()) {
        seconds[i].push(measured('calibrate', n.model, '--images', n.calib, '--limit', '100',
          '--threads', options.threads, ...n.flags, ...flags, '-o',
          `${options.work}/${n.name}.pairs.json`).wall);
      }
    }
    row(n.name, options.threads, ...seconds.map((s) => median(s).toFixed(2)),
      median(seconds[0].map((s, i) => s / seconds[1][i])).toFixed(2));
  }
}

function collection() {
  head('network', 'threads', 'calibrate s', 'FP32 s', 'ratio', 'calibrate CPU s', 'FP32 CPU s',
    'CPU ratio', 'peak MB', 'peak MB, 20 photographs');
  for (const n of calibrated_on_photos()) {
    for (const threads of [1, 2]) {
      const images = (limit) => ['--images', n.calib, '--limit', String(limit), '--threads',
        String(threads), ...n.flags];
      const calibrate = (limit) => measured('calibrate', n.model, ...images(limit),
        '--weight-pairs', 'free', '-o', `${options.work}/${n.name}.collection.json`);
      const [ours, bare] = [[], []];
      for (let round = 0; round < Number(options.rounds); ++round) {
        ours.push(calibrate(100));
        bare.push(measured('eval', n.model, ...images(100), '--labels', n.labels));
      }
      const middle = (runs, key) => median(runs.map((run) => run[key])).toFixed(2);
      const ratio = (key) => median(ours.map((run, i) => run[key] / bare[i][key])).toFixed(2);
      row(n.name, threads, middle(ours, 'wall'), middle(bare, 'wall'), ratio('wall'),
        middle(ours, 'cpu'), middle(bare, 'cpu'), ratio('cpu'),
        Math.max(...ours.map((run) => run.peak)).toFixed(1), calibrate(20).peak.toFixed(1));
    }
  }
}

await modes[mode]();
