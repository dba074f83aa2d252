'use strict';
// The functions that draw the page: elements, readable numbers, and small charts. Names are
// untrusted: they are only used as the text of an element or the value of an attribute.
const draw = (() => {
  // An element with attributes and children, which are elements or text.
  function make(tag, attributes = {}, ...children) {
    const svg = ['svg', 'rect', 'line', 'path'].includes(tag);
    const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag)
                        : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }
  const name = (text) => make('span', {class: 'name'}, text);
  const fixed = (value, digits) =>
    value === null || value === undefined ? '\u2013' : value.toFixed(digits);
  const percent = (share, digits = 1) =>
    share === null || share === undefined ? '\u2013' : `${(100 * share).toFixed(digits)}\u00a0%`;
  const short = (value) => value === null ? '\u2013' : String(Number(value.toPrecision(4)));
  const decibels = (value) => value === null ? 'no error' : `${value.toFixed(2)} dB`;
  const milliseconds = (seconds) =>
    seconds === null || seconds === undefined ? '\u2013' : `${(1e3 * seconds).toPrecision(3)} ms`;
  const many = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;
  const signed = (value, digits) => (value < 0 ? '' : '+') + value.toFixed(digits);
  function size(bytes) {
    const units = ['bytes', 'kB', 'MB', 'GB'];
    let unit = 0;
    for (; bytes >= 1000 && unit < 3; ++unit) bytes /= 1000;
    return `${unit === 0 ? bytes : bytes.toPrecision(3)} ${units[unit]}`;
  }
  // The interval of a share, which the report has computed.
  const interval = (pair) => pair ? `95 % confidence: ${percent(pair[0])} to ${percent(pair[1])}` : '';

  // ---- Charts. Coordinates run from 0 at the left to 1000 at the right; 0 is at the top.
  const chart = (label, height, ...parts) => make('svg', {viewBox: `0 0 1000 ${height}`,
    preserveAspectRatio: 'none', role: 'img', 'aria-label': label}, ...parts);
  const axis = (low, high) => make('div', {class: 'axis'}, make('span', {}, short(low)),
    make('span', {}, short(high)));

  // The values of a tensor, with the range that its integers stand for and each of their levels.
  function histogram(source, {lower, step, counts}) {
    const [low, high] = source.range;
    const left = Math.min(low, lower);
    const right = Math.max(high, lower + step * counts.length);
    const place = (value) => 1000 * (value - left) / (right - left);
    const most = Math.log1p(Math.max(...counts));
    const paths = {bar: '', 'bar outside': ''};
    counts.forEach((count, i) => {
      if (count === 0) return;
      const start = lower + i * step;
      const middle = start + step / 2;
      const from = place(start);
      const wide = Math.max(0.8 * (place(start + step) - from), 1.5);
      const top = 100 - Math.max(2, 100 * Math.log1p(count) / most);
      paths[middle < low - step / 2 || middle > high + step / 2 ? 'bar outside' : 'bar'] +=
        `M${from.toFixed(1)} 100V${top.toFixed(1)}h${wide.toFixed(1)}V100z`;
    });
    let levels = '';
    for (let at = low; at <= high + step / 4; at += step) levels += `M${place(at).toFixed(1)} 0v4`;
    return make('figure', {}, make('h4', {}, 'Values and levels'),
      chart(`Histogram of ${source.name}`, 104,
        ...Object.entries(paths).filter(([, d]) => d !== '').map(([kind, d]) => make('path', {class: kind, d})),
        make('path', {class: 'levels', d: levels, transform: 'translate(0 100)'}),
        ...[low, high].map((limit) => make('path', {class: 'limit', d: `M${place(limit).toFixed(1)} 0V104`}))),
      axis(left, right),
      make('figcaption', {}, 'How many values, on a logarithmic scale; a tick for each level. Dashed: the range ' +
        `that the integers stand for, ${short(low)} to ${short(high)}. `,
        source.saturated_share > 0
          ? make('strong', {class: 'warn'}, `${percent(source.saturated_share, 3)} of the values are clipped.`)
          : 'No value is clipped.'));
  }

  // FP32 to the right, INT8 upwards. Points on the diagonal agree.
  function scatter(label, {range, points}) {
    let d = '';
    for (let i = 0; i < points.length; i += 2) d += `M${points[i]} ${1000 - points[i + 1]}h.01`;
    return make('figure', {class: 'scatter'}, make('h4', {}, 'FP32 against INT8'),
      chart(`FP32 against INT8: ${label}`, 1000, make('path', {class: 'diagonal', d: 'M0 1000L1000 0'}),
        make('path', {class: 'points', d})),
      axis(...range),
      make('figcaption', {}, `${many(points.length / 2, 'element')} of the first images: FP32 to the right, ` +
        'the whole INT8 model upwards. On the line they agree.'));
  }

  // Bars from the least to the largest value of each channel, or of `per_bar` channels each.
  function bars_of(ends, wide) {
    let d = '';
    for (let c = 0; 2 * c < ends.length; ++c) {
      const top = 1000 - ends[2 * c + 1];
      const height = Math.max(4, ends[2 * c + 1] - ends[2 * c]);
      d += `M${(c * wide).toFixed(2)} ${top}h${(0.8 * wide).toFixed(2)}v${height}h-${(0.8 * wide).toFixed(2)}z`;
    }
    return d;
  }
  function channel_ranges({range, ends}) {
    const count = ends.length / 2;
    return make('figure', {}, make('h4', {}, 'Range of each channel'),
      chart('Range of each channel', 1000, make('path', {class: 'bar', d: bars_of(ends, 1000 / count)})),
      make('figcaption', {}, `${many(count, 'channel')}, from ${short(range[0])} at the bottom to ` +
        `${short(range[1])} at the top. They differ by more than 8 times and share one scale.`));
  }

  // The weights of a layer: above the range of each output channel, below its share of the error.
  function weight_channels({channels, filter, depthwise, per_bar, range, ends, errors, worst, worst_share}) {
    const wide = 1000 / errors.length;
    const most = Math.max(...errors, 1);
    const d = errors.map((error, c) => error === 0 ? '' :
      `M${(c * wide).toFixed(2)} 1000v-${(1000 * error / most).toFixed(0)}h${(0.8 * wide).toFixed(2)}V1000z`).join('');
    const each = per_bar > 1 ? `, ${per_bar} of them to a bar` : '';
    return [make('figure', {}, make('h4', {}, 'Weights of each channel'),
      chart('Range of the weights of each channel', 1000, make('path', {class: 'bar', d: bars_of(ends, wide)})),
      make('figcaption', {}, `${many(channels, 'output channel')} of ${many(filter, 'weight')}${each}, from ` +
        `${short(range[0])} at the bottom to ${short(range[1])} at the top.` +
        (depthwise ? ' Depthwise: each of them reads one channel only.' : ''))),
      make('figure', {}, make('h4', {}, 'Rounding error of each channel'),
        chart('Share of each channel in the rounding error', 1000, make('path', {class: 'bar outside', d})),
        make('figcaption', {}, `Share in the rounding error of all weights of the layer. Channel ${worst} has most: ` +
          `${percent(worst_share)}.`))];
  }

  // The SQNR of tensors in the order of the network. points: {name, total, own} in decibels.
  const kMostDecibels = 60;  // more is as good as no error
  function curve(all) {
    const points = all.map((one) => ({...one, total: Math.min(one.total, kMostDecibels),
      own: one.own === null ? null : Math.min(one.own, kMostDecibels)}));
    const shown = points.flatMap(({total, own}) => [total, own]).filter((db) => db !== null);
    const low = Math.min(0, ...shown);
    const high = Math.max(10, ...shown);
    const x = (i) => (1000 * (i + 0.5) / points.length).toFixed(1);
    const y = (db) => (300 * (high - db) / (high - low)).toFixed(1);
    const line = points.map(({total}, i) => `${i === 0 ? 'M' : 'L'}${x(i)} ${y(total)}`).join('');
    const dots = points.map(({own}, i) => own === null ? '' : `M${x(i)} ${y(own)}h.01`).join('');
    let grid = '';
    for (let db = Math.ceil(low / 10) * 10; db <= high; db += 10) grid += `M0 ${y(db)}H1000`;
    let fall = null;
    for (let i = 1; i < points.length; ++i) {
      if (points[i - 1].total === kMostDecibels) continue;
      const drop = points[i - 1].total - points[i].total;
      if (fall === null || drop > fall.drop) fall = {drop, from: points[i - 1], to: points[i]};
    }
    return make('figure', {class: 'curve'},
      make('div', {class: 'plot'}, make('div', {class: 'side'}, make('span', {}, `${high.toFixed(0)} dB${high === kMostDecibels ? ' or more' : ''}`),
        make('span', {}, `${low.toFixed(0)} dB`)),
      chart('SQNR of each tensor from the input to the output', 300, make('path', {class: 'diagonal', d: grid}),
        make('path', {class: 'points', d: dots}), make('path', {class: 'line-total', d: line}))),
      make('figcaption', {}, 'From the input (left) to the output. Line: the tensor in the whole INT8 model, with ' +
        'everything before it; dots: the tensor rounded alone; a grid line every 10 dB. ' , fall !== null && fall.drop > 1
        ? make('span', {}, 'It falls most from ', name(fall.from.name), ` (${fall.from.total.toFixed(1)} dB) to `,
          name(fall.to.name), ` (${fall.to.total.toFixed(1)} dB).`) : ''));
  }

  // One row per layer: the shares of its parts as numbers and as a bar.
  function parts(layers, noise) {
    const kinds = [['weights', 'weights_noise'], ['bias', 'bias_noise'], ['activations', 'activations_noise']];
    const most = Math.max(...layers.map((layer) => layer.layer_noise), 1e-30);
    const rows = layers.map((layer) => {
      const bar = make('div', {class: 'stack', 'aria-hidden': 'true'});
      for (const [what, key] of kinds) {
        const part = make('i', {class: `part-${what}`});
        part.style.width = `${100 * layer[key] / most}%`;
        bar.append(part);
      }
      return make('tr', {}, make('th', {scope: 'row', class: 'text'}, name(layer.layer)),
        make('td', {}, percent(layer.layer_noise / noise)),
        ...kinds.map(([, key]) => make('td', {}, percent(layer[key] / noise))),
        make('td', {}, layer.corrected_noise > 0 ? percent(layer.corrected_noise / noise) : ''),
        make('td', {class: 'wide'}, bar));
    });
    return make('table', {class: 'plain'}, make('thead', {}, make('tr', {},
      make('th', {scope: 'col', class: 'text'}, 'layer'), make('th', {scope: 'col'}, 'share'),
      ...kinds.map(([what]) => make('th', {scope: 'col'}, make('i', {class: `key part-${what}`}), what)),
      make('th', {scope: 'col', title: 'what the weights would make more with the bias of FP32'}, 'corrected'),
      make('td', {}))), make('tbody', {}, ...rows));
  }

  // A small table: headings, and rows of text or numbers.
  function table(title, headings, rows) {
    return make('table', {class: 'plain'}, make('caption', {}, title),
      make('thead', {}, make('tr', {}, ...headings.map((heading, i) =>
        make('th', {scope: 'col', class: i === 0 ? 'text' : ''}, heading)))),
      make('tbody', {}, ...rows.map((row) => make('tr', {}, ...row.map((cell, i) =>
        make('td', {class: i === 0 ? 'text name' : 'name'}, cell))))));
  }

  // The gain of each change: one row per source, one column per kind of change.
  function gains(trials) {
    const kinds = [...new Set(trials.map(({what}) => what))];
    const rows = new Map();
    for (const trial of trials) {
      const key = JSON.stringify([trial.source, trial.kind]);
      if (!rows.has(key)) rows.set(key, {source: trial.source, kind: trial.kind, of: new Map()});
      rows.get(key).of.set(trial.what, trial.gain_db);
    }
    const cell = (gain) => make('td', {class: gain >= 0.5 ? 'good' : gain === undefined ? 'soft' : ''},
      gain === undefined ? '\u2013' : signed(gain, 2));
    return make('table', {class: 'plain'}, make('caption', {}, 'What each change of one source alone brings'),
      make('thead', {}, make('tr', {}, make('th', {scope: 'col', class: 'text'}, 'source, dB'),
        ...kinds.map((kind) => make('th', {scope: 'col'}, kind)))),
      make('tbody', {}, ...[...rows.values()].map(({source, kind, of}) => make('tr', {},
        make('th', {scope: 'row', class: 'text'}, name(source), make('span', {class: 'soft'}, ` ${kind}`)),
        ...kinds.map((what) => cell(of.get(what)))))));
  }

  return {make, name, fixed, percent, short, decibels, milliseconds, many, signed, size, interval,
          histogram, scatter, channel_ranges, weight_channels, curve, parts, table, gains};
})();
