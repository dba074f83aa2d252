'use strict';
// The sections of the page that stand alone: they read the figures, and nothing else uses them.
// Names are untrusted: they are only used as the text of an element or the value of an attribute.
const sections = (() => {
  const at = (id) => document.getElementById(id);
  const {make, name, fixed, percent, decibels, many, signed} = draw;

  // ---- The samples that set the ranges
  function draw_set(set) {
    at('set').hidden = !set;
    if (!set) return;
    const twins = set.samples - set.different;
    at('set-verdict').textContent = (set.full_of_copies
      ? `Too many copies: only ${set.different} of ${many(set.samples, set.noun)} are different, so that nothing can ` +
        'be said; remove the copies.'
      : set.enough ? `${many(set.samples, set.noun)} are enough.`
        : `${many(set.samples, set.noun)} are not enough; add more of the kind.`) +
      ` Between two halves of them ${set.moved} of ${set.tensors_checked} scales differ by more than 5 %; all together ` +
      `are expected to lose ${fixed(set.expected_loss_db.median, 2)} dB in the median tensor and ` +
      `${fixed(set.expected_loss_db.of_95_percent, 2)} dB in 95 % of them` +
      (twins > 0 && !set.full_of_copies ? `. ${many(twins, set.noun)} are nearly the same as earlier ones.` : '.');
    const last = (path) => path.split('/').slice(-2).join('/');
    const add = (title, all, headings, rows) => {
      if (rows.length > 0) at('set-tables').append(make('div', {class: 'scroll'}, draw.table(
        all > rows.length ? `${title} (${rows.length} of ${all})` : title, headings, rows)));
    };
    const moved = set.tensors.filter(({scale_moved}) => scale_moved > 0.05);
    add('Ranges that depend on chance', set.moved, ['tensor', 'scale moved', 'costs dB'],
      moved.map((one) => [one.tensor, percent(one.scale_moved), fixed(one.loss_db, 2)]));
    add(`Single ${set.noun}s that make ranges wider`, set.all_widen_alone, [set.noun, 'tensors', 'most', 'in'],
      set.widen_alone.map((one) => [last(one.file), String(one.tensors), `${fixed(one.widening, 2)}x`, one.widest]));
    add('Near-duplicates', set.all_near_duplicates, [set.noun, 'of', 'distance'],
      set.near_duplicates.map((one) => [last(one.a), last(one.b), fixed(one.distance, 3)]));
  }

  // ---- Images
  function draw_images(page) {
    at('images').hidden = page.worst.length === 0;
    const flips = page.evaluation.flips;
    at('images-about').textContent = (flips > 0 ? `${many(flips, page.noun)} of ${page.evaluation.images} ` +
      'are answered with another class; those whose margin fell most come first, then ' : '') +
      (page.worst.some(({differing}) => differing > 0) ? `The ${page.noun}s with the most boxes that one model ` +
        'alone has, among those with the lowest SQNR.' : `${flips > 0 ? 't' : 'T'}he ${page.noun}s with the lowest SQNR.`);
    const drawn = page.worst.some((image) => image.drawn);
    at('images-list').classList.toggle('drawn', drawn);
    at('images-about').textContent += drawn ? ' Left FP32, right INT8: what both models have is green, ' +
      'what one alone has orange.' : '';
    for (const image of page.worst) {
      const facts = [['FP32', image.fp32], ['INT8', image.int8], ['label', image.label]];
      const figure = make('figure', {class: image.flipped ? 'flipped' : ''});
      if (image.jpeg) {
        figure.append(make('img', {src: `data:image/jpeg;base64,${image.jpeg}`,
          alt: image.drawn ? 'the answers of FP32 and of INT8' : ''}));
      }
      figure.append(make('figcaption', {}, make('strong', {}, decibels(image.sqnr_db)),
        image.flipped ? make('span', {class: 'badge'}, 'other class') : '',
        make('dl', {class: 'pairs'}, ...facts.filter(([, answer]) => answer !== '').flatMap(([who, answer]) =>
          [make('dt', {}, who), make('dd', {class: 'name'}, answer)])),
        make('span', {class: 'soft name'}, image.path.split('/').slice(-2).join('/'))));
      at('images-list').append(figure);
    }
  }

  // ---- Provenance
  function draw_provenance(page) {
    const rows_of = [...page.provenance];
    if (page.analysis.preprocess) rows_of.push(['preprocessing', JSON.stringify(page.analysis.preprocess.used)],
      ['preprocessing from', page.analysis.preprocess.source]);
    if (page.unused_files > 0) rows_of.push(['images left out', String(page.unused_files)]);
    for (const [what, value] of rows_of) {
      at('provenance').append(make('dt', {}, what), make('dd', {}, name(value)));
      if (what === 'model') at('model').textContent = value.split('/').pop();
    }
  }

  // ---- What changed since an earlier report
  function draw_change(page) {
    const change = page.analysis.baseline;
    at('change').hidden = !change;
    if (!change) return;
    const {before, after} = change.pooled_sqnr_db;
    const both = before !== null && after !== null;
    const better = both && after - before > 0;
    at('change-figures').append(`${decibels(before)} on ${many(change.images, page.noun)} before, `,
      make('strong', {}, `${decibels(after)} now`), both ? `: ${signed(after - before, 2)} dB, ` +
      `${better ? 'better' : after === before ? 'the same' : 'worse'}. ` : '. ',
      change.sources.length === 0 ? 'No source changed by 1 % of the noise.' : 'The shares of the noise that changed:');
    for (const doubt of change.doubts) at('change-figures').append(' ', make('strong', {}, `${doubt}.`));
    if (change.sources.length === 0) return;
    const rows = change.sources.slice(0, 20);
    const share = (value, absent) => value === null ? absent : percent(value);
    at('change-sources').append(draw.table(change.sources.length > rows.length
      ? `The ${rows.length} largest of ${change.sources.length} changes` : 'Sources that changed',
      ['source', 'kind', 'before', 'now'],
      rows.map((one) => [one.name, one.kind, share(one.before, 'new'), share(one.after, 'gone')])));
  }

  return {change: draw_change, set: draw_set, images: draw_images, provenance: draw_provenance};
})();
