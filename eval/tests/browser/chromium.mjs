// A headless Chromium that a test drives as a person would: over a pipe (--remote-debugging-pipe), so it needs neither a
// port nor a library.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-quic', '--disable-dev-shm-usage', '--hide-scrollbars',
  '--remote-debugging-pipe',
];

/** Starts a browser. Ends the process with an error if it dies or takes longer than six minutes. */
export const launch = (program, profile) => {
  const child = spawn(program, [...FLAGS, `--user-data-dir=${profile}`, 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] });
  let errors = '';
  let done = false;
  child.stderr.on('data', (data) => { errors = (errors + data).slice(-4000); });
  const give_up = (why) => { child.kill('SIGKILL'); console.error(`${why}\n${errors}`); process.exit(1); };
  setTimeout(() => give_up('the browser took longer than six minutes'), 360_000).unref();
  child.on('error', (error) => give_up(String(error)));
  child.on('exit', () => { if (!done) give_up('the browser ended'); });

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

  /** Opens an address in a new tab. */
  const open = async ({ url, width, height, dark = false, script = true, media = 'screen' }) => {
    const { targetId } = await ask('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await ask('Target.attachToTarget', { targetId, flatten: true });
    const tab = (method, params) => ask(method, params, sessionId);
    const [requests, problems] = [[], []];
    listeners.add(({ method, params, sessionId: from }) => {
      if (from !== sessionId) return;
      if (method === 'Network.requestWillBeSent') requests.push(params.request.url);
      if (method === 'Runtime.exceptionThrown') problems.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === 'Log.entryAdded') problems.push(params.entry.text);
      if (method === 'Page.javascriptDialogOpening') problems.push('a dialog opened');
    });
    for (const domain of ['Page', 'Network', 'Runtime', 'Log']) await tab(`${domain}.enable`);
    const size = (width, height) => tab('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 500 });
    const scheme = (dark) => tab('Emulation.setEmulatedMedia', { media, features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] });
    await size(width, height);
    await scheme(dark);
    await tab('Emulation.setScriptExecutionDisabled', { value: !script });
    const loaded = new Promise((resolve) => { listeners.add(({ method, sessionId: from }) => { if (from === sessionId && method === 'Page.loadEventFired') resolve(); }); });
    await tab('Page.navigate', { url });
    await loaded;
    const evaluate = async (expression) => {
      const { result, exceptionDetails } = await tab('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    };
    /** Waits until an expression is true. */
    const until = async (expression) => {
      for (let tries = 0; tries < 600; tries += 1) {
        if (await evaluate(expression).catch(() => false)) return;
        await new Promise((resolve) => { setTimeout(resolve, 50); });
      }
      throw new Error(`this did not become true: ${expression}\n${problems.join('\n')}`);
    };
    /** Presses a key that writes this text, or a named one. */
    const press = async (key) => {
      const named = { Enter: { key, code: key, text: '\r', windowsVirtualKeyCode: 13 }, Escape: { key, code: key, windowsVirtualKeyCode: 27 } };
      const event = named[key] ?? { key, text: key };
      await tab('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
      await tab('Input.dispatchKeyEvent', { type: 'keyUp', key: event.key });
    };
    const type = (text) => tab('Input.insertText', { text });
    const mouse = (type, [x, y]) => tab('Input.dispatchMouseEvent', { type, x, y, button: 'left', buttons: 1, clickCount: 1 });
    const click = async (selector) => {
      const place = await evaluate(`(() => { const it = document.querySelector(${JSON.stringify(selector)}); it.scrollIntoView({ block: 'nearest' });
        const { x, y, width, height } = it.getBoundingClientRect(); return [x + width / 2, y + height / 2]; })()`);
      await mouse('mousePressed', place);
      await mouse('mouseReleased', place);
    };
    /** Drags the mouse over a text, so it is selected. */
    const select = async (text, within) => {
      const [from, to] = await evaluate(`(() => {
        const nodes = document.createTreeWalker(document.querySelector(${JSON.stringify(within)}), NodeFilter.SHOW_TEXT);
        const text = ${JSON.stringify(text)};
        for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
          const at = node.data.indexOf(text);
          if (at < 0) continue;
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + text.length);
          node.parentElement.scrollIntoView({ block: 'center' });
          const rects = [...range.getClientRects()];
          const [first, last] = [rects[0], rects.at(-1)];
          return [[first.left + 0.5, first.top + first.height / 2], [last.right - 0.5, last.top + last.height / 2]];
        }
        throw new Error('no such text');
      })()`);
      await mouse('mousePressed', from);
      await mouse('mouseMoved', [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2]);
      await mouse('mouseMoved', to);
      await mouse('mouseReleased', to);
    };
    /** Writes a picture of what is visible, or of the whole page. */
    const shot = async (file, whole = false) => {
      const all = whole && await evaluate('[0, document.documentElement.clientWidth, Math.min(12000, document.documentElement.scrollHeight)]');
      const clip = whole && { x: 0, y: 0, width: all[1], height: all[2], scale: 1 };
      const { data } = await tab('Page.captureScreenshot', { format: 'png', captureBeyondViewport: whole, ...(clip && { clip }) });
      writeFileSync(file, Buffer.from(data, 'base64'));
    };
    return { evaluate, until, press, type, click, select, shot, size, scheme, requests, problems, close: () => ask('Target.closeTarget', { targetId }) };
  };

  const close = async () => {
    done = true;
    const ended = once(child, 'exit');
    ask('Browser.close').catch(() => {});
    await ended;
  };
  return { open, close };
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

/** The findings of axe-core, whose source is given: `rule: element`, and what is wrong with it. */
export const findings = (axe) => `(async () => { ${axe}; const { violations } = await window.axe.run();
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 120) + ' ' + failureSummary)); })()`;
