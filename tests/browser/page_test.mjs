// Opens pages in Chromium without a window and uses them. Checks that nothing is written to the
// console, nothing is fetched and nothing is wider than the screen, and that search, sorting, keys
// and copying work.
// Usage: node page_test.mjs CHROMIUM PAGE HOSTILE_PAGE
// Pictures are kept in the folder QTOOL_PAGE_PICTURES, if that is set.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {basename, join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const [chromium, plain, hostile] = process.argv.slice(2);
const widths = [400, 1280, 2560];
const profile = mkdtempSync(join(tmpdir(), 'qtool-page-'));
let failures = 0;
function check(what, holds, found = '') {
  if (holds) return;
  console.log(`failed: ${what}${found === '' ? '' : `, found ${JSON.stringify(found)}`}`);
  ++failures;
}

// Chromium reads commands from descriptor 3 and answers on descriptor 4. Each message is JSON,
// followed by a zero byte. On a slow machine its watchdogs would end processes that are only slow, and
// what it fetches for itself is not needed.
const browser = spawn(chromium, ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run',
  '--disable-hang-monitor', '--disable-gpu-watchdog', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-breakpad', '--disable-dev-shm-usage',
  `--user-data-dir=${profile}`, '--remote-debugging-pipe', 'about:blank'],
  {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], detached: true});
const ended = new Promise((done) => browser.once('exit', done));
const waiting = new Map();
let listen = () => {};
let received = Buffer.alloc(0);
browser.stdio[4].on('data', (bytes) => {
  received = Buffer.concat([received, bytes]);
  for (let end = received.indexOf(0); end >= 0; end = received.indexOf(0)) {
    const message = JSON.parse(received.subarray(0, end));
    received = received.subarray(end + 1);
    if (!message.id) listen(message);
    else waiting.get(message.id)(message);
  }
});
let last = 0;
function send(method, params = {}, sessionId = undefined) {
  const id = ++last;
  browser.stdio[3].write(`${JSON.stringify({id, method, params, sessionId})}\0`);
  return new Promise((done, failed) => waiting.set(id, ({result, error}) =>
    error ? failed(new Error(`${method}: ${error.message}`)) : done(result)));
}

// Code that runs in the page before each question about the rows or the cells.
const kRows = 'const rows = [...document.querySelectorAll("#sources tbody tr")];';
const kCells = 'const cells = [...document.querySelectorAll("#strip [role=option]")];';

async function look_at(page, width, scheme, use) {
  const {targetId} = await send('Target.createTarget', {url: 'about:blank'});
  const {sessionId} = await send('Target.attachToTarget', {targetId, flatten: true});
  const ask = (method, params) => send(method, params, sessionId);
  const where = `${basename(page)}, ${width} pixels, ${scheme}: `;
  // about:blank, which comes first, also tells that it is loaded, perhaps late. So the document that was
  // asked for is known by its loader.
  const loaded = new Set();
  let tell = () => {};
  listen = ({method, params}) => {
    if (method === 'Page.lifecycleEvent' && params.name === 'load') {
      loaded.add(params.loaderId);
      tell();
    }
    if (method === 'Runtime.exceptionThrown') check(`${where}no exception`, false, params.exceptionDetails);
    if (method === 'Runtime.consoleAPICalled') check(`${where}nothing on the console`, false, params.args);
    if (method === 'Log.entryAdded') check(`${where}nothing in the log`, false, params.entry);
    if (method === 'Page.javascriptDialogOpening') check(`${where}no dialog`, false, params.message);
    if (method === 'Network.requestWillBeSent' && !/^(file|data):/.test(params.request.url)) {
      check(`${where}nothing is fetched`, false, params.request.url);
    }
  };
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await ask(`${domain}.enable`);
  await ask('Page.setLifecycleEventsEnabled', {enabled: true});
  await ask('Emulation.setDeviceMetricsOverride',
    {width, height: 900, deviceScaleFactor: 1, mobile: width < 600});
  await ask('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: scheme}]});
  const {loaderId} = await ask('Page.navigate', {url: pathToFileURL(resolve(page)).href});
  while (!loaded.has(loaderId)) await new Promise((done) => { tell = done; });
  const run = async (code) => {
    const {result, exceptionDetails} = await ask('Runtime.evaluate',
      {expression: `(() => { ${code} })()`, returnByValue: true});
    check(`${where}${code}`, !exceptionDetails, exceptionDetails);
    return result.value;
  };
  const key = async (name) => {
    for (const type of ['keyDown', 'keyUp']) await ask('Input.dispatchKeyEvent', {type, key: name});
  };
  check(`${where}fits into the width`,
    await run(`return document.documentElement.scrollWidth <= ${width};`));
  await use({where, width, run, key});
  await ask('Emulation.setEmulatedMedia', {media: 'print'});
  check(`${where}on paper, heads of tables have no box that keeps them from being repeated`, await run(
    'return getComputedStyle(document.querySelector("#sources th button")).display === "contents";'));
  await run('dispatchEvent(new Event("beforeprint")); return 0;');
  check(`${where}on paper everything is open`,
    await run('return [...document.querySelectorAll("details")].every((details) => details.open);'));
  await ask('Emulation.setEmulatedMedia',
    {media: '', features: [{name: 'prefers-color-scheme', value: scheme}]});
  const {data} = await ask('Page.captureScreenshot', {captureBeyondViewport: true});
  const picture = Buffer.from(data, 'base64');
  check(`${where}the picture is not empty`, picture.length > 20000, picture.length);
  if (process.env.QTOOL_PAGE_PICTURES) {
    writeFileSync(join(process.env.QTOOL_PAGE_PICTURES, `${basename(page)}.${width}.${scheme}.png`), picture);
  }
  await send('Target.closeTarget', {targetId});
}

async function use_it({where, width, run, key}) {
  const sources = await run('return JSON.parse(data.textContent).analysis.sources.length;');
  check(`${where}a row for each source`,
    sources > 5 && await run(`${kRows} return rows.length;`) === sources);
  check(`${where}the verdict comes first`, await run('const heading = document.getElementById(' +
    '"verdict-heading"); return heading.textContent.length > 5 && heading.getBoundingClientRect().top <' +
    'document.getElementById("figures").getBoundingClientRect().top;'));
  check(`${where}the curve and the parts are drawn`, await run('return document.querySelectorAll(' +
    '"#curve svg .line-total, #parts tbody tr").length > 2;'));
  check(`${where}the summary has figures`,
    /^[0-9.]+ dB$/.test(await run('return document.querySelector("#figures dd").textContent;')));

  const search = (text) => run(`const field = document.getElementById('search'); field.value =
    ${JSON.stringify(text)}; field.dispatchEvent(new Event('input')); ${kRows} return rows.filter((row) =>
    row.offsetHeight > 0).map((row) => row.textContent);`);
  const weights = await search('WEIGHTS');
  check(`${where}search finds weights only`, weights.length > 0 && weights.length < sources &&
    weights.every((text) => text.includes('weights')), weights);
  check(`${where}search dims the strip`, await run(
    'return document.querySelectorAll("#strip .missed").length > 0;'));
  check(`${where}search may find nothing`, (await search('no such layer')).length === 0);
  check(`${where}nothing searched is everything`, (await search('')).length === sources);

  const sort = (title) => run(`[...document.querySelectorAll('#sources th button')].find((button) =>
    button.textContent === '${title}').click(); const headings = [...document.querySelectorAll(
    '#sources th')]; const index = headings.findIndex((heading) => heading.textContent === '${title}');
    ${kRows} return {order: headings[index].getAttribute('aria-sort'),
    values: rows.map((row) => row.cells[index].textContent)};`);
  const rising = (values) => values.every((value, i) => i === 0 || values[i - 1] <= value);
  const names = await sort('what is rounded');
  check(`${where}names sort`, names.order === 'ascending' && rising(names.values), names);
  const reversed = await sort('what is rounded');
  check(`${where}and in reverse`,
    reversed.order === 'descending' && rising(reversed.values.reverse()), reversed);
  const share = await sort('share');
  check(`${where}numbers sort as numbers`,
    rising(share.values.map((text) => -parseFloat(text))), share.values);

  await run(`${kCells} cells[0].focus(); return 0;`);
  await key('ArrowRight');
  check(`${where}arrow keys go through the strip`,
    await run(`${kCells} return document.activeElement === cells[1];`));
  await key('Enter');
  check(`${where}Enter shows the layer`, await run(`${kCells} return cells[1].ariaSelected === 'true' &&
    document.getElementById('layer').offsetHeight > 50;`));
  await run('document.querySelector("#sources tbody button").click(); return 0;');
  check(`${where}a name shows more`,
    await run('return document.querySelectorAll("#sources .more .panel").length === 1;'));
  check(`${where}a histogram is drawn`, await run('return [...document.querySelectorAll("#strip ' +
    '[role=option]")].some((cell) => { cell.click(); return document.querySelectorAll(' +
    '"#layer svg .bar").length > 0; });'));
  check(`${where}FP32 is drawn against INT8`, await run('return document.querySelectorAll(' +
    '"#layer svg .points, #outputs svg .points").length > 1;'));
  check(`${where}the worst images are shown`, await run('const shown = [...document.images]; ' +
    'shown.forEach((one) => { one.loading = "eager"; }); return shown.length > 3;'));
  check(`${where}it says what stays unexplained`,
    /remainder: -?[0-9]/.test(await run('return document.getElementById("remainder").textContent;')));
  check(`${where}still fits into the width`,
    await run(`return document.documentElement.scrollWidth <= ${width};`));
}

async function copy_it({where, run}) {
  const copied = await run(`const button = document.querySelector('#suggestions .copy button'); if (!button) return '';
    let text = ''; document.execCommand = () => { text = document.activeElement.value; };
    Object.defineProperty(navigator, 'clipboard', {value: undefined}); button.click(); return text;`);
  check(`${where}a whole command is copied`, copied === '' ||
    /^qtool (quantize|calibrate) [^ ]+ --(table|from) t\.json --/.test(copied), copied);
}

async function find_no_markup({where, run}) {
  check(`${where}names are text`, await run(`${kRows} return rows.every((row) =>
    row.cells[0].textContent === '</script><img src=x onerror=alert(1)>') &&
    [...document.images].every((one) => one.src.startsWith('data:image/jpeg;base64,'));`));
}

// Chromium is several processes, one group of their own. Those that outlive the first one would go on
// writing into the profile while it is removed. A profile that stays says nothing about the page.
async function end_browser() {
  try {
    process.kill(-browser.pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
  await ended;
  for (let tries = 1; ; ++tries) {
    try {
      rmSync(profile, {recursive: true, force: true});
      return;
    } catch (error) {
      if (tries === 100) {
        console.error(`note: ${error.message}`);
        return;
      }
      await new Promise((done) => setTimeout(done, 100));
    }
  }
}

try {
  for (const width of widths) {
    for (const scheme of ['light', 'dark']) await look_at(plain, width, scheme, use_it);
  }
  await look_at(plain, 1280, 'light', copy_it);
  if (hostile) await look_at(hostile, 1280, 'light', find_no_markup);
} finally {
  await end_browser();
}
process.exit(failures === 0 ? 0 : 1);
