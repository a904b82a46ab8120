// Sorts, filters, copies, draws the bars of intervals, and explains figures on hover. The page is readable without it.
(() => {
  'use strict';
  const $ = (id) => document.getElementById(id);
  document.documentElement.classList.add('js');

  const copy = $('copy');
  copy?.addEventListener('click', async () => {
    const text = $('toml').textContent + '\n';
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      getSelection().selectAllChildren($('toml'));
      done = document.execCommand('copy');
    }
    copy.textContent = done ? 'Copied' : 'Selected';
    setTimeout(() => { copy.textContent = 'Copy'; }, 2000);
  });

  const board = $('board');
  const heads = [...board.tHead.rows[0].cells];
  const column = (name) => heads.findIndex((head) => head.dataset.c === name);
  const body = board.tBodies[0];
  const rows = [...body.rows];
  const byRank = [...rows];
  const text = (row, name) => row.cells[column(name)].textContent.trim();
  const number = (text) => parseFloat(text.replaceAll(',', '').replace('−', '-').replace(/^[<>]/, ''));

  // The bars of the intervals, all on one scale.
  const ends = rows.map((row) => [...text(row, 'interval').split('–'), text(row, board.dataset.mean)].map(number));
  const known = ends.flat().filter((end) => !Number.isNaN(end));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  rows.forEach((row, at) => {
    if (!(high > low) || ends[at].some(Number.isNaN)) return;
    ['--l', '--h', '--m'].forEach((name, end) => row.cells[column('interval')].style.setProperty(name, (ends[at][end] - low) / (high - low)));
  });

  // Sorts a column of numbers by number, any other by text. Cells without a number come last in both directions.
  const sortBy = (at, head, up) => {
    const key = (row) => row.cells[at].textContent.trim();
    const numeric = head.classList.contains('n');
    const value = new Map(rows.map((row) => [row, numeric ? number(key(row)) : key(row)]));
    const sign = up ? 1 : -1;
    rows.sort((a, b) => {
      const [x, y] = [value.get(a), value.get(b)];
      if (!numeric) return sign * x.localeCompare(y, 'en', { numeric: true });
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
      return sign * (x - y);
    });
    body.append(...rows);
    for (const other of heads) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
  };
  heads.forEach((head, at) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const now = head.getAttribute('aria-sort');
      sortBy(at, head, now ? now === 'descending' : !head.classList.contains('n') || at === 0);
    });
  });

  const names = new Map(rows.map((row) => [row, ['setting', 'search', 'k'].map((name) => text(row, name)).join(' ').toLowerCase()]));
  const isOpen = (row) => text(row, 'rank') === '1' || row.querySelector('em');
  const filter = () => {
    const words = $('find').value.toLowerCase().split(/\s+/);
    const [mode, k, open, front] = [$('by-r').value, $('by-k').value, $('only-t').checked, $('only-p').checked];
    let shown = 0;
    for (const row of rows) {
      row.hidden = !((!mode || text(row, 'search') === mode) && (!k || text(row, 'k') === k) && (!open || isOpen(row))
        && (!front || text(row, 'pareto')) && words.every((word) => names.get(row).includes(word)));
      shown += !row.hidden;
    }
    $('shown').textContent = `${shown} of ${rows.length}`;
  };
  for (const id of ['find', 'by-r', 'by-k', 'only-t', 'only-p']) $(id).addEventListener('input', filter);
  filter();

  // The tooltip of a figure in a table: its row, its column with the unit, and the subject of the table.
  document.addEventListener('pointerover', ({ target }) => {
    const cell = target.closest?.('td');
    if (!cell || cell.title) return;
    const table = cell.closest('table');
    const head = table.tHead.rows[0].cells[cell.cellIndex];
    const row = cell.parentElement.querySelector('th');
    const words = (it) => (it.querySelector('.spec') ?? it.firstChild ?? it).textContent.trim();
    const unit = head.title && head.title !== head.textContent ? ` (${head.title})` : '';
    cell.title = [table.dataset.u, row && words(row), head.textContent.trim() + unit].filter(Boolean).join(' · ');
  });

  // Hovering over a point shows its setting; a click scrolls to its row. The points of a cloud are in row order.
  for (const figure of document.querySelectorAll('figure[data-y]')) {
    const [svg, tip] = [figure.querySelector('svg'), figure.querySelector('.tip')];
    const [layer, cloud] = [svg.querySelector('svg'), svg.querySelector('.cloud')];
    const points = cloud.getAttribute('d').split('M').slice(1).map((point) => point.endsWith('z') && point.slice(0, -1).split(' ').map(Number));
    const nearest = ({ clientX, clientY }) => {
      const to = layer.getScreenCTM();
      let best = [144];
      points.forEach((point, at) => {
        if (!point) return;
        const far = (to.a * point[0] + to.e - clientX) ** 2 + (to.d * point[1] + to.f - clientY) ** 2;
        if (far < best[0]) best = [far, at];
      });
      return best[1];
    };
    const row = (event) => byRank[event.target.dataset.i ?? nearest(event)];
    const says = (row, name) => `${heads[column(name)].textContent} ${text(row, name)}`;
    svg.addEventListener('pointermove', (event) => {
      const hit = row(event);
      svg.style.cursor = hit ? 'pointer' : '';
      if (hit) tip.textContent = `#${text(hit, 'rank')} ${hit.cells[1].firstChild.textContent}, ${text(hit, 'search')}, k=${text(hit, 'k')}: ${says(hit, figure.dataset.y)}, ${says(hit, figure.dataset.x)}`;
    });
    svg.addEventListener('click', (event) => {
      const hit = row(event);
      if (!hit) return;
      hit.hidden = false;
      for (const old of body.querySelectorAll('.hit')) old.classList.remove('hit');
      hit.classList.add('hit');
      hit.scrollIntoView({ block: 'center' });
    });
  }
})();
