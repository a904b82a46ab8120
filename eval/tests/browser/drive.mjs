// Reads and uses a report's page as people do, and prints what was seen as JSON.
//
//     node drive.mjs BROWSER PROFILE PAGE FOLDER AXE [few]
//
// Screenshots are written to FOLDER. With `few`, the page is only read at two widths.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { findings, launch, reading } from './chromium.mjs';

const [program, profile, page, folder, axe, few] = process.argv.slice(2);
const name = page.split('/').pop().replace('.html', '');
const url = pathToFileURL(page).href;
const ready = 'document.documentElement.dataset.ready';

const rows = `[...document.querySelectorAll('#board tbody tr')].filter((row) => row.getClientRects().length)`;
const column = (title) => `[...document.querySelectorAll('#board thead th')].findIndex((th) => th.textContent.trim() === '${title}')`;
const click = (title) => `document.querySelectorAll('#board thead th')[${column(title)}].querySelector('button').click()`;
const numbers = (title) => `${rows}.map((row) => parseFloat(row.cells[${column(title)}].textContent.replaceAll(',', '')))`;
const put = (id, value, event = 'input') => `(() => { const it = document.getElementById('${id}'); it.value = '${value}';
  it.dispatchEvent(new Event('${event}', { bubbles: true })); })()`;
const choose = (label, value) => `(() => { const it = [...document.querySelectorAll('label')].find((it) => it.firstChild.textContent === '${label}').querySelector('select, input');
  it.value = '${value}'; it.dispatchEvent(new Event(it.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true })); })()`;
const asked = `[...document.querySelectorAll('#questions-table tbody > tr:not(.open)')]`;
const look = {
  ...reading,
  ready: `${ready} ?? ''`,
  rows: `${rows}.length`,
  shown: `${asked}.length`,
  asked: `document.querySelector('button.more')?.click(), ${asked}.length`,
  sections: `[...document.querySelectorAll('main > section')].filter((it) => it.getClientRects().length).map((it) => it.id)`,
  answer: `document.querySelector('.answer')?.textContent ?? ''`,
  // Names of settings in sentences.
  named: `[...document.querySelectorAll('.answer code, .advice code, .caveats code, .gate code')].map((it) => it.textContent)`,
  advised: `[...new Set([...document.querySelectorAll('.name.advised')].map((it) => it.firstChild.textContent))]`,
  first: `[...document.querySelectorAll('.forest tbody tr')].map((row) => [row.cells[0].firstChild.firstChild.textContent, row.cells[2].textContent])`,
  board: `${rows}.map((row) => [row.cells[1].firstChild.firstChild.textContent, row.cells[2].textContent])`,
  // Visible without scrolling: the change, if there is one, else the answer and the plot next to it.
  fold: `['.gate', '.answer', '.forest'].map((it) => document.querySelector(it)?.getBoundingClientRect().bottom ?? 0)`,
  markdown: `document.querySelector('noscript pre')?.textContent ?? ''`,
  gate: `document.querySelector('.gate')?.className ?? ''`,
  text: 'document.body.innerText',
};
const using = {
  sorted_down: `${click('Chunks')}, ${numbers('Chunks')}`,
  sorted_up: `${click('Chunks')}, ${numbers('Chunks')}`,
  sort_says: `document.querySelectorAll('#board thead th')[${column('Chunks')}].getAttribute('aria-sort')`,
  by_mode: `${put('by-mode', 'keyword', 'change')}, ${rows}.map((row) => row.cells[1].firstChild.firstChild.textContent)`,
  by_mode_and_k: `${put('by-k', '5', 'change')}, ${rows}.length`,
  says: `document.getElementById('shown').textContent`,
  found: `${put('by-mode', '', 'change')}, ${put('by-k', '', 'change')}, ${put('find', 'RECURSIVE max=400')}, ${rows}.map((row) => row.cells[1].textContent)`,
  alike: `${put('find', '')}, document.getElementById('only-open').click(), ${rows}.length`,
  back: `document.getElementById('only-open').click(), ${rows}.length`,
  lost: `document.querySelector('button.more').click(), ${choose('Show', 'lost')}, ${asked}.map((row) => row.cells[1].textContent)`,
  nobody: `${choose('Show', 'nobody')}, ${asked}.map((row) => row.cells[3].textContent)`,
  differ: `${choose('Show', 'differ')}, ${asked}.map((row) => [row.cells[1].textContent, row.cells[2].textContent])`,
  words: `${choose('Show', 'all')}, ${choose('Find', 'CACHE folder')}, ${asked}.map((row) => row.cells[0].textContent)`,
  opened: `${choose('Find', '')}, document.querySelector('.ask').click(), document.querySelector('tr.open').innerText`,
  marks: `[...document.querySelectorAll('tr.open mark')].map((it) => it.textContent)`,
  // An open question stays open in another order and with another setting, and closing it leaves the others.
  kept: `${choose('Compared with', 'semantic min=40 max=200 overlap=0 · hybrid · k=5')}, [document.querySelectorAll('tr.open').length, document.querySelector('.ask').getAttribute('aria-expanded'), ${asked}.length]`,
  closed: `document.querySelector('.ask').click(), [document.querySelectorAll('tr.open').length, document.querySelector('.ask').getAttribute('aria-expanded'), ${asked}.length]`,
  priced: `${choose('Price of embedding a million tokens', '2')}, ${choose('Price of reading a million tokens', '3')}, ${choose('Currency', 'EUR')},
    [...document.querySelectorAll('#costs table')][0].rows[1].innerText`,
  point: `(() => { const dot = document.querySelector('#costs circle.advised'); dot.scrollIntoView({ block: 'center' });
    const { x, y, width, height } = dot.getBoundingClientRect();
    dot.closest('svg').dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: x + width / 2 + 1, clientY: y + height / 2 }));
    return dot.closest('.plot').querySelector('.tip').textContent; })()`,
  focus: `[...document.querySelectorAll('a, button, select, input, summary, [tabindex="0"]')].filter((it) => it.getClientRects().length).slice(0, 2).map((it) => it.className || it.id || it.tagName)`,
};

const browser = launch(program, profile);
/** Visits the page in a new tab; `look` has expressions that are evaluated in order. Returns what they saw. */
const visit = async ({ look, shot, ...as }) => {
  const tab = await browser.open({ url, ...as });
  if (as.script !== false) await tab.until(ready);
  const seen = {};
  for (const [name, expression] of Object.entries(look)) seen[name] = await tab.evaluate(expression);
  if (shot) {
    await tab.evaluate('scrollTo(0, 0)');
    await tab.shot(join(folder, `${shot}.png`));
    await tab.shot(join(folder, `${shot}-whole.png`), true);
  }
  await tab.close();
  return { requests: tab.requests.filter((request) => request !== url && !request.startsWith('data:')), problems: tab.problems, ...seen };
};

const result = {};
for (const width of few ? [1400, 390] : [1400, 390, 360, 2560]) {
  for (const dark of few ? [false] : [false, true]) {
    const as = `${width}-${dark ? 'dark' : 'light'}`;
    const checked = few || ['1400-light', '390-dark'].includes(as);
    const all = { ...look, ...(checked && { axe: findings(readFileSync(axe, 'utf8')) }) };
    result[as] = await visit({ width, height: width < 500 ? 740 : 900, dark, look: all, shot: `${name}-${as}` });
  }
}
if (!few) {
  result['no-script'] = await visit({ width: 390, height: 740, script: false, look });
  // The width of A4 between its margins.
  result.print = await visit({ width: 718, height: 1000, look, shot: `${name}-print`, media: 'print' });
  result.using = await visit({ width: 1400, height: 900, look: using });
}
await browser.close();
process.stdout.write(JSON.stringify(result), () => process.exit(0));
