// Sorts, filters, copies, and names points. Everything can be read without it.
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
  const body = board.tBodies[0];
  const rows = [...body.rows];
  const number = (text) => parseFloat(text.replaceAll(',', '').replace('−', '-'));

  // A column of numbers by number, any other by its text; what has no number comes last either way.
  const sortBy = (column, head, up) => {
    const key = (row) => row.cells[column].textContent.trim();
    const numeric = head.classList.contains('n') || head.classList.contains('quality');
    const value = new Map(rows.map((row) => [row, numeric ? number(key(row)) : key(row)]));
    const sign = up ? 1 : -1;
    rows.sort((a, b) => {
      const [x, y] = [value.get(a), value.get(b)];
      if (!numeric) return sign * x.localeCompare(y, 'en', { numeric: true });
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
      return sign * (x - y);
    });
    body.append(...rows);
    for (const other of board.tHead.rows[0].cells) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
  };
  [...board.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const now = head.getAttribute('aria-sort');
      sortBy(column, head, now ? now === 'descending' : column < 2);
    });
  });

  const texts = new Map(rows.map((row) => [row, row.cells[1].textContent.toLowerCase()]));
  const filter = () => {
    const words = $('find').value.toLowerCase().split(/\s+/);
    const [mode, k, ties, front] = [$('by-r').value, $('by-k').value, $('only-t').checked, $('only-p').checked];
    let shown = 0;
    for (const row of rows) {
      const { r, k: at, t, p } = row.dataset;
      row.hidden = !((!mode || r === mode) && (!k || at === k) && (!ties || t !== undefined || row.cells[0].textContent === '1')
        && (!front || p !== undefined) && words.every((word) => texts.get(row).includes(word)));
      shown += !row.hidden;
    }
    $('shown').textContent = `${shown} of ${rows.length}`;
  };
  for (const id of ['find', 'by-r', 'by-k', 'only-t', 'only-p']) $(id).addEventListener('input', filter);
  filter();

  // A point says which setting it is, and leads to its row.
  for (const svg of document.querySelectorAll('.canvas svg')) {
    const tip = svg.closest('figure').querySelector('.tip');
    const row = (event) => event.target.dataset.i && $('c' + event.target.dataset.i);
    svg.addEventListener('pointerover', (event) => {
      const hit = row(event);
      if (hit) tip.textContent = `#${hit.cells[0].textContent} ${hit.cells[1].textContent}: ${hit.cells[2].textContent.trim()}`;
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
