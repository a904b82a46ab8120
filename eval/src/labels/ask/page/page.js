// The page of `chunkmill-eval label --web`. It shows the state that the program has, and tells it what the person did;
// it keeps nothing but the evidence that is not saved yet. Places are byte ranges of a document.

const $ = (id) => document.getElementById(id);
const make = (tag, props = {}, ...children) => {
  const it = Object.assign(document.createElement(tag), props);
  it.append(...children);
  return it;
};
const SHOWN = 6;
const STATES = { open: ['○', 'not answered'], later: ['↷', 'later'], labelled: ['✓', 'has evidence'], unanswered: ['∅', 'not in the documents'] };
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

let overview = { questions: [], can_undo: false };
let at = -1;
let asked = { text: '', answer: [], proposals: [] };
let words = '';
let shown = 0;
let focused = -1;
let chosen = [];
let opened = null;
let selected = null;
let queue = Promise.resolve();

const get = async (path, params = {}) => {
  const reply = await fetch(`${path}?${new URLSearchParams(params)}`);
  if (!reply.ok) throw new Error((await reply.text()).trim());
  return reply.json();
};
const act = async (body) => {
  const reply = await fetch('act', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error((await reply.text()).trim());
  return reply.json();
};

let silence = 0;
const say = (text, problem = false) => {
  $('status').textContent = text;
  $('status').classList.toggle('problem', problem);
  clearTimeout(silence);
  silence = setTimeout(() => { $('status').textContent = ''; }, problem ? 8000 : 2500);
};
/**
 * Does one thing after the other, and says what went wrong. A thing that was meant for a question is not done if another
 * one is shown when its turn comes: a key that is pressed twice must not answer two questions.
 */
const doing = (what) => (...args) => {
  const here = at;
  queue = queue.then(() => (at === here ? what(...args) : undefined)).catch((error) => {
    say(error instanceof TypeError ? 'The program has ended. Run the same command to go on.' : error.message, true);
  });
  return queue;
};

const lines_of = ({ line, last_line }) => (line === last_line ? `${line}` : `${line}–${last_line}`);
const same = (a, b) => a.doc_id === b.doc_id && a.start === b.start && a.end === b.end;
const is_taken = (place) => chosen.some((one) => same(one, place));

// The questions.
const show_overview = () => {
  const { questions } = overview;
  const done = questions.filter(({ state }) => state === 'labelled' || state === 'unanswered').length;
  $('progress').textContent = `${done} of ${questions.length} answered${overview.by ? ` by ${overview.by}` : ''}`;
  $('bar').setAttribute('aria-valuemax', questions.length);
  $('bar').setAttribute('aria-valuenow', done);
  $('filled').style.width = `${questions.length ? (100 * done) / questions.length : 100}%`;
  $('undo').setAttribute('aria-disabled', String(!overview.can_undo));
  for (const list of document.querySelectorAll('.list')) {
    list.replaceChildren(...questions.map(({ text, state }, number) => {
      const [sign, meaning] = STATES[state];
      const button = make('button', { type: 'button' },
        make('span', { className: 'state', ariaHidden: 'true', textContent: sign }),
        make('span', { className: 'text' }, make('span', { className: 'sr', textContent: `${meaning}: ` }), text));
      if (number === at) button.setAttribute('aria-current', 'true');
      button.addEventListener('click', doing(async () => { $('questions').close(); await open_question(number); }));
      return make('li', { className: state }, button);
    }));
    list.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }
};

const next_open = (from) => {
  const { questions } = overview;
  const order = questions.map((_, step) => (from + 1 + step) % questions.length);
  return order.find((number) => questions[number].state === 'open') ?? order.find((number) => questions[number].state === 'later');
};

const open_question = async (number) => {
  if (number === undefined) {
    at = -1;
    [asked, chosen, shown, focused] = [{ text: 'All questions are answered.', answer: [], proposals: [] }, [], 0, -1];
  } else {
    asked = await get('question', { at: number });
    [at, words, shown, focused] = [number, '', 0, -1];
    $('words').value = '';
    take_answer();
  }
  $('number').textContent = at < 0 ? '' : `Question ${at + 1} of ${overview.questions.length}`;
  $('question').textContent = asked.text;
  document.body.classList.remove('reading');
  show_overview();
  show_more();
  show_chosen();
  $('ask').querySelector('.scroll').scrollTop = 0;
  // Before the document is loaded: the person may have gone on by then.
  $('question').focus({ preventScroll: true });
  if (at >= 0 && asked.proposals.length) await focus_card(0, false);
};

/** Takes the places of an earlier answer as evidence that can be changed, if it is one of those that this page writes. */
const take_answer = () => {
  const state = overview.questions[at]?.state;
  const { answer } = asked;
  const alternatives = answer.map((any) => any.length);
  const is_plain = answer.flat().every((places) => places.length === 1) && (answer.length < 2 || alternatives.every((count) => count === 1));
  chosen = is_plain ? answer.flat(2) : [];
  document.querySelector(`[name=combine][value=${answer.length === 1 && alternatives[0] > 1 ? 'any' : 'all'}]`).checked = true;
  $('answered').hidden = !['unanswered', 'labelled'].includes(state);
  $('answered').textContent = state === 'unanswered' ? 'Answered: not in the documents.'
    : is_plain ? 'Answered. Change the evidence and save, or go on.'
      : 'Answered, with alternatives that this page cannot show. Saving replaces them.';
};

// The passages.
const pieces = (place) => place.pieces.map(([text, is_marked]) => (is_marked ? make('mark', { textContent: text }) : text));
const card = (place, number) => {
  const id = `passage-${number}`;
  const box = make('input', { type: 'checkbox', id, checked: is_taken(place) });
  box.addEventListener('change', () => toggle(number));
  box.setAttribute('aria-describedby', `${id}-text`);
  const where = make('span', { className: 'where' }, make('b', { textContent: `${place.doc_id}:${lines_of(place)}` }),
    make('span', { textContent: place.headings.join(' › ') }));
  const top = make('label', { className: 'top', htmlFor: id }, box, where);
  if (number < 9) top.append(make('kbd', { textContent: number + 1 }));
  const text = make('div', { className: place.keeps_lines ? 'text code' : 'text', id: `${id}-text` });
  if (place.keeps_lines) text.tabIndex = 0;
  if (place.head) text.append(make('span', { className: 'head', textContent: place.head }));
  text.append(...pieces(place));
  const ways = place.found_by.length ? place.found_by.join(' + ') : 'extended';
  const foot = make('div', { className: 'foot' }, make('span', { className: 'ways', textContent: ways }));
  for (const [name, label, run] of [
    ['In the document', `Show passage ${number + 1} in the document`, () => focus_card(number, true)],
    ['+ before', `Add the passage before passage ${number + 1}`, () => extend(number, true)],
    ['+ after', `Add the passage after passage ${number + 1}`, () => extend(number, false)],
  ]) {
    const button = make('button', { type: 'button', textContent: name, ariaLabel: label });
    button.addEventListener('click', doing(run));
    foot.append(button);
  }
  const it = make('li', { className: 'card' }, top, text, foot);
  it.classList.toggle('taken', is_taken(place));
  return it;
};
const show_more = () => {
  const { proposals } = asked;
  const from = shown;
  shown = Math.min(shown + SHOWN, proposals.length);
  show_cards();
  $('more').hidden = shown >= proposals.length;
  $('found').textContent = at < 0 ? '' : proposals.length
    ? `Passages that may answer it${words ? `, found by “${words}”` : ''} (${shown} of ${proposals.length})`
    : 'No passage was found: search by other words, or select text in a document.';
  return from;
};
const show_cards = () => {
  $('cards').replaceChildren(...asked.proposals.slice(0, shown).map(card));
  $('cards').children[focused]?.classList.add('open');
};
const toggle = (number) => {
  const place = asked.proposals[number];
  if (!place || number >= shown) return;
  chosen = is_taken(place) ? chosen.filter((one) => !same(one, place)) : [...chosen, place];
  const it = $('cards').children[number];
  it.classList.toggle('taken', is_taken(place));
  it.querySelector('input').checked = is_taken(place);
  show_chosen();
  mark_document();
};
const focus_card = async (number, move) => {
  if (!asked.proposals[number] || number >= shown) return;
  $('cards').children[focused]?.classList.remove('open');
  focused = number;
  const it = $('cards').children[number];
  it.classList.add('open');
  if (move) {
    document.body.classList.toggle('reading', matchMedia('(max-width: 800px)').matches);
    it.querySelector('input').focus({ preventScroll: true });
    it.scrollIntoView({ block: 'nearest' });
  }
  await open_document(asked.proposals[number]);
};
const extend = async (number, before) => {
  const place = asked.proposals[number];
  if (!place || number >= shown) return;
  const { doc_id, start, end } = place;
  const longer = await get('extended', { id: doc_id, start, end, words: `${asked.text} ${words}`, ...(before && { before: 1 }) });
  if (!longer) { say('Its document has no other passage there.'); return; }
  asked.proposals[number] = { ...longer, found_by: place.found_by };
  chosen = chosen.map((one) => (same(one, place) ? asked.proposals[number] : one));
  show_cards();
  show_chosen();
  await focus_card(number, true);
  document.body.classList.remove('reading');
};

// The evidence.
const show_chosen = () => {
  $('evidence').hidden = chosen.length === 0;
  $('combine').hidden = chosen.length < 2;
  $('save').setAttribute('aria-disabled', String(chosen.length === 0));
  for (const id of ['none', 'later']) $(id).setAttribute('aria-disabled', String(at < 0));
  $('chosen').replaceChildren(...chosen.map((place) => {
    const name = `${place.doc_id}:${lines_of(place)}`;
    const go = make('button', { type: 'button', className: 'go', textContent: name, ariaLabel: `Show ${name} in the document` });
    go.addEventListener('click', doing(() => open_document(place, true)));
    const drop = make('button', { type: 'button', textContent: '×', ariaLabel: `Leave out ${name}` });
    drop.addEventListener('click', () => {
      chosen = chosen.filter((one) => one !== place);
      show_cards();
      show_chosen();
      mark_document();
    });
    return make('li', {}, go, drop);
  }));
};
const is_any = () => document.querySelector('[name=combine][value=any]').checked;
const references = () => {
  const places = chosen.map(({ doc_id, start, end, found_by }) => ({ doc_id, start, end, found_by }));
  return is_any() ? [places] : places.map((place) => [place]);
};

// The document.
const open_document = async (place, move = false) => {
  if (opened?.doc_id !== place.doc_id) {
    const { doc_id, text } = await get('document', { id: place.doc_id });
    opened = { doc_id, text, bytes: encoder.encode(text) };
    let unit = 0;
    const lines = text.split(/(?<=\r\n|\n|\r(?!\n))/);
    $('lines').replaceChildren(...lines.map((line, number) => {
      const it = make('div', { className: 'line', textContent: line.replace(/[\r\n]+$/, '') || '\u200b' });
      it.dataset.n = number + 1;
      it.unit = unit;
      it.size = line.replace(/[\r\n]+$/, '').length;
      unit += line.length;
      return it;
    }));
  }
  if (move) document.body.classList.toggle('reading', matchMedia('(max-width: 800px)').matches);
  opened.place = place;
  $('path').textContent = `${place.doc_id}:${lines_of(place)}`;
  $('path').title = place.doc_id;
  $('headings').textContent = place.headings.join(' › ');
  mark_document();
  const first = $('lines').children[place.line - 1];
  if (first) $('lines').scrollTop = first.offsetTop - $('lines').offsetTop - $('lines').clientHeight / 4;
};
/** Returns a range of the page for a range of bytes of the open document. */
const range_of = ({ start, end }) => {
  const unit = (byte) => decoder.decode(opened.bytes.subarray(0, byte)).length;
  const lines = $('lines').children;
  const place = (offset) => {
    let [low, high] = [0, lines.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (lines[middle].unit <= offset) low = middle; else high = middle - 1;
    }
    return [lines[low].firstChild, Math.min(offset - lines[low].unit, lines[low].size)];
  };
  const range = new Range();
  range.setStart(...place(unit(start)));
  range.setEnd(...place(unit(end)));
  return range;
};
const mark_document = () => {
  if (!opened) return;
  const { place } = opened;
  for (const it of $('lines').querySelectorAll('.own')) it.classList.remove('own');
  for (let line = place.line; line <= place.last_line; line += 1) $('lines').children[line - 1]?.classList.add('own');
  if (!globalThis.Highlight) return;
  const here = chosen.filter(({ doc_id }) => doc_id === opened.doc_id);
  CSS.highlights.set('passage', new Highlight(range_of(place)));
  CSS.highlights.set('evidence', new Highlight(...here.map(range_of)));
};

// A selection in the document.
/** Returns the offset of a place of the page in the document, in UTF-16 units. */
const offset_of = (node, offset) => {
  const element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
  const line = element.closest('.line');
  if (line) {
    const inside = node.nodeType === Node.TEXT_NODE ? offset : (offset > 0 ? line.size : 0);
    return line.unit + Math.min(inside, line.size);
  }
  if (element !== $('lines')) return undefined;
  const next = $('lines').children[offset];
  return next ? next.unit : opened.text.length;
};
const read_selection = () => {
  const selection = getSelection();
  selected = null;
  if (opened && !selection.isCollapsed && selection.rangeCount && $('lines').contains(selection.getRangeAt(0).commonAncestorContainer)) {
    const range = selection.getRangeAt(0);
    let from = offset_of(range.startContainer, range.startOffset);
    let to = offset_of(range.endContainer, range.endOffset);
    if (from !== undefined && to !== undefined) {
      const text = opened.text.slice(from, to);
      from += text.length - text.trimStart().length;
      to = from + text.trim().length;
      if (from < to) selected = { from, to };
    }
  }
  $('use').hidden = !selected;
  if (!selected) return;
  const line = (unit) => opened.text.slice(0, unit).split(/\r\n|\n|\r/).length;
  Object.assign(selected, { line: line(selected.from), last_line: line(selected.to) });
  $('use').replaceChildren(`Use ${selected.line === selected.last_line ? 'line' : 'lines'} ${lines_of(selected)} as evidence `, make('kbd', { textContent: 'a' }));
};
const use_selection = () => {
  if (!selected || at < 0) return;
  const { from, to, line, last_line } = selected;
  const start = encoder.encode(opened.text.slice(0, from)).length;
  const end = start + encoder.encode(opened.text.slice(from, to)).length;
  const place = { doc_id: opened.doc_id, start, end, line, last_line, headings: [], found_by: ['selected'] };
  if (!is_taken(place)) chosen = [...chosen, place];
  getSelection().removeAllRanges();
  read_selection();
  show_chosen();
  mark_document();
  document.body.classList.remove('reading');
  say(`${opened.doc_id}:${lines_of(place)} is evidence. Enter saves it.`);
};

// What a person does.
const after = async (reply, text, next) => {
  overview = reply.overview;
  say(text);
  await open_question(next);
};
const save = doing(async () => {
  if (!chosen.length || at < 0) { say('Choose a passage first, or select text in the document.'); return; }
  const reply = await act({ act: 'answer', question: at, references: references() });
  overview = reply.overview;
  await after(reply, 'Saved.', next_open(at));
});
const none = doing(async () => {
  if (at < 0) return;
  const reply = await act({ act: 'unanswered', question: at });
  overview = reply.overview;
  await after(reply, 'Saved: not in the documents.', next_open(at));
});
const later = doing(async () => {
  if (at < 0) return;
  const here = at;
  const reply = await act({ act: 'later', question: here });
  overview = reply.overview;
  await after(reply, 'Asked again later.', next_open(here));
});
const undo = doing(async () => {
  const reply = await act({ act: 'undo' });
  if (reply.undone === null) { say('There is no answer to undo.'); return; }
  await after(reply, 'The last answer is undone.', reply.undone);
});
const search = doing(async () => {
  if (at < 0) return;
  words = $('words').value.trim();
  asked = { ...asked, ...(await get('question', { at, words })), text: asked.text };
  [shown, focused] = [0, -1];
  show_more();
  if (asked.proposals.length) await focus_card(0, true);
  document.body.classList.remove('reading');
});
const more = doing(async () => {
  if ($('more').hidden) { say('There are no more passages.'); return; }
  const from = show_more();
  await focus_card(from, true);
  document.body.classList.remove('reading');
});
const done = doing(async () => {
  const reply = await act({ act: 'done' });
  overview = reply.overview;
  show_overview();
  $('summary').textContent = $('progress').textContent;
  $('end').showModal();
});
const list = () => { $('questions').showModal(); $('questions').querySelector('[aria-current]')?.focus(); };
const combine = () => {
  const other = document.querySelector('[name=combine]:not(:checked)');
  if (!$('combine').hidden) { other.checked = true; say(other.parentElement.textContent.trim()); }
};
const step = (by) => doing(() => focus_card(Math.max(0, Math.min(shown - 1, focused + by)), true).then(() => document.body.classList.remove('reading')))();
const beside = (before) => doing(() => extend(focused, before))();

const KEYS = {
  Enter: save, n: none, s: later, u: undo, m: more, a: use_selection, l: list, o: combine,
  '?': () => $('keys').showModal(), '/': () => { document.body.classList.remove('reading'); $('words').focus(); $('words').select(); },
  j: () => step(1), k: () => step(-1), '[': () => beside(true), ']': () => beside(false),
};
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  const { target, key } = event;
  if (target === $('words')) {
    if (key === 'Escape') target.blur();
    return;
  }
  // The button of a dialog that was just closed still has the focus for a moment.
  if (key === 'Enter' && target.closest('button, a')?.getClientRects().length) return;
  const run = /^[1-9]$/.test(key) ? () => toggle(Number(key) - 1) : KEYS[key];
  if (!run) return;
  event.preventDefault();
  run();
});
for (const [id, run] of Object.entries({ save, none, later, undo, more, done, use: use_selection, 'open-list': list, help: KEYS['?'] })) {
  $(id).addEventListener('click', () => run());
}
// A button keeps the selection.
$('use').addEventListener('mousedown', (event) => event.preventDefault());
$('back').addEventListener('click', () => document.body.classList.remove('reading'));
$('search').addEventListener('submit', (event) => { event.preventDefault(); search(); });
document.addEventListener('selectionchange', read_selection);
$('end').addEventListener('cancel', (event) => event.preventDefault());

await doing(async () => {
  overview = await get('overview');
  await open_question(next_open(-1));
})();
document.body.dataset.ready = 'true';
