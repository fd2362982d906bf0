package planner

import "sync"

// keptQueries is how many parsed queries are kept: a model is parsed to learn its
// relations, for its scalars and for each plan, while others are planned beside it.
const keptQueries = 16

// parsed are the queries parsed last. They are not changed after parsing, so several
// goroutines may use one.
type parsed struct {
	mu   sync.Mutex
	list []*query // the last at the end
	sql  []string
}

func (p *parsed) get(sql string) *query {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range p.sql {
		if s == sql {
			return p.list[i]
		}
	}
	return nil
}

func (p *parsed) put(sql string, q *query) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.sql) == keptQueries {
		p.sql, p.list = append(p.sql[:0], p.sql[1:]...), append(p.list[:0], p.list[1:]...)
	}
	p.sql, p.list = append(p.sql, sql), append(p.list, q)
}
