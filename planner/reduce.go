package planner

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// maxKeyText bounds the SQL text of one reduction, for servers bound theirs.
const maxKeyText = 64 << 10

// Reduce is the extract KeyReductions[i].To with one more predicate, by what the staged
// rows of From hold: lo and hi are the least and greatest value of FromColumn (Null when
// there is none but NULL), keys its distinct values without NULL, nil when they are more
// than MaxKeys. The extract that comes is a superset of what the model needs, like every
// other. It is based on p.Extracts[To], so that several reductions of one extract add up
// when each answer is put there before the next is asked for. ok is false when the
// source cannot apply any of it: then the extract stays as it is.
func (p *Plan) Reduce(i int, lo, hi connectors.Value, keys []connectors.Value) (x Extract, ok bool) {
	k := p.KeyReductions[i]
	x = p.Extracts[k.To]
	if lo.Null || hi.Null || keys != nil && len(keys) == 0 {
		// NULL equals nothing: no row matches.
		x.Pruned, x.Query.SQL = true, ""
		return x, true
	}
	whole := isInteger(x.Relation.Table.Columns[k.ToColumn].Type.Kind)
	var text connectors.Rendered
	if keys != nil && len(keys) <= MaxKeys {
		vals := make([]connectors.Value, len(keys))
		for j, v := range keys {
			vals[j] = plainKey(v, whole)
		}
		text = connectors.RenderPred(x.Relation.Dialect, listed(k.ToColumn, vals), x.Relation.Table)
	}
	if text.SQL == "" || len(text.SQL) > maxKeyText {
		text = connectors.RenderPred(x.Relation.Dialect, between(k.ToColumn, plainKey(lo, whole), plainKey(hi, whole)), x.Relation.Table)
	}
	if text.SQL == "" || len(text.SQL) > maxKeyText {
		return x, false
	}
	from := &p.Extracts[k.From].Relation
	reason := "keys of " + from.Title() + "." + plainName(from.Table.Columns[k.FromColumn].Name)
	x.Pushed = append(slices.Clone(x.Pushed), Conjunct{SQL: text.SQL, Verdict: connectors.Superset, Reason: reason})
	if x.Where != "" {
		x.Where += " AND "
	}
	x.Where += text.SQL
	x.Query.SQL = x.Relation.Dialect.Select(connectors.Extract{Table: x.Relation.Table, Columns: x.Columns, Where: x.Where, Limit: -1})
	return x, true
}

func listed(col int, vals []connectors.Value) *connectors.Pred {
	return &connectors.Pred{Kind: connectors.PIn, Col: col, Vals: vals}
}

func between(col int, lo, hi connectors.Value) *connectors.Pred {
	bound := func(op string, v connectors.Value) *connectors.Pred {
		return &connectors.Pred{Kind: connectors.PCmp, Col: col, Op: op, Vals: []connectors.Value{v}}
	}
	return both(connectors.PAnd, bound(">=", lo), bound("<=", hi))
}

// plainKey gives integers the one form in which dialects see them.
func plainKey(v connectors.Value, whole bool) connectors.Value {
	if whole && v.Int != nil {
		return integerValue(v.Int)
	}
	return v
}

// KeyValue reads a key of type t from what DuckDB gives for CAST(key AS VARCHAR) in a
// session whose time zone is UTC; nil is NULL. ok is false for what is not understood:
// then the keys cannot be used.
func KeyValue(t connectors.Type, text *string) (v connectors.Value, ok bool) {
	v.Type = t
	if text == nil {
		v.Null = true
		return v, true
	}
	switch {
	case t.Kind == connectors.Varchar || t.Kind == connectors.UUID:
		v.Text = *text
		return v, true
	case isInteger(t.Kind):
		v.Int, ok = new(big.Int).SetString(*text, 10)
	case t.Kind == connectors.Decimal:
		whole, fraction, _ := strings.Cut(*text, ".")
		if len(fraction) != t.Scale {
			return v, false
		}
		v.Int, ok = new(big.Int).SetString(whole+fraction, 10)
	case strings.HasSuffix(*text, "infinity"):
		v.Int, ok = infinity(t.Kind, strings.HasPrefix(*text, "-"))
	case t.Kind == connectors.Date:
		at, err := time.Parse("2006-01-02", *text)
		v.Int, ok = big.NewInt(at.Unix()/86400), err == nil
	case t.Kind == connectors.Timestamp:
		at, err := time.Parse("2006-01-02 15:04:05.999999", *text)
		v.Int, ok = big.NewInt(at.UnixMicro()), err == nil
	case t.Kind == connectors.TimestampTZ:
		at, err := time.Parse("2006-01-02 15:04:05.999999-07", *text)
		v.Int, ok = big.NewInt(at.UnixMicro()), err == nil
	}
	return v, ok
}

func infinity(k connectors.Kind, negative bool) (*big.Int, bool) {
	n := int64(math.MaxInt64)
	if k == connectors.Date {
		n = math.MaxInt32
	}
	if negative {
		n = -n
	}
	return big.NewInt(n), k == connectors.Date || k == connectors.Timestamp || k == connectors.TimestampTZ
}

// KeyQueries are two DuckDB queries over the staged From of KeyReductions[i], as text:
// bounds has one row, the least and the greatest key; keys has the distinct keys, at
// most one row more than MaxKeys. Relations carry Marker, as in Plan.SQL.
func (p *Plan) KeyQueries(i int) (bounds, keys string) {
	k := p.KeyReductions[i]
	from := &p.Extracts[k.From].Relation
	return boundsQuery(from, k.FromColumn), keysQuery(from, k.FromColumn)
}
