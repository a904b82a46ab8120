// A headless Chromium that opens pages as a person would.
//
// It is driven over a pipe (--remote-debugging-pipe), so it needs neither a port nor a library.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Starts the browser, passes `visit` to `work`, and ends the browser. */
export const browse = async (program, profile, folder, work) => {
  const flags = [
    '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--disable-quic', '--disable-dev-shm-usage', '--hide-scrollbars',
    '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank',
  ];
  const child = spawn(program, flags, { stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] });
  let [errors, done] = ['', false];
  child.stderr.on('data', (data) => { errors = (errors + data).slice(-4000); });
  const give_up = (why) => { child.kill('SIGKILL'); console.error(`${why}\n${errors}`); process.exit(1); };
  setTimeout(() => give_up('the browser took longer than three minutes'), 180_000).unref();
  child.on('error', (error) => give_up(String(error)));
  child.on('exit', () => { if (!done) give_up('the browser ended'); });

  let [last, rest] = [0, ''];
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

  /** Visits a page in a new tab; `look` has expressions that are evaluated in order. Returns what they saw. */
  const visit = async ({ url, width, height, dark, script = true, ready, look, shot, media = 'screen' }) => {
    const { targetId } = await ask('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await ask('Target.attachToTarget', { targetId, flatten: true });
    const tab = (method, params) => ask(method, params, sessionId);
    const [requests, problems] = [[], []];
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
    // What a page draws itself is there a moment after it is loaded.
    for (let tries = 0; script && ready && tries < 400 && !(await evaluate(ready)); tries += 1) await new Promise((wake) => setTimeout(wake, 25));
    const seen = {};
    for (const [name, expression] of Object.entries(look)) seen[name] = await evaluate(expression);
    if (shot) {
      await evaluate('scrollTo(0, 0)');
      for (const [suffix, whole] of [['', false], ['-whole', true]]) {
        const { data } = await tab('Page.captureScreenshot', { format: 'png', captureBeyondViewport: whole, ...(whole && { clip: {
          x: 0, y: 0, width, height: Math.min(12_000, await evaluate('document.documentElement.scrollHeight')), scale: 1 } }) });
        writeFileSync(join(folder, `${shot}${suffix}.png`), Buffer.from(data, 'base64'));
      }
    }
    listeners.delete(listener);
    await ask('Target.closeTarget', { targetId });
    return { requests: requests.filter((request) => request !== url && !request.startsWith('data:')), problems, ...seen };
  };

  const result = await work(visit);
  done = true;
  const ended = once(child, 'exit');
  ask('Browser.close').catch(() => {});
  await ended;
  return result;
};

/** Expressions that say whether any page can be read: its width, its smallest text, its contrast. */
export const reading = {
  wide: 'document.documentElement.scrollWidth',
  // Elements that end to the right of the screen and are not in a box that scrolls.
  beyond: `[...document.querySelectorAll('body *')].filter((it) => it.getBoundingClientRect().right > screen.width + 1
    && !it.closest('.scroll, pre, blockquote')).slice(0, 5).map((it) => it.outerHTML.slice(0, 80))`,
  paper: 'getComputedStyle(document.body).backgroundColor',
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

/** The findings of axe-core, whose source is given: `rule: element`. */
export const findings = (axe) => `(async () => { ${axe}; const { violations } = await window.axe.run();
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 120))); })()`;
