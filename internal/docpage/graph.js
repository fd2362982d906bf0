'use strict';
// Layout of a directed acyclic graph in layers, left to right. Works on indexes.

// layers puts each node right of all its parents, and nodes without parents next to the
// first that reads them.
function layers(n, parents, children) {
  const layer = new Array(n).fill(0), left = parents.map(p => p.length), order = [];
  for (let i = 0; i < n; i++) if (!left[i]) order.push(i);
  for (let at = 0; at < order.length; at++) {
    const i = order[at];
    for (const c of children[i]) {
      layer[c] = Math.max(layer[c], layer[i] + 1);
      if (--left[c] === 0) order.push(c);
    }
  }
  for (let at = order.length - 1; at >= 0; at--) {
    const i = order[at];
    if (!parents[i].length && children[i].length) layer[i] = Math.min(...children[i].map(c => layer[c])) - 1;
  }
  return layer;
}

// arrange gives each node of the layout a column and a row. Edges over several layers pass
// through points of their own, so that they bend around boxes.
function arrange(nodes, edges) {
  const n = nodes.length, parents = nodes.map(() => []), children = nodes.map(() => []);
  for (const [a, b] of edges) { parents[b].push(a); children[a].push(b); }
  const layer = layers(n, parents, children);
  const up = nodes.map(() => []), down = nodes.map(() => []), paths = [];
  let count = n;
  for (const [a, b] of edges) {
    const path = [a];
    for (let l = layer[a] + 1; l < layer[b] && layer[b] - layer[a] < 40; l++) {
      layer.push(l); up.push([]); down.push([]);
      path.push(count++);
    }
    path.push(b);
    for (let i = 1; i < path.length; i++) { up[path[i]].push(path[i - 1]); down[path[i - 1]].push(path[i]); }
    paths.push(path);
  }
  const rows = [];
  for (let i = 0; i < count; i++) (rows[layer[i]] ||= []).push(i);
  for (let l = 0; l < rows.length; l++) rows[l] ||= [];
  // The first order follows the parents, so that trees start untangled.
  const pos = new Array(count).fill(0);
  rows.forEach(r => r.forEach((i, k) => { pos[i] = k; }));
  const sweep = (from, to, step, near) => {
    for (let l = from; l !== to; l += step) {
      const key = new Map(rows[l].map(i => {
        const ns = near[i];
        return [i, ns.length ? ns.reduce((s, j) => s + pos[j], 0) / ns.length : pos[i]];
      }));
      rows[l].sort((a, b) => key.get(a) - key.get(b) || a - b);
      rows[l].forEach((i, k) => { pos[i] = k; });
    }
  };
  for (let k = 0; k < 10; k++) {
    sweep(1, rows.length, 1, up);
    sweep(rows.length - 2, -1, -1, down);
  }
  // Rows: each node as near to the middle of its neighbours as its layer's order allows.
  const size = i => (i < n ? 1 : 0.45), y = new Array(count).fill(0);
  rows.forEach(r => { let at = 0; for (const i of r) { y[i] = at + size(i) / 2; at += size(i); } });
  const settle = near => {
    for (const r of rows) {
      const want = r.map(i => (near[i].length ? near[i].reduce((s, j) => s + y[j], 0) / near[i].length : y[i]));
      // Blocks of nodes that would overlap move together, to the mean of their wishes.
      const blocks = [];
      r.forEach((i, k) => {
        const s = size(i);
        blocks.push({ items: [i], sum: want[k] - s / 2, n: 1, len: s });
        for (let last = blocks.length - 1; last > 0; last--) {
          const a = blocks[last - 1], b = blocks[last];
          if (a.sum / a.n + a.len <= b.sum / b.n) break;
          a.sum += b.sum - a.len * b.n;
          a.items.push(...b.items);
          a.n += b.n;
          a.len += b.len;
          blocks.pop();
        }
      });
      for (const b of blocks) {
        let at = b.sum / b.n;
        for (const i of b.items) { y[i] = at + size(i) / 2; at += size(i); }
      }
    }
  };
  const both = up.map((u, i) => u.concat(down[i]));
  for (let k = 0; k < 6; k++) settle(k % 2 ? down : up);
  settle(both);
  const top = y.length ? Math.min(...rows.flat().map(i => y[i])) : 0;
  return { layer, y: y.map(v => v - top), paths, width: rows.length };
}
