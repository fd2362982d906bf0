
// The page itself. Text of the project only ever becomes text nodes, never markup.

const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const SVG = 'http://www.w3.org/2000/svg';

function el(tag, attrs, ...kids) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs || {})) {
    if (k === 'on') for (const [name, f] of Object.entries(v)) e.addEventListener(name, f);
    else if (v !== undefined && v !== false) e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...kids.flat(Infinity).filter(x => x !== undefined && x !== null && x !== false && x !== ''));
  return e;
}
function svg(tag, attrs, ...kids) {
  const e = document.createElementNS(SVG, tag);
  for (const [k, v] of Object.entries(attrs || {})) e.setAttribute(k, v);
  e.append(...kids);
  return e;
}

// ---- the project ----
const nodes = data.nodes, byID = new Map(nodes.map(n => [n.id, n]));
const parents = new Map(), children = new Map();
for (const n of nodes) { parents.set(n.id, []); children.set(n.id, []); }
for (const n of nodes) for (const p of n.parents || []) if (byID.has(p)) { parents.get(n.id).push(p); children.get(p).push(n.id); }
const order = { source: 0, seed: 1, model: 2, snapshot: 3, test: 4 };
nodes.sort((a, b) => order[a.type] - order[b.type] || a.name.localeCompare(b.name, undefined, { numeric: true }));
const plural = { source: 'Sources', seed: 'Seeds', model: 'Models', snapshot: 'Snapshots', test: 'Tests' };
// One colour for each engine, the same in every project.
const known = ['postgres', 'mysql', 'mariadb', 'clickhouse', 'sqlite', 'duckdb', 'file', 's3'];
const engines = [...new Set(nodes.filter(n => n.type !== 'test' && n.engine).map(n => n.engine))].sort();
const colour = engine => 'var(--e' + (known.indexOf(engine) < 0 ? 8 : known.indexOf(engine)) + ')';
const crosses = (a, b) => a.connection !== b.connection && a.type !== 'test' && b.type !== 'test' && a.connection && b.connection;

function reach(id, next) {
  const seen = new Set(), todo = [id];
  while (todo.length) for (const x of next.get(todo.pop())) if (!seen.has(x)) { seen.add(x); todo.push(x); }
  return seen;
}

// ---- state ----
const state = { node: null, whole: true, tests: false, off: new Set(['test']), engineOff: new Set(), query: '' };
const dot = engine => { const s = el('i', { class: 'dot' }); s.style.background = engine ? colour(engine) : 'var(--faint)'; return s; };
const hash = id => '#/' + encodeURIComponent(id);
const link = id => el('a', { href: hash(id), class: 'ref' }, dot(byID.get(id).engine), byID.get(id).name);

// ---- sidebar ----
const haystack = new Map(nodes.map(n => [n, [n.name, n.id, n.relation, n.path, n.description, (n.tags || []).join(' '), n.materialized, n.connection, n.engine,
  (n.columns || []).map(c => c.name + ' ' + (c.description || '')).join(' '), n.raw].join('\n').toLowerCase()]));

function found() {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  return nodes.filter(n => (words.length || !state.off.has(n.type)) && !(state.off.has(n.type) && n.type !== 'test') && words.every(w => haystack.get(n).includes(w)))
    .sort((a, b) => words.length ? rank(b, words) - rank(a, words) || order[a.type] - order[b.type] || a.name.localeCompare(b.name, undefined, { numeric: true }) : 0);
}
const rank = (n, words) => words.reduce((s, w) => s + (n.name.toLowerCase() === w ? 4 : n.name.toLowerCase().startsWith(w) ? 3 : n.name.toLowerCase().includes(w) ? 2 : 0), 0);

function drawList() {
  const hits = found(), list = $('list'), groups = new Map();
  for (const n of hits) {
    const key = state.query ? 'Found' : plural[n.type] || n.type;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(n);
  }
  list.replaceChildren(...[...groups].map(([name, all]) => el('section', {}, el('h2', {}, name + ' ', el('span', {}, String(all.length))),
    all.slice(0, 1500).map(n => el('a', { href: hash(n.id), class: n === state.node ? 'item on' : 'item', title: n.id, 'data-id': n.id }, dot(n.engine), el('span', {}, n.name),
      state.query ? el('em', {}, n.type) : el('em', {}, n.type === 'source' ? n.connection : n.materialized === n.type ? '' : n.materialized || ''))))));
  if (!hits.length) list.append(el('p', { class: 'none' }, 'Nothing matches “' + state.query + '”.'));
}

function drawKinds() {
  $('kinds').replaceChildren(...Object.keys(order).filter(k => nodes.some(n => n.type === k)).map(k => el('button', {
    type: 'button', class: state.off.has(k) ? 'chip off' : 'chip', 'aria-pressed': String(!state.off.has(k)),
    on: { click: () => { if (!state.off.delete(k)) state.off.add(k); drawKinds(); drawList(); } },
  }, plural[k], ' ', el('span', {}, String(nodes.filter(n => n.type === k).length)))));
}

function drawLegend() {
  $('legend').replaceChildren(...engines.map(e => el('button', {
    type: 'button', class: state.engineOff.has(e) ? 'chip off' : 'chip', 'aria-pressed': String(!state.engineOff.has(e)), title: 'Fade ' + e,
    on: { click: () => { if (!state.engineOff.delete(e)) state.engineOff.add(e); drawLegend(); mark(); } },
  }, dot(e), e)), el('span', { class: 'key' }, el('i', { class: 'cross' }), 'crosses connections'));
}

// ---- graph ----
const W = 196, H = 34, GX = 84, GY = 50;
let drawn = null, box = null;

function shown() {
  const all = nodes.filter(n => state.tests || n.type !== 'test');
  if (state.whole || !state.node) return all;
  const keep = new Set([state.node.id, ...reach(state.node.id, parents), ...reach(state.node.id, children)]);
  return all.filter(n => keep.has(n.id));
}

function drawGraph() {
  const list = shown(), index = new Map(list.map((n, i) => [n.id, i])), edges = [];
  for (const n of list) for (const p of parents.get(n.id)) if (index.has(p)) edges.push([index.get(p), index.get(n.id)]);
  const at = arrange(list, edges), x = i => at.layer[i] * (W + GX), y = i => at.y[i] * GY;
  const g = svg('g', {}), lines = svg('g', { class: 'edges' }), boxes = svg('g', { class: 'nodes' });
  drawn = { list, index, edges: [], nodes: new Map() };
  edges.forEach(([a, b], k) => {
    const path = at.paths[k], cross = crosses(list[a], list[b]);
    let d = 'M' + (x(a) + W) + ' ' + y(a), px = x(a) + W, py = y(a);
    for (let i = 1; i < path.length; i++) {
      const last = i === path.length - 1, nx = x(path[i]), ny = y(path[i]), mid = (px + nx) / 2;
      d += 'C' + mid + ' ' + py + ' ' + mid + ' ' + ny + ' ' + (last ? nx - 5 : nx) + ' ' + ny;
      if (!last) { d += 'H' + (nx + W); px = nx + W; py = ny; }
    }
    const line = svg('path', { d, class: cross ? 'edge cross' : 'edge', 'marker-end': cross ? 'url(#tipx)' : 'url(#tip)' },
      svg('title', {}, list[a].name + ' → ' + list[b].name + (cross ? ' (' + list[a].connection + ' → ' + list[b].connection + ')' : '')));
    drawn.edges.push({ line, a: list[a].id, b: list[b].id });
    lines.append(line);
  });
  list.forEach((n, i) => {
    const name = n.name.length > 26 ? n.name.slice(0, 25) + '…' : n.name;
    const what = n.type === 'source' ? 'source' : n.type === 'model' ? n.materialized : n.type;
    const box = svg('g', { class: 'node ' + n.type, transform: 'translate(' + x(i) + ',' + (y(i) - H / 2) + ')', 'data-id': n.id },
      svg('title', {}, n.id + '\n' + [what, n.engine && n.connection + ' (' + n.engine + ')'].filter(Boolean).join(' · ')),
      svg('rect', { width: W, height: H, rx: n.type === 'source' || n.type === 'seed' ? 17 : 6 }),
      svg('rect', { class: 'bar', x: n.type === 'source' || n.type === 'seed' ? 11 : 0, y: n.type === 'source' || n.type === 'seed' ? 11 : 0, width: n.type === 'source' || n.type === 'seed' ? 12 : 6, height: n.type === 'source' || n.type === 'seed' ? 12 : H, rx: n.type === 'source' || n.type === 'seed' ? 6 : 3 }),
      svg('text', { x: n.type === 'source' || n.type === 'seed' ? 31 : 15, y: 15 }, name),
      svg('text', { x: n.type === 'source' || n.type === 'seed' ? 31 : 15, y: 27, class: 'sub' }, what + (n.connection ? ' · ' + n.connection : '')));
    box.querySelector('.bar').style.fill = n.engine ? colour(n.engine) : 'var(--faint)';
    drawn.nodes.set(n.id, box);
    boxes.append(box);
  });
  g.append(lines, boxes);
  const tip = (id, cls) => svg('marker', { id, viewBox: '0 0 8 8', refX: 6, refY: 4, markerWidth: 10, markerHeight: 10, markerUnits: 'userSpaceOnUse', orient: 'auto', class: cls }, svg('path', { d: 'M0 0L8 4L0 8z' }));
  $('graph').replaceChildren(svg('defs', {}, tip('tip', 'tip'), tip('tipx', 'tip cross')), g);
  drawn.size = { w: Math.max(1, at.width) * (W + GX) - GX, h: (Math.max(0, ...list.map((_, i) => at.y[i])) + 1) * GY };
  const faded = state.node ? 'Ancestors and descendants of ' + state.node.name + '. ' : '';
  $('hint').textContent = faded + 'Drag to move, wheel to zoom, click a node to see it.';
  mark();
  fit();
}

// mark shows what belongs to the chosen node, and fades engines that are switched off.
function mark() {
  if (!drawn) return;
  const id = state.node && drawn.index.has(state.node.id) ? state.node.id : null;
  const lit = id && new Set([id, ...reach(id, parents), ...reach(id, children)]);
  const off = n => state.engineOff.has(n.engine) || lit && !lit.has(n.id);
  for (const [k, box] of drawn.nodes) {
    box.classList.toggle('dim', !!off(byID.get(k)));
    box.classList.toggle('on', k === id);
  }
  const above = id && new Set([id, ...reach(id, parents)]), below = id && new Set([id, ...reach(id, children)]);
  for (const e of drawn.edges) {
    const on = id && (above.has(e.a) && above.has(e.b) || below.has(e.a) && below.has(e.b));
    e.line.classList.toggle('lit', !!on);
    e.line.classList.toggle('dim', !!(id && !on || state.engineOff.has(byID.get(e.a).engine) || state.engineOff.has(byID.get(e.b).engine)));
  }
}

function setBox(b) { box = b; $('graph').setAttribute('viewBox', [b.x, b.y, b.w, b.h].join(' ')); }
// fit shows the whole layout, or where that would be too small to read, its part around the
// chosen node or at its beginning.
function fit(everything) {
  const r = $('graph').getBoundingClientRect(), pad = 30;
  if (!r.width || !drawn) return;
  let scale = Math.max((drawn.size.w + 2 * pad) / r.width, (drawn.size.h + 2 * pad) / r.height, 0.8);
  let cx = drawn.size.w / 2, cy = drawn.size.h / 2 - GY / 2;
  if (!everything && scale > 2) {
    scale = 1.25;
    const at = state.node && drawn.nodes.get(state.node.id), m = at && /translate\(([-\d.]+),([-\d.]+)\)/.exec(at.getAttribute('transform'));
    if (m) { cx = +m[1] + W / 2; cy = +m[2] + H / 2; } else { cx = Math.min(cx, r.width * scale / 2 - pad); }
  }
  setBox({ x: cx - r.width * scale / 2, y: cy - r.height * scale / 2, w: r.width * scale, h: r.height * scale });
}

function moving() {
  const g = $('graph');
  let from = null;
  g.addEventListener('pointerdown', e => { if (e.button === 0) from = { x: e.clientX, y: e.clientY, box, moved: false }; });
  g.addEventListener('pointermove', e => {
    if (!from) return;
    const s = from.box.w / g.getBoundingClientRect().width, dx = e.clientX - from.x, dy = e.clientY - from.y;
    if (!from.moved && Math.hypot(dx, dy) < 4) return;
    if (!from.moved) { from.moved = true; g.setPointerCapture(e.pointerId); g.classList.add('drag'); }
    setBox({ ...from.box, x: from.box.x - dx * s, y: from.box.y - dy * s });
  });
  const end = e => {
    if (from && !from.moved && e.type === 'pointerup') {
      const hit = e.target.closest && e.target.closest('.node');
      if (hit) location.hash = hash(hit.dataset.id); else if (state.node && state.whole) location.hash = '#/';
    }
    from = null;
    g.classList.remove('drag');
  };
  g.addEventListener('pointerup', end);
  g.addEventListener('pointercancel', end);
  g.addEventListener('wheel', e => {
    e.preventDefault();
    const r = g.getBoundingClientRect(), f = Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.004);
    const w = Math.min(Math.max(box.w * f, 200), Math.max(drawn.size.w, drawn.size.h, r.width) * 4), k = w / box.w;
    const px = (e.clientX - r.left) / r.width, py = (e.clientY - r.top) / r.height;
    setBox({ x: box.x + box.w * px * (1 - k), y: box.y + box.h * py * (1 - k), w, h: box.h * k });
  }, { passive: false });
  new ResizeObserver(() => fit()).observe(g);
}

// ---- details ----
const keywords = new Set(('select from where and or not in is null as on using join left right full inner outer cross lateral group by having order limit offset union all except intersect distinct case when then else end with recursive over partition window rows range between like ilike cast insert into values create table view update delete merge set exists any true false asc desc qualify filter interval date timestamp').split(' '));
function code(text) {
  const pre = el('pre'), re = /(\{\{[^]*?\}\}|\{%[^]*?%\}|\{#[^]*?#\})|(--[^\n]*|\/\*[^]*?\*\/)|('(?:[^']|'')*')|("(?:[^"]|"")*")|(\b\d+(?:\.\d+)?\b)|([A-Za-z_][A-Za-z0-9_]*)/g;
  let last = 0;
  for (let m; (m = re.exec(text));) {
    const cls = m[1] ? 'jinja' : m[2] ? 'comment' : m[3] ? 'string' : m[4] ? 'ident' : m[5] ? 'number' : keywords.has(m[6].toLowerCase()) ? 'word' : '';
    if (!cls) continue;
    pre.append(text.slice(last, m.index), el('span', { class: cls }, m[0]));
    last = m.index + m[0].length;
  }
  pre.append(text.slice(last));
  return pre;
}

// prose is a description: paragraphs, lists, **bold** and `code`.
function prose(text) {
  const inline = s => s.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map(p => p.startsWith('`') && p.length > 2 ? el('code', {}, p.slice(1, -1)) : p.startsWith('**') && p.length > 4 ? el('b', {}, p.slice(2, -2)) : p);
  return text.trim().split(/\n\s*\n/).map(par => {
    const rows = par.split('\n');
    return rows.every(r => /^\s*[-*]\s/.test(r)) ? el('ul', {}, rows.map(r => el('li', {}, inline(r.replace(/^\s*[-*]\s+/, ''))))) : el('p', {}, inline(par.replace(/^#+\s*/, '')));
  });
}

function sqlBlock(n) {
  const tabs = [['Written', n.raw], ['Compiled', n.compiled]].filter(t => t[1]);
  if (!tabs.length) return null;
  const body = el('div', { class: 'code' }), bar = el('div', { class: 'tabs', role: 'tablist' });
  const show = k => {
    [...bar.querySelectorAll('[role=tab]')].forEach((b, i) => b.setAttribute('aria-selected', String(i === k)));
    body.replaceChildren(code(tabs[k][1]));
    copy.onclick = () => navigator.clipboard && navigator.clipboard.writeText(tabs[k][1]).then(() => { copy.textContent = 'Copied'; setTimeout(() => { copy.textContent = 'Copy'; }, 1200); });
  };
  const copy = el('button', { type: 'button', class: 'copy' }, 'Copy');
  tabs.forEach((t, k) => bar.append(el('button', { type: 'button', role: 'tab', on: { click: () => show(k) } }, t[0])));
  bar.append(copy);
  show(0);
  return el('section', {}, el('h2', {}, 'SQL'), bar, body);
}

function drawDetail() {
  const n = state.node, d = $('detail');
  document.title = (n ? n.name + ' · ' : '') + data.project + ' · dvt docs';
  if (!n) { d.replaceChildren(...overview()); return; }
  const ids = (list, test) => list.map(id => byID.get(id)).filter(x => (x.type === 'test') === test).map(x => x.id);
  const refs = (title, list) => list.length ? el('section', {}, el('h2', {}, title + ' ', el('span', {}, String(list.length))), el('div', { class: 'refs' }, list.map(link))) : null;
  const facts = [['Connection', n.connection && n.connection + (n.engine ? ' (' + n.engine + ')' : '')], ['Relation', n.relation], ['File', n.path], ['Package', n.package], ...(n.facts || [])].filter(f => f[1]);
  d.replaceChildren(...[
    el('header', {}, el('h1', {}, n.name),
      el('div', { class: 'badges' }, el('span', { class: 'badge' }, n.type), n.materialized && n.materialized !== n.type && el('span', { class: 'badge' }, n.materialized), n.federated && el('span', { class: 'badge' }, 'federated'),
        n.engine && el('span', { class: 'badge' }, dot(n.engine), n.engine), (n.tags || []).map(t => el('span', { class: 'badge tag' }, '#' + t)))),
    n.description ? el('div', { class: 'prose' }, prose(n.description)) : n.type === 'test' ? null : el('p', { class: 'none' }, 'No description.'),
    el('dl', {}, facts.map(f => [el('dt', {}, f[0]), el('dd', {}, f[1])])),
    (n.columns || []).length ? el('section', {}, el('h2', {}, 'Columns ', el('span', {}, String(n.columns.length))), el('div', { class: 'wide' }, el('table', {},
      el('thead', {}, el('tr', {}, ['Name', 'Type', 'Description', 'Tests and constraints'].map(h => el('th', {}, h)))),
      el('tbody', {}, n.columns.map(c => el('tr', {}, el('td', {}, el('code', {}, c.name)), el('td', { class: 'type' }, c.type || '', c.declared && el('small', {}, 'declared ' + c.declared)),
        el('td', {}, c.description ? prose(c.description) : '', (c.tags || []).map(t => el('span', { class: 'badge tag' }, '#' + t))), el('td', {}, (c.notes || []).map(t => el('span', { class: 'badge' }, t))))))))) : null,
    (n.constraints || []).length ? el('section', {}, el('h2', {}, 'Constraints'), el('ul', {}, n.constraints.map(c => el('li', {}, c)))) : null,
    refs(n.type === 'test' ? 'Tests' : 'Reads', ids(parents.get(n.id), false)),
    refs('Read by', ids(children.get(n.id), false)),
    refs('Tests', ids(children.get(n.id), true)),
    sqlBlock(n),
  ].filter(Boolean));
}

function overview() {
  const count = k => nodes.filter(n => n.type === k).length, cross = nodes.reduce((s, n) => s + parents.get(n.id).filter(p => crosses(byID.get(p), n)).length, 0);
  const places = new Map();
  for (const n of nodes) if (n.type !== 'test' && n.connection) { if (!places.has(n.connection)) places.set(n.connection, []); places.get(n.connection).push(n); }
  return [
    el('header', {}, el('h1', {}, data.project)),
    el('div', { class: 'tiles' }, Object.keys(order).filter(count).map(k => el('div', { class: 'tile' }, el('b', {}, String(count(k))), plural[k].toLowerCase())),
      el('div', { class: 'tile' }, el('b', {}, String(cross)), 'reads across connections')),
    el('section', {}, el('h2', {}, 'Connections'), el('div', { class: 'wide' }, el('table', {}, el('thead', {}, el('tr', {}, ['Name', 'Engine', 'Sources', 'Built there'].map(h => el('th', {}, h)))),
      el('tbody', {}, [...places].sort().map(([name, all]) => el('tr', {}, el('td', {}, el('code', {}, name)), el('td', {}, dot(all[0].engine), ' ' + (all[0].engine || '')),
        el('td', {}, String(all.filter(n => n.type === 'source').length)), el('td', {}, String(all.filter(n => n.type !== 'source').length)))))))),
    el('p', { class: 'none' }, 'Generated ' + data.generated + ' by dvt ' + data.version + '.'),
  ];
}

// ---- moving about ----
function route() {
  let id = '';
  try { id = decodeURIComponent(location.hash.replace(/^#\//, '')); } catch { /* no such node */ }
  const before = state.node;
  state.node = byID.get(id) || null;
  if (state.node && state.node.type === 'test' && !state.tests) { state.tests = true; $('tests').checked = true; drawn = null; }
  if (!state.node) state.whole = true; else if (!drawn || !drawn.index.has(id) || !before) state.whole = false;
  $('all').hidden = state.whole;
  document.body.classList.toggle('open', !!state.node);
  for (const a of $('list').querySelectorAll('.item')) a.classList.toggle('on', a.dataset.id === id);
  const on = $('list').querySelector('.item.on');
  if (on) on.scrollIntoView({ block: 'nearest' });
  drawDetail();
  drawGraph();
  $('detail').scrollTop = 0;
}

$('project').textContent = data.project;
$('search').addEventListener('input', e => { state.query = e.target.value.trim(); drawList(); });
$('search').addEventListener('keydown', e => { if (e.key === 'Enter') { const a = $('list').querySelector('.item'); if (a) location.hash = a.getAttribute('href'); } });
$('tests').addEventListener('change', e => { state.tests = e.target.checked; drawGraph(); });
$('fit').addEventListener('click', () => fit(true));
$('all').addEventListener('click', () => { state.whole = true; $('all').hidden = true; drawGraph(); });
$('theme').addEventListener('click', () => {
  const dark = getComputedStyle(document.documentElement).colorScheme.trim() === 'dark' || !document.documentElement.dataset.theme && matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
});
addEventListener('keydown', e => {
  const typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName);
  if (e.key === '/' && !typing) { e.preventDefault(); $('search').focus(); $('search').select(); }
  if (e.key === 'Escape') { if (typing) document.activeElement.blur(); else location.hash = '#/'; }
});
addEventListener('hashchange', route);
drawKinds();
drawList();
drawLegend();
moving();
route();
