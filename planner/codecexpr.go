package planner

import "github.com/dvt-dev/dvt/connectors"

// parsedQuery does what is known of a query without its tree.
func (c *codec) parsedQuery(q *query) {
	c.string(&q.sql)
	each(c, &q.names, func(n *Name) {
		c.string(&n.Catalog)
		c.string(&n.Schema)
		c.string(&n.Name)
		c.int(&n.Offset)
	})
	c.bool(&q.ordered)
	c.string(&q.unstable)
	c.string(&q.volatile)
	c.string(&q.clock)
}

// analysis does a, whose relations are those of c, and the result's columns.
func (c *codec) analysis(a *analysis, columns *[]connectors.Column) {
	n := len(a.scans)
	c.int(&n)
	if !c.writing {
		if c.bad || n < 0 || n > len(c.in) {
			c.bad = true
			return
		}
		for range n {
			a.scans = append(a.scans, &scan{})
		}
	}
	c.scans = a.scans
	for _, s := range a.scans { // first all relations: columns of one are checked in another
		if c.relation(&s.rel); s.rel == nil {
			c.bad = true
		}
	}
	for _, s := range a.scans {
		if !c.bad {
			c.scan(s)
		}
	}
	c.string(&a.tree)
	c.scanRef(&a.root.scan)
	each(c, &a.root.cols, c.exprRef)
	c.bool(&a.root.limited)
	c.bool(&a.root.bare)
	each(c, &a.root.from, c.originRef)
	each(c, &a.root.free, func(p **place) { pointer(c, p, c.place) })
	each(c, &a.from, c.originRef)
	each(c, &a.links, func(l *link) {
		c.string(&l.kind)
		c.place(&l.to)
		c.origin(&l.from)
	})
	c.bool(&a.whole)
	c.string(&a.note)
	each(c, columns, c.tableColumn)
}

func (c *codec) scan(s *scan) {
	each(c, &s.cols, func(col *int) { c.column(col, s.rel) })
	each(c, &s.preds, c.exprRef)
	c.int64(&s.limit)
	each(c, &s.order, func(k *sortKey) {
		c.exprRef(&k.by)
		c.bool(&k.desc)
		c.bool(&k.nullsLast)
		c.bad = c.bad || k.by == nil
	})
	c.bool(&s.skip)
	each(c, &s.extremes, func(e *extreme) {
		c.column(&e.col, s.rel)
		c.bool(&e.max)
	})
}

func (c *codec) place(p *place) {
	if c.scanRef(&p.scan); p.scan == nil {
		c.bad = true
		return
	}
	c.column(&p.col, p.scan.rel)
}

func (c *codec) originRef(o **origin) { pointer(c, o, c.origin) }

func (c *codec) origin(o *origin) {
	c.relation(&o.rel)
	c.column(&o.col, o.rel)
}

func (c *codec) exprRef(e **expr) { pointer(c, e, c.expr) }

func (c *codec) expr(e *expr) {
	kind := byte(e.op)
	if c.byte(&kind); !c.writing {
		e.op = op(kind)
	}
	c.string(&e.name)
	each(c, &e.args, c.exprRef)
	c.duckType(&e.typ)
	c.int(&e.col)
	c.scanRef(&e.of)
	c.constant(&e.value)
}

func (c *codec) duckType(t *duckType) {
	c.string(&t.id)
	c.int(&t.width)
	c.int(&t.scale)
	c.string(&t.alias)
	c.string(&t.collation)
	pointer(c, &t.elem, c.duckType)
	each(c, &t.fields, func(f *duckField) {
		c.string(&f.name)
		c.duckType(&f.typ)
	})
}

func (c *codec) constant(v *constant) {
	c.duckType(&v.typ)
	c.bool(&v.null)
	c.bool(&v.opaque)
	c.bigInt(&v.num)
	c.float(&v.float)
	c.string(&v.text)
	c.string(&v.show)
}
