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

  function channel_ranges({range, ends}) {
    const count = ends.length / 2;
    const wide = 1000 / count;
    let d = '';
    for (let c = 0; c < count; ++c) {
      const top = 1000 - ends[2 * c + 1];
      const height = Math.max(4, ends[2 * c + 1] - ends[2 * c]);
      d += `M${(c * wide).toFixed(2)} ${top}h${(0.8 * wide).toFixed(2)}v${height}h-${(0.8 * wide).toFixed(2)}z`;
    }
    return make('figure', {}, make('h4', {}, 'Range of each channel'),
      chart('Range of each channel', 1000, make('path', {class: 'bar', d})),
      make('figcaption', {}, `${many(count, 'channel')}, from ${short(range[0])} at the bottom to ` +
        `${short(range[1])} at the top. They differ by more than 8 times and share one scale.`));
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
          histogram, scatter, channel_ranges, gains};
})();
