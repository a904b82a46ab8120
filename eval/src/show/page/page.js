// Shows one report, or compares several. The data is `report.json` with less in it (see `data.rs`), compressed.
// Every word of the advice comes from the report; this script lays out, draws, sorts and filters.
//
// Text from outside reaches the page only as text nodes and attribute values: there is no innerHTML in this file.
(async () => {
  'use strict';

  // ---- Reading the data -------------------------------------------------------------------------------------------

  const packed = Uint8Array.from(atob(document.getElementById('data').textContent), (c) => c.charCodeAt(0));
  const data = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
  const runs = data.runs;
  const run = runs[0];

  // ---- Elements and text ------------------------------------------------------------------------------------------

  const SVG = 'http://www.w3.org/2000/svg';
  /** Shows characters that would be invisible or would turn the text around. */
  const visible = (text) => String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
    (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
  const put = (it, parts) => {
    for (const part of parts.flat(9)) {
      if (part !== null && part !== undefined && part !== false) it.append(part instanceof Node ? part : visible(part));
    }
    return it;
  };
  const make = (it, attributes, parts) => {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (name.startsWith('on')) it.addEventListener(name.slice(2), value);
      else if (value === true) it.setAttribute(name, '');
      else if (value !== false && value !== null && value !== undefined) it.setAttribute(name, visible(value));
    }
    return put(it, parts);
  };
  const h = (tag, attributes, ...parts) => make(document.createElement(tag), attributes, parts);
  const s = (tag, attributes, ...parts) => make(document.createElementNS(SVG, tag), attributes, parts);
  /** A sentence in which names of settings are between backticks. */
  const prose = (text) => {
    const pieces = String(text).replaceAll(' %', '\u00a0%').split('`');
    return pieces.length % 2 ? pieces.map((piece, at) => (at % 2 ? h('code', null, piece) : piece)) : [text];
  };
  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
  const folded = (title, ...body) => h('details', null, h('summary', null, title), body);

  // ---- Numbers: one style for the whole page ----------------------------------------------------------------------

  const NONE = '–';
  const known = (x) => typeof x === 'number' && Number.isFinite(x);
  const minus = (text) => text.replace('-', '−').replace(/^−(0(\.0+)?)$/, '$1');
  const whole = (x) => (known(x) ? minus(Math.round(x).toLocaleString('en-US')) : NONE);
  const share = (x) => (known(x) ? minus(x.toFixed(3)) : NONE);
  const signed = (x) => (known(x) ? (x > 0 ? '+' : '') + share(x) : NONE);
  const significant = (x) => (!known(x) ? NONE : Math.abs(x) >= 100 ? whole(x) : minus(x.toFixed(Math.abs(x) >= 10 ? 1 : Math.abs(x) >= 0.1 || x === 0 ? 2 : 3)));
  const percent = (p) => (!known(p) ? NONE : p > 0.99 && p < 1 ? '>99\u00a0%' : p > 0 && p < 0.01 ? '<1\u00a0%' : `${Math.round(100 * p)}\u00a0%`);
  const counted = (n, noun) => `${whole(n)} ${noun}${n === 1 ? '' : 's'}`;
  const bytes = (n) => {
    const [scale, unit] = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB']].find(([scale]) => n >= scale) ?? [1, 'B'];
    return `${unit === 'B' ? whole(n) : significant(n / scale)} ${unit}`;
  };

  // ---- The report -------------------------------------------------------------------------------------------------

  const primary = run.scoring.primary;
  const metric = (name) => run.metrics.find((it) => it.name === name);
  const title = (name) => metric(name)?.title ?? name;
  const number = (name, x) => (metric(name)?.higher_is_better === false ? whole(x) : share(x));
  const mean = (cell, name = primary) => cell?.metrics[name]?.[0];
  const interval = (cell, name = primary) => cell?.metrics[name]?.slice(1) ?? [];
  const cells = run.cells;
  const byId = new Map(cells.map((cell) => [cell.id, cell]));
  const verdict = run.verdict;
  const advised = byId.get(verdict?.advised);
  const isOpen = (cell) => cell.id === verdict?.best || verdict?.not_separable.includes(cell.id);
  const setting = (cell, key) => cell.spec[key] ?? '';
  const confidence = `${Math.round(100 * run.scoring.confidence)}\u00a0%`;
  const representatives = run.representatives.map((id) => byId.get(id));
  const rank = new Map(cells.map((cell, at) => [cell, at + 1]));

  const OUTCOMES = {
    f: ['found', 'all of the text, each answer in one passage'],
    s: ['split', 'all of the text, but an answer is spread over several passages'],
    p: ['part', 'a part of the text'],
    m: ['missed', 'none of the text'],
    u: ['unreachable', 'no chunk of the dataset contains the text'],
    '-': ['document', 'judged by its documents as a whole'],
    n: ['no answer', 'not in the documents; the value says how well its scores tell it from questions with an answer'],
  };

  // ---- Tables -----------------------------------------------------------------------------------------------------

  const scroll = (label, ...body) => h('div', { class: 'scroll', role: 'group', 'aria-label': label, tabindex: 0 }, body);
  /** A table. Columns are [title, hover text?, whether it has words]; the first one has the headings of the rows. */
  const table = (label, columns, rows, attributes = {}) => scroll(label, h('table', attributes,
    h('thead', null, h('tr', null, columns.map(([name, says, words], at) => h('th', { scope: 'col', class: at && !words ? 'n' : null, title: says }, name)))),
    h('tbody', null, rows.map(([heading, ...values]) => h('tr', null, h('th', { scope: 'row' }, heading), values.map((value, at) => h('td', { class: columns[at + 1]?.[2] ? 't' : null }, value)))))));
  /** Lets a long table scroll in its own box. */
  const tall = (it) => { it.classList.add('tall'); return it; };
  /** A table whose columns can be sorted. Columns are {name, says, value, show, text}. */
  const sortable = (label, columns, items, sorted, attributes = {}) => {
    const heads = columns.map((column) => h('th', { scope: 'col', class: column.text ? null : 'n', title: column.says },
      h('button', { type: 'button', onclick: () => sortBy(column) }, column.name)));
    const rows = new Map(items.map((item) => [item, h('tr', attributes.row?.(item), columns.map((column, at) => (at === (attributes.heading ?? 0)
      ? h('th', { scope: 'row' }, column.show(item)) : h('td', { class: column.text ? 't' : null }, column.show(item)))))]));
    const body = h('tbody', null, [...rows.values()]);
    let now = sorted;
    const mark = () => heads.forEach((head, at) => (columns[at].name === now.name ? head.setAttribute('aria-sort', now.up ? 'ascending' : 'descending') : head.removeAttribute('aria-sort')));
    const sortBy = (column) => {
      now = { name: column.name, up: column.name === now.name ? !now.up : Boolean(column.text || column.up) };
      const worth = (item) => column.value(item);
      const order = [...items].sort((a, b) => {
        const [x, y] = [worth(a), worth(b)];
        if (column.text) return (now.up ? 1 : -1) * String(x).localeCompare(String(y), 'en', { numeric: true });
        if (!known(x) || !known(y)) return known(y) - known(x);
        return (now.up ? 1 : -1) * (x - y);
      });
      body.append(...order.map((item) => rows.get(item)));
      mark();
    };
    mark();
    const it = scroll(label, h('table', attributes.table, h('thead', null, h('tr', null, heads)), body));
    return { it, rows };
  };
  const select = (label, options, onchange, chosen) => {
    const it = h('select', { onchange: () => onchange(it.value) }, options.map(([value, name]) => h('option', { value, selected: value === chosen }, name)));
    return { it: h('label', null, h('span', null, label), it), input: it };
  };
  const name = (cell) => h('span', { class: cell === advised ? 'name advised' : 'name' }, cell.id, cell === advised && [' ', h('em', null, 'advised')]);

  // ---- Plots ------------------------------------------------------------------------------------------------------

  /** Round numbers that span a range. */
  const ticks = (low, high, count = 5) => {
    const raw = (high - low || Math.abs(high) || 1) / count;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step >= raw * 0.999);
    const all = [];
    for (let at = Math.floor(low / step + 1e-9); at <= Math.ceil(high / step - 1e-9); at += 1) all.push(Number((at * step).toPrecision(10)));
    return all.length > 1 ? all : [low, low + step];
  };
  const isShare = (name) => metric(name)?.higher_is_better !== false;
  /** A scale of a metric: a share never goes beyond 0 and 1. */
  const scaleOf = (values, shares) => {
    const all = values.filter(known);
    let marks = ticks(Math.min(...all), Math.max(...all));
    if (shares) marks = marks.filter((mark) => mark >= 0 && mark <= 1);
    if (shares && Math.max(...all) > marks.at(-1)) marks.push(1);
    return marks.length > 1 ? marks : [Math.max(0, marks[0] - 0.1), marks[0]];
  };
  /**
   * Draws curves and points, again whenever the width changes. Series are {name, main, points: [{x, y, lo, hi, says}],
   * loose}: loose points are not connected. `steps` places each x at equal distances.
   */
  const plot = ({ label, xTitle, yTitle, series, steps, shares, height = 260, showX = significant, onpick }) => {
    const figure = h('div', { class: 'plot' });
    const tip = h('p', { class: 'tip', 'aria-hidden': 'true' });
    const canvas = h('div', { class: 'canvas' });
    put(figure, [h('p', { class: 'axis' }, capital(yTitle)), canvas, h('p', { class: 'axis x' }, capital(xTitle)), tip]);
    const points = series.flatMap((one) => one.points);
    const yMarks = scaleOf(points.flatMap((p) => [p.y, p.lo, p.hi]), shares);
    const xs = [...new Set(points.map((p) => p.x))].sort((a, b) => a - b);
    const xMarks = steps ? xs : ticks(Math.min(...xs), Math.max(...xs));
    let drawn = 0;
    const draw = (width) => {
      if (!width || Math.abs(width - drawn) < 2) return;
      drawn = width;
      const right = series.some((one) => one.label) ? 22 : 8;
      const [left, top, bottom] = [44, 8, 26];
      const [inner, tall] = [width - left - right, height - top - bottom];
      const place = steps ? (x) => left + (xs.length > 1 ? xs.indexOf(x) / (xs.length - 1) : 0.5) * (inner - 24) + 12
        : (x) => left + ((x - xMarks[0]) / (xMarks.at(-1) - xMarks[0] || 1)) * inner;
      const tallAt = (y) => top + (1 - (y - yMarks[0]) / (yMarks.at(-1) - yMarks[0] || 1)) * tall;
      const decimals = Math.max(0, ...yMarks.map((mark) => (String(mark).split('.')[1] ?? '').length));
      const svg = s('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label });
      for (const y of yMarks) {
        svg.append(s('line', { class: 'grid', x1: left, x2: width - right, y1: tallAt(y), y2: tallAt(y) }),
          s('text', { x: left - 8, y: tallAt(y) + 4, 'text-anchor': 'end' }, minus(y.toFixed(decimals))));
      }
      let last = -99;
      for (const x of xMarks) {
        if (place(x) - last < 44) continue;
        last = place(x);
        svg.append(s('text', { x: Math.min(last, width - 2), y: height - 8, 'text-anchor': last > width - 24 ? 'end' : 'middle' }, showX(x)));
      }
      const ends = [];
      const order = [...series].sort((a, b) => Boolean(a.main) - Boolean(b.main));
      for (const one of order) {
        const colour = one.quiet ? 'quiet' : `c${series.indexOf(one) % 7}${one.main ? ' main' : ''}`;
        const at = one.points.filter((p) => known(p.y)).sort((a, b) => a.x - b.x);
        const line = (pick) => at.map((p) => `${place(p.x).toFixed(1)},${tallAt(pick(p)).toFixed(1)}`);
        if (!one.loose && one.main && at.length > 1 && at.every((p) => known(p.lo))) {
          svg.append(s('polygon', { class: `band ${colour}`, points: [...line((p) => p.hi), ...line((p) => p.lo).reverse()].join(' ') }));
        }
        if (!one.loose && at.length > 1) svg.append(s('polyline', { class: `line ${colour}`, points: line((p) => p.y).join(' ') }));
        for (const p of at) {
          svg.append(s('circle', { class: `dot ${colour}${p.mark ? ` ${p.mark}` : ''}`, cx: place(p.x).toFixed(1), cy: tallAt(p.y).toFixed(1), r: p.mark === 'advised' ? 7 : one.loose ? 3.5 : 4.5 }));
        }
        if (one.label && at.length) ends.push({ label: one.label, colour, y: tallAt(at.at(-1).y) });
      }
      // Labels of curves that end near each other move apart.
      ends.sort((a, b) => a.y - b.y);
      ends.forEach((end, at) => { if (at) end.y = Math.max(end.y, ends[at - 1].y + 13); });
      const over = (ends.at(-1)?.y ?? 0) - (height - bottom);
      if (over > 0) for (let at = ends.length - 1, most = height - bottom; at >= 0; at -= 1, most -= 13) ends[at].y = Math.min(ends[at].y, most);
      for (const end of ends) svg.append(s('text', { class: `end ${end.colour}`, x: width - right + 6, y: end.y + 4 }, end.label));
      const nearest = (event) => {
        const box = svg.getBoundingClientRect();
        let best = [28 ** 2];
        for (const p of points) {
          const far = (box.x + place(p.x) - event.clientX) ** 2 + (box.y + tallAt(p.y) - event.clientY) ** 2;
          if (far < best[0]) best = [far, p];
        }
        return best[1];
      };
      svg.addEventListener('pointermove', (event) => {
        const hit = nearest(event);
        svg.style.cursor = hit && onpick ? 'pointer' : '';
        if (hit) tip.textContent = visible(hit.says);
      });
      if (onpick) svg.addEventListener('click', (event) => { const hit = nearest(event); if (hit) onpick(hit); });
      canvas.replaceChildren(svg);
    };
    new ResizeObserver(([entry]) => draw(Math.floor(entry.contentRect.width))).observe(canvas);
    return figure;
  };
  const legend = (series) => h('ol', { class: 'legend' }, series.map((one, at) => h('li', { class: `c${at % 7}${one.main ? ' main' : ''}` },
    h('b', null, one.label ?? ''), ' ', h('span', null, one.name), one.note && h('small', null, one.note))));

  // ---- The first screen -------------------------------------------------------------------------------------------

  const facts = () => h('p', { class: 'facts' }, [counted(cells.length, 'setting'), counted(run.labels.scored, 'question'),
    counted(run.labels.documents, 'document'), run.created.slice(0, 10)].map((fact) => h('span', null, fact)));

  const copyable = (text) => {
    const pre = h('pre', { tabindex: 0, id: 'toml', 'aria-label': 'Settings for chunkmill.toml' }, text.trimEnd());
    const button = h('button', { type: 'button', onclick: async () => {
      let done = true;
      try { await navigator.clipboard.writeText(`${text.trimEnd()}\n`); } catch { getSelection().selectAllChildren(pre); done = document.execCommand('copy'); }
      button.textContent = done ? 'Copied' : 'Selected';
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    } }, 'Copy');
    return h('figure', { class: 'toml' }, h('figcaption', null, h('span', null, 'For ', h('code', null, 'chunkmill.toml')), button), pre);
  };

  /** A row of a plot of intervals. */
  const bar = (cell, [low, high], name = primary) => {
    const [lo, hi] = interval(cell, name);
    const at = (x) => `${(100 * (x - low)) / (high - low || 1)}%`;
    if (!known(mean(cell, name))) return NONE;
    return h('span', { class: 'bar', 'aria-hidden': 'true', style: `--lo:${at(lo)};--hi:${at(hi)};--at:${at(mean(cell, name))}` });
  };
  const forest = (some, caption) => {
    const ends = scaleOf(some.flatMap((cell) => [...interval(cell), mean(cell)]), isShare(primary));
    const range = [ends[0], ends.at(-1)];
    return h('figure', { class: 'forest' }, h('figcaption', null, caption),
      table(caption, [['Setting'], [`${confidence} interval`], ['Mean']], some.map((cell) => [name(cell), [bar(cell, range), h('span', { class: 'hidden' },
        `${number(primary, interval(cell)[0])} to ${number(primary, interval(cell)[1])}`)], h('b', null, number(primary, mean(cell)))])),
      h('p', { class: 'range' }, h('span', null, number(primary, range[0])), h('span', null, number(primary, range[1]))));
  };

  const first = () => {
    const head = (text) => h('h1', { class: 'answer' }, prose(text));
    if (!verdict) return h('div', { class: 'verdict' }, h('div', { class: 'says' }, head('No question could be scored, so there is no advice.')));
    const { headline, gain, cost, certainty, next, caveats } = verdict.advice;
    const rows = [['You gain', gain], ['It costs', cost], ['How sure', certainty], ['Do next', next]].filter(([, text]) => text);
    const some = representatives.filter((cell) => known(mean(cell))).sort((a, b) => rank.get(a) - rank.get(b));
    return h('div', { class: 'verdict', id: 'verdict', tabindex: -1 },
      h('div', { class: 'says' }, head(headline || verdict.text),
        h('dl', { class: 'advice' }, rows.map(([term, text]) => h('div', null, h('dt', null, term), h('dd', null, prose(text))))),
        caveats.length > 0 && h('details', { class: 'caveats', open: caveats.length < 3 }, h('summary', null, `Know before you trust it: ${counted(caveats.length, 'caveat')}`),
          h('ul', null, caveats.map((caveat) => h('li', null, prose(caveat)))))),
      h('div', { class: 'beside' }, forest(some, `${capital(title(primary))}: ${some.length === cells.length ? 'all settings' : `${counted(some.length, 'setting')} that represent all`}`),
        verdict.toml && copyable(verdict.toml)));
  };

  // ---- Sections ---------------------------------------------------------------------------------------------------

  const section = (id, heading, lead, ...body) => h('section', { id, 'aria-labelledby': `${id}-h` }, h('h2', { id: `${id}-h` }, heading), lead && h('p', { class: 'lead' }, lead), body);

  /** The change since a baseline: what a reader must know at once. */
  const banner = () => {
    const { outcome, date } = data.change;
    const some = (items) => h('ul', null, items.slice(0, 6), items.length > 6 && h('li', null, `and ${items.length - 6} more, below`));
    const failed = outcome.checks.filter((check) => check.state === 'failed');
    return h('div', { class: `gate ${outcome.passed ? 'good' : 'worse'}`, role: 'status' }, h('p', { class: 'says-so' }, capital(data.change.verdict)),
      data.change.figures && h('p', null, prose(`${data.change.figures}.`)),
      outcome.evidence.lost.length > 0 && [h('p', null, data.change.loss), some(data.change.lost.map(([id, text, places]) => h('li', null, h('b', null, id), ' ', text, ' ', h('small', null, places))))],
      failed.length > 0 && some(failed.map((check) => h('li', null, h('b', null, capital(title(check.what))), ' ', check.cell, ' ', h('small', null, check.text)))),
      outcome.broken.length > 0 && h('p', null, `${counted(outcome.broken.length, 'question')} broke: a setting now has at most half of what it had.`),
      h('p', null, h('small', null, `Compared with the baseline of ${date.slice(0, 10)} by the default thresholds.`)));
  };
  const change = () => {
    const { changes, outcome, sentence, date, version, lost } = data.change;
    const moved = changes.changes.filter((it) => it.better + it.worse > 0 && byId.has(it.cell))
      .sort((a, b) => b.comparison.separable - a.comparison.separable || Math.abs(b.comparison.difference) - Math.abs(a.comparison.difference));
    const list = (heading, ids) => ids.length > 0 && folded(`${counted(ids.length, 'setting')} only in ${heading}`, h('ul', { class: 'plain' }, ids.map((id) => h('li', null, id))));
    return section('change', 'Change against the baseline',
      `${sentence} The baseline was made on ${date.slice(0, 10)} by version ${version}; the two runs have ${counted(changes.questions, 'question')} in common.`,
      lost.length > 0 && [h('h3', null, 'Lost evidence'), table('Lost evidence', [['Question'], ['lost', undefined, true]], lost.map(([id, text, places]) => [[text, ' ', h('small', null, id)], h('span', { class: 'words' }, places)]))],
      outcome.broken.length > 0 && [h('h3', null, 'Questions that broke'), tall(table('Questions that broke', [['Question'], ['before'], ['now'], ['settings'], ['handed over now', undefined, true]],
        outcome.broken.map((it) => [[it.text, ' ', h('small', null, `${it.query} · ${it.cell}`)], share(it.before), share(it.after), `${it.cells} of ${it.of}`, h('span', { class: 'words' }, it.handed_over.join(', ') || NONE)])))],
      changes.notes.map((note) => h('p', { class: 'note' }, `${capital(note)}.`)),
      moved.length > 0 && tall(table('Changes by setting', [['Setting, largest change first'], ['before'], ['now'], ['change'], [`${confidence} interval`], ['more than chance'], ['questions better'], ['worse']],
        moved.map((it) => [name(byId.get(it.cell)), number(primary, it.before), number(primary, it.after), signed(it.comparison.difference),
          `${signed(it.comparison.lo)} to ${signed(it.comparison.hi)}`, it.comparison.separable ? 'yes' : 'could be chance', whole(it.better), whole(it.worse)]))),
      changes.moved.length > 0 && [h('h3', null, 'Questions that moved most'), table('Questions that moved most', [['Question, averaged over the settings'], ['before'], ['now'], ['change']],
        changes.moved.map((it) => [[it.text, ' ', h('small', null, it.query)], share(it.before), share(it.after), signed(it.after - it.before)]))],
      list('this run', changes.added), list('the baseline', changes.missing));
  };

  // ---- Questions --------------------------------------------------------------------------------------------------

  const scored = cells.filter((cell) => cell.outcomes && cell.values?.[primary]);
  const handed = new Map(run.answers.handed_over.map((it) => [it.cell, it.passages]));
  const excerpts = run.answers.excerpts.map((it) => ({ ...it, bytes: new TextEncoder().encode(it.text) }));
  const lines = (place) => `${run.answers.documents[place[0]]}${place[2] > place[1] ? `:${place[3]}${place[4] > place[3] ? `–${place[4]}` : ''}` : ''}`;
  /** The bytes of a place with ends of lines inside paragraphs as spaces, or nothing if the report does not have them. */
  const textOf = ([doc, start, end]) => {
    const found = excerpts.find((it) => it.doc === doc && it.start <= start && end <= it.start + it.bytes.length);
    if (!found || end <= start) return undefined;
    const all = found.bytes.slice(start - found.start, end - found.start);
    const text = new TextDecoder().decode(all);
    let [at, fenced] = [0, false];
    for (const line of text.split('\n')) {
      const size = new TextEncoder().encode(line).length;
      const mark = /^\s*(```|~~~)/.test(line);
      const next = new TextDecoder().decode(all.slice(at + size + 1, at + size + 40));
      const isCode = /^\s{2,}|\t|[{};\\]$/.test(line) || /^ {2,}|^\t/.test(next);
      const apart = fenced || mark || isCode || !line.trim() || /^#|^\s*\|/.test(line) || /^\s*$|^\s*\n|^\s*(#|>|\||```|~~~|[-*+] |\d+[.)] )/.test(next);
      if (mark) fenced = !fenced;
      if (!apart && at + size < all.length) all[at + size] = 32;
      at += size + 1;
    }
    return all;
  };
  const marked = (place, wanted) => {
    const all = textOf(place);
    if (!all) return undefined;
    const [doc, start, end] = place;
    const decoder = new TextDecoder();
    const parts = [];
    let at = start;
    for (const [, from, to] of wanted.filter((it) => it[0] === doc && it[2] > start && it[1] < end).sort((a, b) => a[1] - b[1])) {
      if (to <= at) continue;
      if (from > at) parts.push(decoder.decode(all.slice(at - start, from - start)));
      parts.push(h('mark', null, decoder.decode(all.slice(Math.max(from, at) - start, Math.min(to, end) - start))));
      at = Math.min(to, end);
    }
    parts.push(decoder.decode(all.slice(at - start)));
    return parts;
  };
  const outcome = (cell, at) => {
    const letter = cell.outcomes[at] ?? '-';
    return h('span', { class: `outcome ${OUTCOMES[letter][0].replace(' ', '-')}`, title: OUTCOMES[letter][1] }, OUTCOMES[letter][0]);
  };
  /** The value that decides, or how well a question without an answer is told apart. */
  const valueOf = (cell, at) => cell.values[primary][at] ?? cell.values.no_answer_told_apart?.[at];
  const hasAnswer = (at) => !run.queries[at].unanswered;

  const questions = () => {
    if (!scored.length || !run.queries.length) return undefined;
    let a = scored.includes(advised) ? advised : scored[0];
    let b = scored.find((cell) => cell !== a) ?? a;
    const foundBy = run.queries.map((_, at) => scored.filter((cell) => hasAnswer(at) && ('fs'.includes(cell.outcomes[at]) || valueOf(cell, at) >= 1)).length);
    const askedBy = run.queries.map((_, at) => scored.filter((cell) => hasAnswer(at) && known(valueOf(cell, at))).length);
    const body = h('tbody', null);
    const headA = h('th', { scope: 'col' });
    const headB = h('th', { scope: 'col' });
    const shown = h('output', { 'aria-live': 'polite', id: 'asked' });
    const state = { find: '', which: 'all', sort: 'worst', whole: run.queries.length <= 40 };
    const opened = new Set();
    const more = h('button', { type: 'button', class: 'more', onclick: () => { state.whole = true; draw(); } });

    const side = (cell, at, wanted) => {
      const passages = handed.get(cell.id)?.[at];
      const lead = h('h4', null, cell.id, ' ', outcome(cell, at));
      if (!passages) return h('div', null, lead, h('p', null, h('small', null, `The report keeps passages for ${counted(handed.size, 'setting')}; choose one of those marked ◆.`)));
      return h('div', null, lead, passages.length === 0 && h('p', null, h('small', null, 'Nothing is handed over.')), passages.map((place, at) => {
        const text = marked(place, wanted);
        const has = wanted.some((it) => it[0] === place[0] && it[2] > place[1] && it[1] < place[2]);
        return h('article', { class: has ? 'has' : 'lacks' }, h('p', { class: 'where' }, h('b', null, `${at + 1}`), ' ', h('code', null, lines(place)), has && h('em', null, 'has the answer')),
          text ? h('blockquote', null, text) : h('p', null, h('small', null, 'The text is left out to keep the page small.')));
      }));
    };
    const answer = (at) => {
      const references = run.answers.wanted[at] ?? [];
      const wanted = references.flat(2);
      return h('div', { class: 'sides' },
        h('div', { class: 'wanted' }, h('h4', null, 'Wanted'), !hasAnswer(at) && h('p', null, 'Nothing: the documents do not answer this question.'), references.map((any) => h('article', null, any.slice(0, 1).flat(1).map((place) => [
          h('p', { class: 'where' }, h('code', null, lines(place)), any.length > 1 && h('small', null, `or ${counted(any.length - 1, 'other place')}`)),
          marked(place, []) && h('blockquote', null, h('mark', null, marked(place, [])))])))),
        side(a, at, wanted), a !== b && side(b, at, wanted));
    };
    const detail = (at) => h('tr', { class: 'open' }, h('td', { colspan: 4 }, answer(at)));
    /** The row of a question, and below it the answers if it is open. */
    const line = (at) => {
      const query = run.queries[at];
      const button = h('button', { type: 'button', class: 'ask', 'aria-expanded': String(opened.has(at)) }, query.text);
      const cell = (of) => h('td', { class: 't' }, outcome(of, at), ' ', h('small', null, number(primary, valueOf(of, at))));
      const row = h('tr', null, h('th', { scope: 'row' }, button, h('small', null, query.id, query.tags.length > 0 && ` · ${query.tags.join(', ')}`)), cell(a), cell(b),
        h('td', null, h('span', { class: 'share', 'aria-hidden': 'true', style: `--at:${askedBy[at] ? (100 * foundBy[at]) / askedBy[at] : 0}%` }), askedBy[at] ? `${foundBy[at]} of ${askedBy[at]}` : NONE));
      button.addEventListener('click', () => {
        if (opened.delete(at)) row.nextElementSibling.remove(); else { opened.add(at); row.after(detail(at)); }
        button.setAttribute('aria-expanded', String(opened.has(at)));
      });
      return opened.has(at) ? [row, detail(at)] : [row];
    };
    const tests = {
      all: () => true,
      lost: (at) => hasAnswer(at) && valueOf(a, at) < 1,
      differ: (at) => valueOf(a, at) !== valueOf(b, at),
      nobody: (at) => askedBy[at] > 0 && foundBy[at] === 0,
      none: (at) => !hasAnswer(at),
      everybody: (at) => askedBy[at] > 0 && foundBy[at] === askedBy[at],
    };
    const worth = {
      worst: (at) => valueOf(a, at) ?? 9,
      gap: (at) => -Math.abs((valueOf(a, at) ?? 0) - (valueOf(b, at) ?? 0)),
      hardest: (at) => foundBy[at] / (askedBy[at] || 1),
      file: (at) => at,
    };
    const draw = () => {
      headA.replaceChildren(visible(a.id));
      headB.replaceChildren(visible(b.id));
      const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
      const all = run.queries.map((_, at) => at).filter((at) => tests[state.which](at)
        && words.every((word) => `${run.queries[at].id} ${run.queries[at].text} ${run.queries[at].tags.join(' ')}`.toLowerCase().includes(word)));
      all.sort((x, y) => worth[state.sort](x) - worth[state.sort](y) || x - y);
      const listed = all.slice(0, state.whole ? all.length : 20);
      more.hidden = listed.length === all.length;
      more.textContent = `Show all ${all.length}`;
      body.replaceChildren();
      for (const at of listed) put(body, line(at));
      shown.textContent = `${all.length} of ${counted(run.queries.length, 'question')}`;
    };
    const options = scored.map((cell) => [cell.id, `${handed.has(cell.id) ? '◆ ' : ''}${cell.id}`]);
    const pickA = select('Setting', options, (id) => { a = byId.get(id); draw(); }, a.id);
    const pickB = select('Compared with', options, (id) => { b = byId.get(id); draw(); }, b.id);
    const which = select('Show', [['all', 'all questions'], ['lost', 'not all found'], ['differ', 'the two differ'], ['nobody', 'no setting finds it'], ['everybody', 'every setting finds it'], ...(run.queries.some((query) => query.unanswered) ? [['none', 'not in the documents']] : [])], (value) => { state.which = value; draw(); }, 'all');
    const sort = select('Order', [['worst', 'worst first'], ['gap', 'largest difference first'], ['hardest', 'hardest for all first'], ['file', 'as in the file']], (value) => { state.sort = value; draw(); }, 'worst');
    const find = h('input', { type: 'search', id: 'find-question', placeholder: 'words of the question', oninput: () => { state.find = find.value; draw(); } });
    draw();
    const counts = ['f', 's', 'p', 'm', 'u', 'n'].map((letter) => [letter, [...a.outcomes].filter((it) => it === letter).length]).filter(([, count]) => count > 0);
    const summary = h('div', { class: 'stack', role: 'img', 'aria-label': counts.map(([letter, count]) => `${count} ${OUTCOMES[letter][0]}`).join(', ') },
      counts.map(([letter, count]) => h('span', { class: OUTCOMES[letter][0].replace(' ', '-'), style: `flex:${count}` }, `${count} ${OUTCOMES[letter][0]}`)));
    const left = cells.length - scored.length;
    return section('questions', 'Every question', [`What each setting hands over for each question, by ${title(primary)}. Open a question to see what was wanted beside what was handed over.`,
      left > 0 && ` The page has the answers of ${counted(scored.length, 'setting')}; report.json has those of all.`],
      advised === a && h('p', { class: 'counts' }, h('span', null, name(a)), summary),
      h('div', { class: 'controls' }, pickA.it, pickB.it, which.it, sort.it, h('label', { class: 'wide' }, h('span', null, 'Find'), find), shown),
      h('div', { class: 'scroll asked', role: 'group', 'aria-label': 'Every question', tabindex: 0 }, h('table', { id: 'questions-table' }, h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Question'), headA, headB, h('th', { scope: 'col', class: 'n' }, 'Found by'))), body)), more,
      h('p', { class: 'key' }, Object.entries(OUTCOMES).filter(([letter]) => scored.some((cell) => cell.outcomes.includes(letter))).map(([, [word, says]]) => h('span', null, h('span', { class: `outcome ${word.replace(' ', '-')}` }, word), ` ${says}`))));
  };

  // ---- Settings ---------------------------------------------------------------------------------------------------

  const settings = () => {
    const ends = scaleOf(cells.flatMap((cell) => [...interval(cell), mean(cell)]), isShare(primary));
    const range = [ends[0], ends.at(-1)];
    const against = (cell) => (cell.comparison ? cell.comparison.difference : 0);
    const extra = ['span_recall', 'retrieved_tokens'].filter((it) => it !== primary && metric(it));
    const columns = [
      { name: '#', says: 'Rank by the metric that decides', up: true, value: (cell) => rank.get(cell), show: (cell) => rank.get(cell) },
      { name: 'Setting', text: true, value: (cell) => cell.id, show: (cell) => [name(cell), cell.spec_text !== cell.build && h('small', null, cell.spec_text)] },
      { name: capital(title(primary)), says: metric(primary)?.meaning, value: (cell) => mean(cell), show: (cell) => h('b', null, number(primary, mean(cell))) },
      { name: `${confidence} interval`, value: (cell) => interval(cell)[0], show: (cell) => [bar(cell, range), h('small', null, known(mean(cell)) ? `${number(primary, interval(cell)[0])} to ${number(primary, interval(cell)[1])}` : NONE)] },
      { name: 'Against the best', says: 'Difference of the means over the same questions', value: against,
        show: (cell) => (cell.comparison ? signed(cell.comparison.difference) : cell.id === verdict?.best ? 'best' : NONE) },
      { name: 'May be as good', says: 'Not shown to be worse than the best, corrected for the number of comparisons', text: true, value: (cell) => (isOpen(cell) ? 'yes' : 'no'), show: (cell) => (isOpen(cell) ? h('em', null, 'yes') : known(mean(cell)) ? 'no' : NONE) },
      { name: 'Probability of being the best', value: (cell) => cell.p_best, show: (cell) => percent(cell.p_best) },
      ...extra.map((it) => ({ name: capital(title(it)), says: metric(it).meaning, value: (cell) => mean(cell, it), show: (cell) => number(it, mean(cell, it)) })),
      { name: 'Chunks', value: (cell) => cell.chunks, show: (cell) => whole(cell.chunks) },
      { name: 'Dataset, MB', value: (cell) => cell.cost.bytes, show: (cell) => significant(cell.cost.bytes / 1e6) },
    ];
    const state = { find: '', mode: '', k: '', open: false };
    const shown = h('output', { 'aria-live': 'polite', id: 'shown' });
    const { it, rows } = sortable('All settings', columns, cells, { name: '#', up: true }, { heading: 1, table: { id: 'board' }, row: (cell) => ({ class: cell === advised ? 'advised' : null, id: `s${rank.get(cell)}` }) });
    tall(it).classList.add('board');
    const draw = () => {
      const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const [cell, row] of rows) {
        row.hidden = !((!state.mode || cell.retrieval === state.mode) && (!state.k || String(cell.k) === state.k) && (!state.open || isOpen(cell))
          && words.every((word) => `${cell.id} ${cell.spec_text}`.toLowerCase().includes(word)));
        count += !row.hidden;
      }
      shown.textContent = `${count} of ${counted(cells.length, 'setting')}`;
    };
    const distinct = (pick) => [...new Set(cells.map(pick))].sort().map((value) => [String(value), String(value)]);
    const any = ['', 'any'];
    const find = h('input', { type: 'search', id: 'find', placeholder: 'recursive max=256', oninput: () => { state.find = find.value; draw(); } });
    const mode = select('Search', [any, ...distinct((cell) => cell.retrieval)], (value) => { state.mode = value; draw(); });
    const k = select('k', [any, ...distinct((cell) => cell.k)], (value) => { state.k = value; draw(); });
    mode.input.id = 'by-mode';
    k.input.id = 'by-k';
    const open = h('input', { type: 'checkbox', id: 'only-open', onchange: () => { state.open = open.checked; draw(); } });
    draw();
    const few = representatives.slice(0, 6);
    const all = run.metrics.filter((it) => few.some((cell) => known(mean(cell, it.name))));
    return section('settings', 'All settings', ['Best first by ', title(primary), '. A setting ', h('em', null, 'may be as good'), ' as the best if it is not shown to be worse, corrected for the number of comparisons, or if it comes out best in 2.5\u00a0% or more of the samples.'],
      h('div', { class: 'controls' }, h('label', { class: 'wide' }, h('span', null, 'Find'), find), mode.it, k.it, h('label', { class: 'check' }, open, h('span', null, 'only those that may be as good')), shown),
      it,
      all.length > 0 && few.length > 0 && folded(`All ${counted(all.length, 'metric')} of ${counted(few.length, 'setting')}`, table('All metrics of some settings', [['Metric'], ...few.map((cell) => [cell.id])],
        all.map((it) => [h('span', { title: it.meaning }, capital(it.title)), ...few.map((cell) => number(it.name, mean(cell, it.name)))]))));
  };

  // ---- Sizes, overlaps, budgets -----------------------------------------------------------------------------------

  const alike = (cell, without) => JSON.stringify([Object.entries(cell.spec).filter(([key]) => key !== without && !(without === 'max' && key === 'target')).sort(), cell.model, cell.engine, cell.retrieval, cell.k]);
  /** The best family of each strategy whose members differ only in one setting. */
  const families = (key) => {
    const all = new Map();
    for (const cell of cells) {
      const x = Number(setting(cell, key));
      if (setting(cell, key) === '' || !Number.isFinite(x) || !known(mean(cell))) continue;
      const of = alike(cell, key);
      if (!all.has(of)) all.set(of, new Map());
      if (!all.get(of).has(x)) all.get(of).set(x, cell);
    }
    const chosen = new Map();
    for (const members of all.values()) {
      const [one] = members.values();
      const kind = `${setting(one, 'strategy')}${setting(one, 'unit') ? `, ${setting(one, 'unit')}` : ''}`;
      // The family of the advised setting comes before a better one of its strategy that is searched in another way.
      if (members.size > 1 && (!chosen.has(kind) || [...members.values()].includes(advised))) chosen.set(kind, members);
    }
    return [...chosen];
  };
  const says = (cell, name, s) => `${cell.id}: ${number(name, s[0])} (${number(name, s[1])} to ${number(name, s[2])})`;
  const sizes = () => {
    const drawn = [['max', 'Largest chunk'], ['overlap', 'Overlap'], ['min', 'Smallest chunk']].map(([key, heading]) => {
      const found = families(key).slice(0, 6);
      if (!found.length) return undefined;
      const series = found.map(([kind, members], at) => {
        const some = [...members].sort(([a], [b]) => a - b);
        const [, best] = some.reduce((best, next) => (rank.get(next[1]) < rank.get(best[1]) ? next : best));
        return { name: kind, label: String(at + 1), main: some.some(([, cell]) => cell === advised) || (at === 0 && !found.some(([, it]) => [...it.values()].includes(advised))),
          note: `best at ${some.filter(([, cell]) => mean(cell) === mean(best)).map(([x]) => x).join(', ')}: ${number(primary, mean(best))}`,
          points: some.map(([x, cell]) => ({ x, y: mean(cell), lo: interval(cell)[0], hi: interval(cell)[1], says: says(cell, primary, cell.metrics[primary]), mark: cell === advised ? 'advised' : null })) };
      });
      return h('figure', { class: 'card' }, h('figcaption', null, heading),
        plot({ label: `${title(primary)} by ${heading.toLowerCase()}`, xTitle: `${heading.toLowerCase()}, in the strategy’s unit`, yTitle: title(primary), series, steps: true, shares: isShare(primary), showX: whole }),
        legend(series),
        folded('The values', table(`Values by ${heading.toLowerCase()}`, [['Setting'], [heading], ['Mean'], [`${confidence} interval`]],
          found.flatMap(([, members]) => [...members].map(([x, cell]) => [name(cell), whole(x), number(primary, mean(cell)), `${number(primary, interval(cell)[0])} to ${number(primary, interval(cell)[1])}`])))));
    }).filter(Boolean);
    return drawn.length > 0 && section('sizes', 'Sizes and overlap', `Along a curve nothing else differs. Each strategy is shown with its best other settings; the band is the ${confidence} interval of each mean. Where intervals overlap widely, the questions do not tell the sizes apart.`, h('div', { class: 'cards' }, drawn));
  };

  const budgets = () => {
    const at = run.scoring.budgets.map((budget) => [budget, `evidence_in_context_${budget}`]).filter(([, it]) => cells.some((cell) => known(mean(cell, it))));
    if (at.length < 2) return undefined;
    const some = representatives.filter((cell) => at.some(([, it]) => known(mean(cell, it)))).slice(0, 7);
    const series = some.map((cell, number) => ({ name: cell.id, label: String(number + 1), main: cell === advised, note: share(mean(cell)),
      points: at.filter(([, it]) => known(mean(cell, it))).map(([budget, it]) => ({ x: budget, y: mean(cell, it), lo: cell.metrics[it][1], hi: cell.metrics[it][2], says: `${cell.id}, ${whole(budget)} tokens: ${share(mean(cell, it))} (${share(cell.metrics[it][1])} to ${share(cell.metrics[it][2])})` })) }));
    return section('budgets', 'Budgets', 'How much of the text that answers a question reaches the reader, by the number of tokens handed over. Large chunks have no advantage here: everybody gets the same number of tokens.',
      h('figure', { class: 'card' }, h('figcaption', null, 'Share of the answer’s text that reaches the reader'),
        plot({ label: `Evidence by budget for ${counted(some.length, 'setting')}`, xTitle: 'tokens handed over', yTitle: 'share of the answer’s text', series, steps: true, shares: true, height: 300, showX: whole }), legend(series),
        folded('The values', table('Evidence by budget', [['Setting'], ...at.map(([budget]) => [`${whole(budget)} tokens`])], some.map((cell) => [name(cell), ...at.map(([, it]) => (known(mean(cell, it)) ? `${share(mean(cell, it))} (${share(cell.metrics[it][1])} to ${share(cell.metrics[it][2])})` : NONE))])))));
  };

  const modes = () => {
    const order = ['vector', 'keyword', 'hybrid', 'graph'];
    const all = [...new Set(cells.map((cell) => cell.retrieval))].sort((a, b) => (order.indexOf(a) + 1 || 9) - (order.indexOf(b) + 1 || 9));
    if (all.length < 2) return undefined;
    const groups = new Map();
    for (const cell of cells.filter((cell) => known(mean(cell)))) {
      const key = JSON.stringify([cell.build, cell.k]);
      groups.set(key, [...(groups.get(key) ?? []), cell]);
    }
    const several = [...groups.values()].filter((some) => some.length > 1);
    if (!several.length) return undefined;
    const verdicts = new Map(verdict?.hybrid.map((it) => [it.hybrid, it]));
    const words = (it) => (!it ? NONE : `${!it.comparison.separable ? 'no clear difference' : it.comparison.difference < 0 ? 'worse' : 'better'}, ${signed(it.comparison.difference)} (${signed(it.comparison.lo)} to ${signed(it.comparison.hi)})`);
    return section('modes', 'Ways to search', [run.hybrid && prose(`${run.hybrid} `), 'Each row has the same chunks and the same k. Each interval is for one difference alone; the words better and worse are corrected for the number of comparisons.'],
      table('Ways to search', [['Chunks'], ['k'], ...all.map((mode) => [mode]), ...(verdicts.size ? [['Hybrid against its better half', undefined, true]] : [])], several.slice(0, 12).map((some) => {
        const best = Math.max(...some.map((cell) => mean(cell)));
        return [some[0].build, some[0].k, ...all.map((mode) => {
          const cell = some.find((it) => it.retrieval === mode);
          return cell ? h(mean(cell) === best ? 'b' : 'span', null, number(primary, mean(cell))) : NONE;
        }), ...(verdicts.size ? [words(some.map((cell) => verdicts.get(cell.id)).find(Boolean))] : [])];
      })));
  };

  // ---- Costs ------------------------------------------------------------------------------------------------------

  const COSTS = {
    retrieved_tokens: ['tokens of the k best chunks', (cell) => mean(cell, 'retrieved_tokens')],
    bytes: ['size of the dataset, MB', (cell) => (cell.cost.bytes ? cell.cost.bytes / 1e6 : undefined)],
    index_seconds: ['indexing time, s', (cell) => cell.cost.index?.seconds.median],
    query_ms: ['time per question, ms', (cell) => cell.cost.query_ms.p50 || undefined],
  };
  const costs = () => {
    const builds = [...new Map(cells.map((cell) => [cell.build, cell]).reverse()).values()].sort((a, b) => rank.get(a) - rank.get(b));
    const price = { index: 0, read: 0, currency: '' };
    const budget = Number(/_(\d+)$/.exec(primary)?.[1]);
    const money = (x) => (known(x) ? `${significant(x)}${price.currency ? ` ${price.currency}` : ''}` : NONE);
    const holder = h('div', null);
    const draw = () => {
      const priced = price.index > 0 || price.read > 0;
      const rows = builds.map((cell) => {
        const { cost } = cell;
        const index = cost.index?.seconds;
        const truncated = cost.truncated ? `${whole(cost.truncated)} (${percent(cost.truncated / (cell.chunks || 1))})` : '0';
        return [cell === advised || cell.build === advised?.build ? [cell.build, ' ', h('em', null, 'advised')] : cell.build, whole(cell.chunks), whole(cost.tokens), truncated, bytes(cost.bytes),
          index ? [significant(index.median), h('small', null, index.max > index.min ? `${significant(index.min)} to ${significant(index.max)}` : 'one run')] : NONE,
          cost.peak_rss?.index ? bytes(cost.peak_rss.index) : NONE, [significant(cost.query_ms.p50), h('small', null, `95\u00a0%: ${significant(cost.query_ms.p95)}`)],
          ...(priced ? [money((cost.tokens / 1e6) * price.index), money(1000 * ((known(budget) ? budget : mean(cell, 'retrieved_tokens')) / 1e6) * price.read)] : [])];
      });
      holder.replaceChildren(table('Costs', [['Chunks by'], ['Chunks'], ['Tokens', 'cl100k_base'], ['Truncated', 'Chunks whose end the model does not see'], ['Dataset'], ['Indexing, s', 'Median and range of the runs'], ['Memory to index'], ['Question, ms', 'Median'],
        ...(priced ? [['Embedding everything', 'Tokens of all chunks at the given price'], ['1,000 questions read', 'Tokens handed over at the given price']] : [])], rows));
    };
    const amount = (label, key) => h('label', null, h('span', null, label), h('input', { type: 'number', min: 0, step: 'any', inputmode: 'decimal', class: 'short', oninput: ({ target }) => { price[key] = Number(target.value) || 0; draw(); } }));
    draw();
    const choice = Object.entries(COSTS).filter(([, [, read]]) => new Set(cells.map(read).filter(known)).size > 1);
    const drawing = h('div', null);
    const scatter = (key) => {
      const [xTitle, read] = COSTS[key];
      const y = key === 'retrieved_tokens' && metric('span_recall') ? 'span_recall' : primary;
      const points = cells.filter((cell) => known(read(cell)) && known(mean(cell, y))).map((cell) => ({ cell, x: read(cell), y: mean(cell, y), mark: cell === advised ? 'advised' : key !== 'index_seconds' && cell.pareto.includes(key) ? 'front' : null,
        says: `${cell.id}: ${number(y, mean(cell, y))}, ${xTitle} ${significant(read(cell))}` }));
      drawing.replaceChildren(plot({ label: `${title(y)} by ${xTitle}`, xTitle, yTitle: title(y), shares: isShare(y), height: 300, series: [{ name: 'settings', loose: true, quiet: true, points: points.sort((a, b) => Boolean(a.mark) - Boolean(b.mark)) }],
        onpick: ({ cell }) => { const row = document.getElementById(`s${rank.get(cell)}`); row.hidden = false; row.scrollIntoView({ block: 'center' }); row.classList.add('hit'); setTimeout(() => row.classList.remove('hit'), 2500); } }));
    };
    if (choice.length) scatter(choice[0][0]);
    const pick = choice.length > 0 && select('Cost', choice.map(([key, [name]]) => [key, name]), scatter);
    const spread = cells.some((cell) => cell.cost.index && cell.cost.index.repeats > 1);
    return section('costs', 'Costs', [spread ? 'Times are medians with their range. Two times whose ranges overlap say nothing about which setting is faster.' : 'Indexing was timed once, so small differences between times say nothing.',
      ' A dataset’s costs are the same for all ways to search it.'],
      h('div', { class: 'controls' }, amount('Price of embedding a million tokens', 'index'), amount('Price of reading a million tokens', 'read'),
        h('label', null, h('span', null, 'Currency'), h('input', { type: 'text', class: 'short', maxlength: 5, oninput: ({ target }) => { price.currency = target.value.trim(); draw(); } }))),
      holder,
      choice.length > 0 && h('figure', { class: 'card' }, h('figcaption', null, 'Quality against cost'), h('div', { class: 'controls' }, pick.it),
        drawing, h('p', { class: 'key' }, h('span', null, h('i', { class: 'dot advised' }), ' advised'), h('span', null, h('i', { class: 'dot front' }), ' no other setting is both better and cheaper (not marked for indexing times, which vary)'), h('span', null, h('i', { class: 'dot' }), ' the others'))));
  };

  // ---- Method -----------------------------------------------------------------------------------------------------

  const method = () => {
    const { labels, scoring, environment } = run;
    const list = (heading, items) => h('div', null, h('h3', null, heading), h('dl', { class: 'list' }, items.map(([term, text]) => h('div', null, h('dt', null, term), h('dd', null, text)))));
    const quoted = (word) => (/^[\w\-./=:,@+%]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
    const states = Object.entries(labels.states).map(([state, count]) => `${count} ${state}`).join(', ');
    const models = [...new Set(cells.map((cell) => `${cell.model}, ${cell.engine}`))].join('; ');
    const correction = scoring.correction === 'holm' ? 'corrected for the number of comparisons by Holm’s method' : 'corrected for the number of comparisons by MaxT';
    return section('method', 'How it was measured', 'Everything needed to repeat the measurement, or to question it. The full numbers are in report.json and report.csv next to this page.',
      folded('Command, labels, scoring and machine',
        run.command.length > 0 && h('pre', { class: 'command', tabindex: 0 }, `chunkmill-eval ${run.command.filter((word, at) => at || word !== 'chunkmill-eval').map(quoted).join(' ')}`),
        h('div', { class: 'grid' },
          list('Labels', [['name', labels.name], ['questions', `${whole(labels.scored)} of ${whole(labels.queries)} could be scored`], ['references', states || NONE], ['documents', whole(labels.documents)],
            ['size', `${bytes(labels.bytes)}, ${whole(labels.tokens)} tokens`], ['made by', labels.synthetic ? 'synth, from the documents' : 'people'], ['hash of the questions', labels.queries_hash], ['hash of the documents', labels.corpus_hash]]),
          list('Scoring', [['metric that decides', `${title(primary)} (${primary})`], ['a reference is found when', scoring.coverage], ['budgets', scoring.budgets.length ? `${scoring.budgets.map(whole).join(', ')} tokens` : 'none'],
            ['depth', counted(scoring.depth, 'chunk')], ['intervals', `${confidence}, ${whole(scoring.resamples)} bootstrap samples; no width where all questions have one value, which proves nothing about others`], ['p-values', `${whole(scoring.permutations)} permutations, ${correction}`], ['drawn together', run.drawn], ['seed', String(scoring.seed)]]),
          list('Machine', [['system', `${environment.os} on ${environment.arch}`], ['processor', environment.cpu ?? 'unknown'], ['threads', whole(environment.cores)], ['memory', environment.memory_bytes ? bytes(environment.memory_bytes) : 'unknown'],
            ['models', models], ['program', `chunkmill-eval ${run.tool_version}`], ['measured', run.created]]))),
      run.left_out.length > 0 && folded(`${counted(run.left_out.length, 'setting')} not tried`, h('ul', { class: 'plain' }, run.left_out.map((left) => h('li', null, h('code', null, left.id), ': ', left.reason)))),
      run.metrics.length > 0 && folded('What the metrics mean', h('dl', { class: 'list' }, run.metrics.map((it) => h('div', null, h('dt', null, capital(it.title)), h('dd', null, `${capital(it.meaning)}.${it.higher_is_better ? '' : ' Lower is better.'}`))))));
  };

  // ---- Several runs -----------------------------------------------------------------------------------------------

  const compare = () => {
    const named = runs.map((it, at) => it.name ?? `run ${at + 1}`);
    const of = (it, id) => it.cells.find((cell) => cell.id === id);
    const value = (it, id) => of(it, id)?.metrics[it.scoring.primary]?.[0];
    const same = new Set(runs.map((it) => it.scoring.primary)).size === 1;
    const ids = [...new Set(runs.flatMap((it) => it.cells.map((cell) => cell.id)))];
    const average = (id) => { const all = runs.map((it) => value(it, id)).filter(known); return all.reduce((a, b) => a + b, 0) / all.length; };
    const shared = ids.filter((id) => runs.every((it) => known(value(it, id))));
    const order = [...shared].sort((a, b) => average(b) - average(a));
    const rest = ids.filter((id) => !shared.includes(id));
    const best = (it, at) => [h('b', null, named[at]), h('small', null, it.created.slice(0, 10))];
    const series = runs.map((it, at) => ({ name: named[at], label: String(at + 1), points: it.scoring.budgets.map((budget) => [budget, of(it, it.verdict?.advised)?.metrics[`evidence_in_context_${budget}`]])
      .filter(([, s]) => s).map(([budget, s]) => ({ x: budget, y: s[0], lo: s[1], hi: s[2], says: `${named[at]}, ${whole(budget)} tokens: ${share(s[0])} (${share(s[1])} to ${share(s[2])})` })) })).filter((one) => one.points.length > 1);
    return [
      section('runs', 'The runs', same ? 'Each run’s figure is that of the setting it advises, which is named below the table.' : 'The runs were decided by different metrics, so their figures must not be compared with each other.',
        table('The runs', [['Run'], [capital(title(primary))], [`${confidence} interval`], ['Labels'], ['Documents'], ['Questions'], ['Settings'], ['Model', undefined, true]], runs.map((it, at) => {
          const cell = of(it, it.verdict?.advised);
          const s = cell?.metrics[it.scoring.primary] ?? [];
          return [best(it, at), h('b', null, share(s[0])), `${share(s[1])} to ${share(s[2])}`, it.labels.name, whole(it.labels.documents), whole(it.labels.scored), whole(it.cells.length), [...new Set(it.cells.map((cell) => cell.model))].join(', ')];
        })),
        data.against.filter((it) => it.loss).map((it) => h('p', { class: 'note' }, h('b', null, named[it.run]), `: ${it.loss} since ${named[0]}. Its figures leave these questions out`,
          known(it.with_lost[runs[it.run].verdict?.advised]) ? `; with lost evidence as misses, its figure is ${share(it.with_lost[runs[it.run].verdict.advised])}.` : '.')),
        h('dl', { class: 'advice' }, runs.map((it, at) => it.verdict && h('div', null, h('dt', null, named[at]), h('dd', null, prose(it.verdict.advice.headline || it.verdict.text)))))),
      order.length > 0 && section('matrix', 'Settings in all runs', `${capital(title(primary))} of the ${counted(order.length, 'setting')} that all runs have, best on average first. The best of each run is bold.`,
        table('Settings in all runs', [['Setting'], ...named.map((it) => [it]), ['Average']], order.map((id) => [id, ...runs.map((it) => {
          const top = Math.max(...order.map((other) => value(it, other)));
          return h(value(it, id) === top ? 'b' : 'span', null, share(value(it, id)));
        }), share(average(id))]))),
      series.length > 0 && section('budgets', 'Budgets', 'The setting that each run advises.', h('figure', { class: 'card' }, h('figcaption', null, 'Share of the answer’s text that reaches the reader'),
        plot({ label: 'Evidence by budget', xTitle: 'tokens handed over', yTitle: 'share of the answer’s text', series, steps: true, shares: true, height: 300, showX: whole }), legend(series))),
      data.against.length > 0 && section('against', `Against ${named[0]}`, `Differences over the questions that both runs have, with their ${confidence} intervals.`, data.against.map((it) => [h('h3', null, named[it.run]), it.problem ? h('p', null, capital(it.problem)) :
        [it.notes.map((note) => h('p', { class: 'note' }, `${capital(note)}.`)), table(`Against ${named[0]}`, [['Setting'], [named[0]], [named[it.run]], ['difference'], ['interval'], ['more than chance'], ['questions better'], ['worse']],
          it.changes.map((change) => [change.cell, share(change.before), share(change.after), signed(change.comparison.difference), `${signed(change.comparison.lo)} to ${signed(change.comparison.hi)}`, change.comparison.separable ? 'yes' : 'could be chance', whole(change.better), whole(change.worse)]))]])),
      rest.length > 0 && section('rest', 'Settings of some runs', undefined, table('Settings of some runs', [['Setting'], ...named.map((it) => [it])], rest.map((id) => [id, ...runs.map((it) => share(value(it, id)))]))),
      section('costs', 'Costs', 'Times of different machines must not be compared.', table('Costs', [['Run'], ['Setting'], ['Dataset'], ['Indexing, s'], ['Question, ms'], ['Processor']], runs.map((it, at) => {
        const cell = of(it, it.verdict?.advised);
        const index = cell?.cost.index?.seconds;
        return [named[at], cell?.id ?? NONE, cell ? bytes(cell.cost.bytes) : NONE, index ? `${significant(index.median)} (${significant(index.min)} to ${significant(index.max)})` : NONE, cell ? significant(cell.cost.query_ms.p50) : NONE, it.environment.cpu ?? 'unknown'];
      }))),
    ];
  };

  // ---- The page ---------------------------------------------------------------------------------------------------

  const several = runs.length > 1;
  const changed = data.change && change();
  const sections = (several ? compare() : [changed, questions(), settings(), sizes(), budgets(), modes(), costs(), method()]).filter(Boolean);
  const heading = several ? `${runs.length} runs compared` : `Chunk settings for ${run.labels.name}`;
  put(document.getElementById('page'), [
    h('header', { class: 'masthead' }, h('p', { class: 'brand' }, 'chunkmill ', h('span', null, 'evaluation')), several ? h('h1', { class: 'answer' }, heading) : [h('p', { class: 'subject' }, heading), facts(), data.change && banner()]),
    h('div', { class: 'frame' }, h('nav', { 'aria-label': 'Sections' }, h('ul', null, sections.map((it) => h('li', null, h('a', { href: `#${it.id}` }, it.querySelector('h2').textContent))))),
      h('main', { id: 'content', tabindex: -1, class: changed ? 'changed' : null }, changed, several ? null : first(), sections.filter((it) => it !== changed))),
  ]);
  document.documentElement.dataset.ready = 'yes';
})();
