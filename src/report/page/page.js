'use strict';
// Draws the figures of the block `data`. Names in it are untrusted: they are only used as the text
// of an element, the value of an attribute, or a key of a Map.
(() => {
  const page = JSON.parse(document.getElementById('data').textContent);
  const analysis = page.analysis;
  const sources = analysis.sources;
  const at = (id) => document.getElementById(id);

  const {make, name, fixed, percent, short, decibels, milliseconds, many, size, interval} = draw;

  // ---- Verdict and summary
  function draw_verdict() {
    const verdict = page.verdict || {name: 'undecided', figure: '', why: '', next: '', lines: [],
      heading: `The INT8 model's outputs have ${decibels(analysis.pooled_sqnr_db)} of signal over noise.`};
    at('verdict').className = verdict.name;
    const sentence = (text) => text === '' || text.endsWith('.') ? text : `${text}.`;
    const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);
    at('verdict-heading').textContent = verdict.heading;
    for (const part of ['figure', 'why', 'next']) {
      at(`verdict-${part}`).textContent = sentence(upper(verdict[part]));
      at(`verdict-${part}`).hidden = verdict[part] === '';
    }
    at('verdict-lines').hidden = verdict.lines.length === 0;
    for (const line of verdict.lines) at('verdict-lines').append(make('li', {class: 'copy'}, ...copied(line)));
  }
  // A command line and the button that copies it. An option stays on one line: browsers break lines
  // after hyphens, and the rest of an option looks like a word of its own.
  function copied(line) {
    const button = make('button', {type: 'button', 'aria-label': `Copy ${line}`}, 'Copy');
    button.addEventListener('click', () => copy(line, button));
    const words = line.split(' ').flatMap((word, i) => [i === 0 ? '' : ' ',
      word.startsWith('-') ? make('span', {class: 'option'}, word) : word]);
    return [make('span', {class: 'line name'}, ...words), button];
  }
  function draw_summary() {
    const {evaluation, bytes, macs, latency} = page;
    const card = (title, value, ...more) => at('figures').append(
      make('div', {}, make('dt', {}, title), make('dd', {}, value),
        ...more.filter((text) => text !== '').map((text) => make('dd', {}, text))));
    const images = many(analysis.images, page.noun);
    const agreement = evaluation.agreement;
    const confidence = analysis.pooled_sqnr_db_interval;
    card('Signal over noise (pooled SQNR)', decibels(analysis.pooled_sqnr_db),
      confidence ? `95 % confidence: ${fixed(confidence[0], 2)} to ${fixed(confidence[1], 2)} dB` : '',
      `of the outputs, on ${images}`);
    if (agreement !== null && agreement !== undefined) {
      card('Same class as FP32', percent(agreement),
        interval(evaluation.agreement_interval));
    }
    if (evaluation.int8 && evaluation.int8.top1 !== null) {
      card('Top-1 accuracy of INT8', percent(evaluation.int8.top1),
        `FP32: ${percent(evaluation.fp32.top1)}, ${many(evaluation.labelled, page.noun)} of known class`,
        interval(evaluation.int8.top1_interval));
    }
    for (const {score, iou, fp32, kept, kept_share, kept_interval} of evaluation.boxes ? evaluation.boxes.matches : []) {
      if (score !== evaluation.boxes.matches[0].score) continue;
      card(`FP32's boxes kept, IoU ${iou}`, percent(kept_share), `${kept} of ${fp32} with a score of ${score} or more`,
        interval(kept_interval));
    }
    if (evaluation.mask) {
      const {agreement, agreement_interval, mean_iou, mean_iou_interval} = evaluation.mask;
      card("Pixels with FP32's class", percent(agreement), interval(agreement_interval),
        `mean IoU ${percent(mean_iou)}`, interval(mean_iou_interval));
    }
    card('Weights', size(bytes.int8), `FP32: ${size(bytes.fp32)}`,
      bytes.int8 > 0 ? `${(bytes.fp32 / bytes.int8).toFixed(1)} times smaller` : '');
    card(`Time of ${page.noun === 'image' ? 'an image' : 'a sample'}`, milliseconds(latency.int8_seconds),
      `FP32: ${milliseconds(latency.fp32_seconds)}`,
      `in qtool, median of ${latency.repeat} runs, ${many(latency.threads, 'thread')}`);
    if (macs.all > 0) {
      card('Multiplications on integers', percent(macs.integer / macs.all),
        `of ${(macs.all / 1e6).toPrecision(3)} million`);
    }
    card('Explained by single sources', percent(analysis.explained, 0),
      `remainder ${percent(analysis.remainder.share, 0)}: ${analysis.remainder.share < 0 ? 'errors that cancel'
        : 'errors that add up in step'}`);
    const found = [...analysis.faults, ...page.doubts];
    at('findings').hidden = found.length === 0;
    for (const text of found) at('faults').append(make('li', {class: 'name'}, text));
  }

  // ---- One source
  const by_name = (list, key) => new Map(list.map((one) => [one[key], one]));
  const histograms = by_name(page.histograms, 'tensor');
  const points = by_name(page.scatter.filter((one) => 'tensor' in one), 'tensor');
  const channels = by_name(page.channels, 'tensor');
  const weights = by_name(page.weights, 'layer');

  function draw_source(source) {
    const facts = [['share of the noise', percent(source.share, 2)],
                   ['alone', decibels(source.sqnr_db)]];
    if (source.corrected_noise > 0) {
      facts.push(['bias correction takes away', percent(source.corrected_noise / analysis.noise, 2)]);
    }
    if (source.kind === 'activation') {
      facts.push(['the tensor itself', decibels(source.local_sqnr_db)],
        ['the INT8 model up to it', source.accumulated_sqnr_db === null ? '\u2013' : decibels(source.accumulated_sqnr_db)],
        ['99.9 % of the values', source.central.map(short).join(' to ')],
        ['integers stand for', source.range.map(short).join(' to ')],
        ['values seen', source.seen.map(short).join(' to ')],
        ['saturated', percent(source.saturated_share, 3)],
        ['range used', percent(source.used_share, 0)]);
      if (source.channels > 0) {
        facts.push(['channels', `${source.channels}, ${source.dead_channels} of them dead, ` +
          `${source.constant_channels} constant; the largest, ` +
          `${source.loudest_channel}, reaches ${short(source.loudest_peak)}, the median ` +
          short(source.median_peak)]);
      }
    }
    const panel = make('div', {class: 'panel source'},
      make('h3', {}, name(source.name), ` \u2013 ${source.kind}`),
      make('dl', {class: 'pairs'}, ...facts.flatMap(([what, value]) =>
        [make('dt', {}, what), make('dd', {}, value)])));
    const charts = make('div', {class: 'charts'});
    if (histograms.has(source.name)) charts.append(draw.histogram(source, histograms.get(source.name)));
    if (points.has(source.name)) charts.append(draw.scatter(source.name, points.get(source.name)));
    if (channels.has(source.name)) charts.append(draw.channel_ranges(channels.get(source.name)));
    if (source.kind === 'activation') panel.append(charts);
    if (source.kind === 'weights' && weights.has(source.name)) {
      panel.append(make('div', {class: 'charts'}, ...draw.weight_channels(weights.get(source.name))));
    }
    return panel;
  }

  // ---- The strip
  const heat_from = [0, 0.001, 0.01, 0.05, 0.2];  // least share of the noise for each colour
  const heat = (share) => heat_from.findLastIndex((least) => share >= least);
  const of_node = new Map();
  for (const source of sources) {
    if (!of_node.has(source.node)) of_node.set(source.node, []);
    of_node.get(source.node).push(source);
  }
  const seconds_of = new Map(page.strip.map((node, i) => [node, page.latency.nodes[i]]));
  const cells = [];

  function draw_strip() {
    heat_from.forEach((least, i) => at('legend').append(make('span', {}, make('i', {class: `heat${i}`}),
      i === 0 ? 'below 0.1 %' : `${percent(least, least < 0.01 ? 1 : 0)} and more`)));
    for (const node of page.strip) {
      const here = of_node.get(node) || [];
      const share = here.reduce((sum, source) => sum + (source.share || 0), 0);
      const label = `${node === '' ? 'input' : node}, ${here.length > 0 ? here[0].op_type : ''}, ` +
        percent(share, 2);
      const bar = make('i', {class: `heat${Math.max(0, heat(share))}`});
      // The height is logarithmic: from 0.01 % of the noise at the bottom to 100 % at the top.
      bar.style.height = `${Math.max(0, Math.min(1, 1 + Math.log10(Math.max(share, 1e-9)) / 4)) * 100}%`;
      const cell = make('div', {role: 'option', tabindex: -1, 'aria-selected': false,
        'aria-label': label, title: label}, bar);
      cell.addEventListener('click', () => choose(cell));
      cells.push({cell, node, here});
      at('strip').append(cell);
    }
    if (cells.length > 0) cells[0].cell.tabIndex = 0;
    at('strip').addEventListener('keydown', (event) => {
      const steps = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
      const now = cells.findIndex(({cell}) => cell === document.activeElement);
      if (now < 0) return;
      if (event.key === 'Enter' || event.key === ' ') choose(cells[now].cell);
      else if (event.key in steps) focus_on(now + steps[event.key]);
      else if (event.key === 'Home') focus_on(0);
      else if (event.key === 'End') focus_on(cells.length - 1);
      else return;
      event.preventDefault();
    });
    at('zoom').addEventListener('input', () => {
      at('strip').style.setProperty('--cell', `${0.75 * 2 ** at('zoom').value}rem`);
    });
  }
  function focus_on(index) {
    if (index < 0 || index >= cells.length) return;
    for (const {cell} of cells) cell.tabIndex = -1;
    cells[index].cell.tabIndex = 0;
    cells[index].cell.focus();
  }
  function choose(chosen) {
    for (const {cell, node, here} of cells) {
      cell.setAttribute('aria-selected', cell === chosen);
      cell.tabIndex = cell === chosen ? 0 : -1;
      if (cell !== chosen) continue;
      const seconds = seconds_of.get(node) || [null, null];
      at('layer').replaceChildren(
        make('h3', {}, node === '' ? 'Input of the network' : name(node)),
        make('p', {}, node === '' ? '' :
          `${here.length > 0 ? here[0].op_type : ''}, FP32 ${milliseconds(seconds[0])}, INT8 ` +
          milliseconds(seconds[1])),
        ...here.map(draw_source));
      at('layer').hidden = false;
    }
  }

  // ---- Suggestions
  async function copy(text, button) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // without permission, as in a page opened from a file
      const field = make('textarea', {readonly: ''});
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand('copy');
      field.remove();
      button.focus();
    }
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  }

  function draw_suggestions() {
    const tried = analysis.suggestions;
    if (!tried) {
      at('tried').textContent = 'No changes were tried.';
      return;
    }
    const list = tried.list;
    at('tried').textContent = `${many(tried.tried, 'change')} were made and run on ` +
      `${many(tried.images, page.noun)}; ` + (list.length === 0 ? 'none brings' : 'these bring') +
      ` ${fixed(tried.min_gain_db, 1)} dB or more over the ${fixed(tried.sqnr_db, 2)} dB of the INT8 model` +
      (list.length === 0 ? '.' : ', and as much more than every smaller one. The intervals of the gains do not include ' +
        'that the changes were chosen on these images.');
    if (tried.by_source.length > 0) at('gains').append(draw.gains(tried.by_source));
    for (const change of list) {
      // The same words as in the text of the command, from the same measurement.
      at('suggestions').append(make('li', {},
        make('div', {}, make('strong', {}, change.gain_text)),
        ...(change.answers_text ? [make('div', {}, change.answers_text)] : []),
        make('div', {}, change.cost_text),
        make('div', {class: 'copy'}, change.complete ? '' : `options of qtool ${change.command}: `,
          ...copied(change.line))));
    }
  }

  // ---- The table
  const columns = [
    {title: 'what is rounded', text: true, value: (source) => source.name,
      about: 'an activation tensor, or the layer whose weights or bias they are'},
    {title: 'kind', text: true, value: (source) => source.kind, about: 'activation, weights or bias'},
    {title: 'operator', text: true, value: (source) => source.op_type || 'input',
      about: 'what writes the tensor, or what the weights belong to'},
    {title: 'share', value: (source) => source.share, show: (share) => percent(share),
      about: 'noise that this source alone makes at the outputs, over the noise of the whole INT8 model; of a bias ' +
        'what it adds to that of the weights'},
    {title: 'alone dB', value: (source) => source.sqnr_db, show: (db) => fixed(db, 1),
      about: 'the same as an SQNR: that of a model with nothing else quantized'},
    {title: 'itself dB', value: (source) => source.local_sqnr_db, show: (db) => fixed(db, 1),
      about: 'SQNR of the tensor itself, before any layer reads it'},
    {title: 'up to it dB', value: (source) => source.accumulated_sqnr_db, show: (db) => fixed(db, 1),
      about: 'SQNR of the tensor in the whole INT8 model, with everything before it on integers'},
    {title: 'saturated', value: (source) => source.saturated_share, show: (share) => percent(share, 3),
      about: "share of the tensor's values beyond what its integers stand for"},
    {title: 'range used', value: (source) => source.used_share, show: (share) => percent(share, 0),
      about: 'share of the integers from the lowest to the highest in use; a small one is a range too wide'},
    {title: 'FP32 ms', value: (source) => (seconds_of.get(source.node) || [])[0],
      show: (seconds) => fixed(seconds === undefined || seconds === null ? null : 1e3 * seconds, 3),
      about: "time of the layer's step in FP32; none where it runs as a part of another one's"},
    {title: 'INT8 ms', value: (source) => (seconds_of.get(source.node) || [])[1],
      show: (seconds) => fixed(seconds === undefined || seconds === null ? null : 1e3 * seconds, 3),
      about: 'the same in INT8'},
  ];
  const rows = [];

  function draw_table() {
    const largest = Math.max(...sources.map((source) => source.share || 0), 1e-9);
    columns.forEach((column, i) => {
      const button = make('button', {type: 'button'}, column.title);
      button.addEventListener('click', () => sort_by(i));
      at('sources').tHead.rows[0].append(
        make('th', {scope: 'col', class: column.text ? 'text' : '', 'aria-sort': 'none'}, button));
      at('columns').append(make('dt', {}, column.title), make('dd', {}, column.about));
    });
    for (const source of sources) {
      const opener = make('button', {type: 'button', class: 'name', 'aria-expanded': false}, source.name);
      const row = make('tr', {}, ...columns.map((column, i) => {
        const value = column.value(source);
        const cell = make('td', {class: column.text ? 'text' : ''},
          i === 0 ? opener : column.text ? value : column.show(value));
        if (column.title === 'share') {
          const bar = make('i', {class: 'share', 'aria-hidden': true});
          bar.style.width = `${3 * (value || 0) / largest}rem`;
          cell.prepend(bar);
        }
        return cell;
      }));
      const words = [source.name, source.node, source.kind, source.op_type || 'input'];
      const entry = {row, more: null, source, text: words.join('\n').toLowerCase()};
      opener.addEventListener('click', () => toggle(entry, opener));
      rows.push(entry);
    }
    sort_by(columns.findIndex((column) => column.title === 'share'));
    at('remainder').textContent = `All sources, each alone: ${percent(analysis.explained)} of the noise; ` +
      `remainder: ${percent(analysis.remainder.share)}.`;
  }
  function toggle(entry, opener) {
    if (entry.more) {
      entry.more.remove();
      entry.more = null;
    } else {
      entry.more = make('tr', {class: 'more'},
        make('td', {colspan: columns.length}, draw_source(entry.source)));
      entry.row.after(entry.more);
    }
    opener.setAttribute('aria-expanded', entry.more !== null);
  }
  function sort_by(index) {
    const column = columns[index];
    const headings = at('sources').tHead.rows[0].cells;
    const now = headings[index].getAttribute('aria-sort');
    const first = column.text ? 'ascending' : 'descending';
    const order = now === 'none' ? first : now === 'ascending' ? 'descending' : 'ascending';
    for (const heading of headings) heading.setAttribute('aria-sort', 'none');
    headings[index].setAttribute('aria-sort', order);
    const sign = order === 'ascending' ? 1 : -1;
    const absent = (value) => value === null || value === undefined;
    rows.sort((a, b) => {  // rows without a value come last
      const x = column.value(a.source);
      const y = column.value(b.source);
      if (absent(x) || absent(y)) return Number(absent(x)) - Number(absent(y));
      return x < y ? -sign : x > y ? sign : 0;
    });
    at('sources').tBodies[0].append(...rows.flatMap(({row, more}) => more ? [row, more] : [row]));
  }

  function search() {
    const wanted = at('search').value.trim().toLowerCase();
    let shown = 0;
    for (const {row, more, text} of rows) {
      row.hidden = !text.includes(wanted);
      if (more) more.hidden = row.hidden;
      shown += row.hidden ? 0 : 1;
    }
    for (const {cell, node, here} of cells) {
      const text = [node === '' ? 'input' : node, ...here.flatMap((s) => [s.name, s.kind, s.op_type])];
      cell.classList.toggle('missed', !text.join('\n').toLowerCase().includes(wanted));
    }
    at('count').textContent = `${shown} of ${many(sources.length, 'source')} shown.` +
      (page.sources_left_out > 0 ? ` ${page.sources_left_out} more with less noise did not fit into the page.` : '') +
      (page.drawings_left_out ? ' Only the worst of them have charts: the others did not fit.' : '');
  }

  // ---- The error along the network, and its parts
  const kLayers = 20;
  function draw_curve() {
    const points = [];
    for (const node of page.strip) {
      for (const source of of_node.get(node) || []) {
        if (source.kind !== 'activation' || source.accumulated_sqnr_db === null) continue;
        points.push({name: source.name, total: source.accumulated_sqnr_db, own: source.local_sqnr_db});
      }
    }
    at('curve').hidden = points.length < 2;
    if (points.length >= 2) at('curve-chart').append(draw.curve(points));
  }
  function draw_parts() {
    const layers = analysis.layers.slice(0, kLayers);
    at('parts').hidden = layers.length === 0 || !(analysis.noise > 0);
    if (at('parts').hidden) return;
    at('parts-table').append(draw.parts(layers, analysis.noise));
    at('parts-count').textContent = analysis.layers.length > kLayers
      ? `The ${kLayers} worst of ${analysis.layers.length} layers.` : '';
  }

  // ---- Outputs
  function draw_outputs() {
    const outputs = page.scatter.filter((one) => 'output' in one);
    at('outputs').hidden = outputs.length === 0;
    for (const one of outputs.slice(0, 12)) {
      const known = analysis.outputs.find(({output}) => output === one.output);
      at('outputs-list').append(make('div', {class: 'panel'},
        make('h3', {}, name(one.output), known ? ` \u2013 ${decibels(known.pooled_sqnr_db)}` : ''),
        draw.scatter(one.output, one)));
    }
  }
  draw_verdict();
  sections.change(page);
  draw_summary();
  draw_strip();
  draw_curve();
  draw_parts();
  sections.images(page);
  draw_outputs();
  draw_suggestions();
  sections.set(page.set);
  draw_table();
  sections.provenance(page);
  at('search').addEventListener('input', search);
  // On paper nothing can be opened.
  addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll('details')) details.open = true;
  });
  search();
})();
