// Opens a page in headless Chromium as a person would, and prints what it saw as JSON.
//
//     node drive.mjs BROWSER PROFILE PAGE FOLDER
//
// The script talks to Chromium over a pipe (--remote-debugging-pipe), so it needs neither a port nor a library. It records
// every request of the page. Screenshots are written to FOLDER, and the browser's own files to PROFILE.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [browser, profile, page, folder] = process.argv.slice(2);
const url = pathToFileURL(page).href;
const flags = [
  '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-quic', '--disable-dev-shm-usage', '--hide-scrollbars',
  '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank',
];
const child = spawn(browser, flags, { stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] });
let errors = '';
child.stderr.on('data', (data) => { errors = (errors + data).slice(-4000); });
const give_up = (why) => { child.kill('SIGKILL'); console.error(`${why}\n${errors}`); process.exit(1); };
setTimeout(() => give_up('the browser took longer than two minutes'), 120_000).unref();
child.on('error', (error) => give_up(String(error)));
child.on('exit', () => { if (!done) give_up('the browser ended'); });

let done = false;
let last = 0;
let rest = '';
const waiting = new Map();
const listeners = new Set();
child.stdio[4].setEncoding('utf8').on('data', (data) => {
  const messages = (rest + data).split('\0');
  rest = messages.pop();
  for (const message of messages.map((text) => JSON.parse(text))) {
    if (message.id) {
      const { resolve, reject } = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) reject(new Error(JSON.stringify(message.error))); else resolve(message.result);
    } else {
      for (const listener of listeners) listener(message);
    }
  }
});
const ask = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
  waiting.set(++last, { resolve, reject });
  child.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId }) + '\0');
});

/** Visits the page in a new tab; `look` has expressions that are evaluated at the end. */
const visit = async ({ width, height, dark, script, look, shot, media = 'screen' }) => {
  const { targetId } = await ask('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await ask('Target.attachToTarget', { targetId, flatten: true });
  const tab = (method, params) => ask(method, params, sessionId);
  const requests = [];
  const problems = [];
  let loaded;
  const load = new Promise((resolve) => { loaded = resolve; });
  const listener = ({ method, params, sessionId: from }) => {
    if (from !== sessionId) return;
    if (method === 'Network.requestWillBeSent') requests.push(params.request.url);
    if (method === 'Runtime.exceptionThrown') problems.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === 'Log.entryAdded') problems.push(params.entry.text);
    if (method === 'Page.javascriptDialogOpening') problems.push('a dialog opened');
    if (method === 'Page.loadEventFired') loaded();
  };
  listeners.add(listener);
  for (const domain of ['Page', 'Network', 'Runtime', 'Log']) await tab(`${domain}.enable`);
  await tab('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 500 });
  await tab('Emulation.setEmulatedMedia', { media, features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] });
  await tab('Emulation.setScriptExecutionDisabled', { value: !script });
  await tab('Page.navigate', { url });
  await load;
  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await tab('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  const seen = {};
  for (const [name, expression] of Object.entries(look)) seen[name] = await evaluate(expression);
  if (shot) {
    await evaluate('scrollTo(0, 0)');
    for (const [suffix, whole] of [['', false], ['-whole', true]]) {
      const { data } = await tab('Page.captureScreenshot', { format: 'png', captureBeyondViewport: whole, ...(whole && { clip: {
        x: 0, y: 0, width, height: await evaluate('document.documentElement.scrollHeight'), scale: 1 } }) });
      writeFileSync(join(folder, `${shot}${suffix}.png`), Buffer.from(data, 'base64'));
    }
  }
  listeners.delete(listener);
  await ask('Target.closeTarget', { targetId });
  return { requests: requests.filter((request) => request !== url && !request.startsWith('data:')), problems, ...seen };
};

// Actions of a person, as expressions for the page.
const rows = `[...document.querySelectorAll('#board tbody tr')].filter((row) => row.getClientRects().length)`;
const column = (title) => `[...document.querySelectorAll('#board thead th')].findIndex((th) => th.textContent.trim() === '${title}')`;
const click = (title) => `document.querySelectorAll('#board thead th')[${column(title)}].querySelector('button').click()`;
const numbers = (title) => `${rows}.map((row) => parseFloat(row.cells[${column(title)}].textContent.replaceAll(',', '')))`;
const put = (id, value) => `(() => { const it = document.getElementById('${id}'); it.value = '${value}';
  it.dispatchEvent(new Event('input', { bubbles: true })); })()`;
const tick = (id) => `document.getElementById('${id}').click()`;
const reading = {
  wide: 'document.documentElement.scrollWidth',
  // Elements that end to the right of the screen and are not in a box that scrolls.
  beyond: `[...document.querySelectorAll('body *')].filter((it) => it.getBoundingClientRect().right > screen.width + 1
    && !it.closest('.scroll, pre, .heat, blockquote')).slice(0, 5).map((it) => it.outerHTML.slice(0, 80))`,
  rows: `${rows}.length`,
  sections: `[...document.querySelectorAll('main > section')].filter((it) => it.getClientRects().length).map((it) => it.id)`,
  answer: `document.querySelector('.answer').textContent`,
  // Visible without scrolling: the answer, one plot, the settings.
  fold: `['.answer', '.masthead .plot', '#toml'].map((it) => document.querySelector(it).getBoundingClientRect().bottom)`,
  paper: 'getComputedStyle(document.body).backgroundColor',
  controls: `[...document.querySelectorAll('.js-only')].filter((it) => it.getClientRects().length).length`,
  tiny: `[...document.querySelectorAll('p, td, th, li, dd, dt, summary, small, text')].filter((it) => it.getClientRects().length
    && parseFloat(getComputedStyle(it).fontSize) < 12).length`,
  // Contrast by WCAG 2.2 of every visible text on the nearest background that is not transparent.
  contrast: `(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data]; };
    const light = ([r, g, b]) => [0.2126 * r, 0.7152 * g, 0.0722 * b].map((_, i) => {
      const c = [r, g, b][i] / 255; return [0.2126, 0.7152, 0.0722][i] * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    }).reduce((a, b) => a + b);
    let worst = [99, ''];
    const seen = new Map();
    for (const it of document.querySelectorAll('body *')) {
      if (it.closest('svg') || ![...it.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !it.getClientRects().length) continue;
      let under = it;
      while (under && rgb(getComputedStyle(under).backgroundColor)[3] < 255) under = under.parentElement;
      const [a, b] = [getComputedStyle(it).color, getComputedStyle(under ?? document.body).backgroundColor];
      if (seen.has(a + b)) continue;
      const [x, y] = [light(rgb(a)), light(rgb(b))];
      const ratio = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
      seen.set(a + b, ratio);
      if (ratio < worst[0]) worst = [ratio, it.tagName + '.' + it.className + ' ' + it.textContent.slice(0, 40)];
    }
    return worst;
  })()`,
};
const using = {
  sorted_down: `${click('Chunks')}, ${numbers('Chunks')}`,
  sorted_up: `${click('Chunks')}, ${numbers('Chunks')}`,
  sort_says: `document.querySelectorAll('#board thead th')[${column('Chunks')}].getAttribute('aria-sort')`,
  by_mode: `${put('by-r', 'keyword')}, ${rows}.map((row) => row.cells[2].textContent)`,
  by_mode_and_k: `${put('by-k', '5')}, ${rows}.map((row) => row.cells[2].textContent + row.cells[3].textContent)`,
  says: `document.getElementById('shown').textContent`,
  found: `${put('by-r', '')}, ${put('by-k', '')}, ${put('find', 'RECURSIVE max=400')}, ${rows}.map((row) => row.cells[1].textContent)`,
  ties: `${put('find', '')}, ${tick('only-t')}, ${rows}.length`,
  front: `${tick('only-t')}, ${tick('only-p')}, ${rows}.length`,
  back: `${tick('only-p')}, ${rows}.length`,
  point: `(() => { const dot = document.querySelector('[data-x=retrieved_tokens] circle.best');
    dot.scrollIntoView({ block: 'center' });
    dot.dispatchEvent(new PointerEvent('pointermove', { bubbles: true }));
    return dot.closest('figure').querySelector('.tip').textContent; })()`,
  near: `(() => { const dot = document.querySelector('[data-x=retrieved_tokens] circle.best').getBoundingClientRect();
    const figure = document.querySelector('[data-x=retrieved_tokens]');
    figure.querySelector('.tip').textContent = '';
    const [clientX, clientY] = [dot.x + dot.width / 2 + 1, dot.y + dot.height / 2];
    figure.querySelector('svg').dispatchEvent(new PointerEvent('pointermove', { clientX, clientY }));
    return figure.querySelector('.tip').textContent; })()`,
  hover: `(() => { const cell = document.querySelector('#cost tbody td');
    cell.dispatchEvent(new PointerEvent('pointerover', { bubbles: true })); return cell.title; })()`,
  // From the top, where the tab key leads.
  focus: `(() => { const can = 'a, button, select, input, summary, [tabindex="0"]';
    return [...document.querySelectorAll(can)].filter((it) => it.getClientRects().length).slice(0, 4).map((it) => it.className || it.id || it.tagName); })()`,
};

const result = {};
for (const width of [1400, 390, 360]) {
  for (const dark of [false, true]) {
    for (const script of [true, false]) {
      const name = `${width}-${dark ? 'dark' : 'light'}${script ? '' : '-no-script'}`;
      const shot = script || (width === 360 && !dark) ? name : undefined;
      result[name] = await visit({ width, height: width < 500 ? 740 : 900, dark, script, look: reading, shot });
    }
  }
}
// The width of A4 between its margins.
result.print = await visit({ width: 718, height: 1000, dark: false, script: true, look: reading, shot: 'print', media: 'print' });
result.using = await visit({ width: 1400, height: 900, dark: false, script: true, look: using });
done = true;
const ended = once(child, 'exit');
ask('Browser.close').catch(() => {});
await ended;
console.log(JSON.stringify(result));
process.exit(0);
