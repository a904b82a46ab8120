// Labels questions on the page of `chunkmill-eval label --web` as a person would, and prints what it saw as JSON.
//
//     node label.mjs BROWSER PROFILE ADDRESS FOLDER AXE
//
// Screenshots are written to FOLDER. AXE is the script of axe-core, or an empty text.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { findings, launch } from './chromium.mjs';

const [program, profile, url, folder, axe] = process.argv.slice(2);
const browser = launch(program, profile);
const tab = await browser.open({ url, width: 1400, height: 900 });
await tab.until('document.body.dataset.ready');
const seen = { steps: [], wide: {}, axe: [] };
const question = (text) => tab.until(`document.getElementById('question').textContent === ${JSON.stringify(text)}`);
const step = async (name) => { seen.steps.push([name, await tab.evaluate(`document.getElementById('progress').textContent`)]); };
const check = async (name) => {
  if (!axe) return;
  const found = await tab.evaluate(findings(readFileSync(axe, 'utf8')));
  seen.axe.push(...found.map((one) => `${name}: ${one}`));
};

// The keyboard alone: the first passage answers the question.
await question('how long are backups kept');
seen.marks = await tab.evaluate(`[...document.querySelectorAll('.card mark')].map((it) => it.textContent.toLowerCase())`);
seen.ways = await tab.evaluate(`[...document.querySelectorAll('.card .ways')].map((it) => it.textContent)`);
for (const [width, height] of [[2560, 1400], [1000, 800], [390, 800], [1400, 900]]) {
  await tab.size(width, height);
  for (const dark of [false, true]) {
    await tab.scheme(dark);
    const name = `label-${width}-${dark ? 'dark' : 'light'}`;
    await check(name);
    await tab.shot(join(folder, `${name}.png`));
  }
  seen.wide[width] = await tab.evaluate('document.documentElement.scrollWidth');
}
await tab.scheme(false);
await tab.press('Enter');
await tab.until(`document.getElementById('status').textContent.startsWith('Choose a passage')`);
const first = await tab.evaluate(`[...document.querySelectorAll('.card')].findIndex((it) => it.textContent.includes('thirty days')) + 1`);
await tab.press(String(first));
await tab.press('Enter');
await step('keyboard');

// The mouse: a text of the document beside the question.
await question('who may delete a vault');
await tab.evaluate(`[...document.querySelectorAll('.card')].find((it) => it.textContent.includes('vault.md')).querySelector('.foot button').click()`);
await tab.until(`document.getElementById('path').textContent.startsWith('vault.md')`);
await tab.select('Only the owner', '#lines');
await tab.until(`!document.getElementById('use').hidden`);
seen.use = await tab.evaluate(`document.getElementById('use').textContent`);
await tab.shot(join(folder, 'label-1400-selection.png'));
await tab.click('#use');
await tab.until(`document.querySelectorAll('#chosen li').length === 1`);
await check('evidence');
await tab.press('Enter');
await step('mouse');

// The documents do not answer it; undone, and answered again.
await question('why <b>?</b>');
await tab.press('n');
await question('when');
await step('none');
await tab.press('u');
await question('why <b>?</b>');
await step('undo');
await tab.press('n');
await question('when');

// Later, and then two passages found by other words, one of which is enough.
await tab.press('s');
await tab.until(`document.querySelector('#rail .later')`);
await question('when');
await tab.press('/');
await tab.type('who pays the owner');
await tab.press('Enter');
await tab.until(`document.getElementById('found').textContent.includes('who pays')`);
await tab.evaluate('document.activeElement.blur()');
await tab.press('1');
await tab.press('2');
await tab.press('o');
await tab.until(`document.querySelector('[name=combine][value=any]').checked`);
await tab.press('?');
await tab.until(`document.getElementById('keys').open`);
await check('keys');
await tab.press('Escape');
await tab.until(`!document.getElementById('keys').open`);
await tab.press('Enter');
await question('All questions are answered.');
await step('all');

// The list leads back to an answer, which can be changed; then the session ends.
await tab.press('l');
await tab.until(`document.getElementById('questions').open`);
await check('list');
await tab.press('Escape');
await tab.click('#rail li:first-child button');
await question('how long are backups kept');
seen.before = await tab.evaluate(`[...document.querySelectorAll('#chosen .go')].map((it) => it.textContent)`);
await tab.press('Enter');
await question('All questions are answered.');
await tab.click('#done');
await tab.until(`document.getElementById('end').open`);
seen.summary = await tab.evaluate(`document.getElementById('summary').textContent`);
const origin = new URL(url).origin;
seen.elsewhere = tab.requests.filter((request) => !request.startsWith(url) && !request.startsWith('data:'));
seen.stored = await tab.evaluate(`document.cookie + localStorage.length`);
seen.origin = origin;
seen.problems = tab.problems;
await browser.close();
console.log(JSON.stringify(seen));
process.exit(0);
