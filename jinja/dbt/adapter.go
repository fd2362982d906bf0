package dbt

import (
	"strings"

	"github.com/dvt-dev/dvt/jinja"
)

// adapter is the adapter object. It answers what needs no write; a macro that would
// change a database through it is refused.
type adapter struct{ n *node }

func (ad adapter) PyType() string { return "DatabaseWrapper" }
func (ad adapter) GetAttr(_ *ST, name string) (V, bool) {
	n := ad.n
	switch name {
	case "dispatch":
		return bound(name, params("macro_name", "macro_namespace?", "packages?"), func(b jinja.Bound) (V, error) {
			return n.c.dispatch(jinja.Str(b.Get("macro_name")), b.Get("macro_namespace"))
		}), true
	case "type":
		return constantly(name, n.dialect()), true
	case "quote":
		return bound(name, params("identifier"), n.quote), true
	case "quote_as_configured":
		return bound(name, params("identifier", "quote_key"), n.quote), true
	case "quote_seed_column":
		return bound(name, params("column", "quote_config?"), func(b jinja.Bound) (V, error) {
			return n.h.Spelling.Ident(jinja.Str(b.Get("column"))), nil
		}), true
	case "get_relation":
		return bound(name, params("database?", "schema?", "identifier?"), func(b jinja.Bound) (V, error) {
			r := NewRelation(n.h.Spelling, b.Get("database"), b.Get("schema"), b.Get("identifier"), "table")
			if !n.h.Execute {
				return nil, nil
			}
			_, exists, err := n.describe(r)
			if err != nil || !exists {
				return nil, err
			}
			return r, nil
		}), true
	case "get_columns_in_relation":
		return bound(name, params("relation"), n.columns), true
	case "get_missing_columns":
		return bound(name, params("from_relation", "to_relation"), n.missingColumns), true
	case "check_schema_exists":
		return constantly(name, true), true
	case "execute", "add_query":
		return bound(name, params("sql", "auto_begin?", "fetch?", "limit?"), func(b jinja.Bound) (V, error) {
			if !n.h.Execute {
				return jinja.NewTuple("", &Table{}), nil
			}
			t, err := n.query(jinja.Str(b.Get("sql")))
			if err != nil {
				return nil, err
			}
			return jinja.NewTuple("OK", t), nil
		}), true
	case "nice_connection_name", "connection_name":
		return constantly(name, "main"), true
	case "cache_added", "cache_dropped", "cache_renamed", "commit", "commit_if_has_connection", "expand_target_column_types", "verify_database":
		return constantly(name, ""), true
	}
	if strings.HasPrefix(name, "drop_") || strings.HasPrefix(name, "create_") || strings.HasPrefix(name, "rename_") || strings.HasPrefix(name, "truncate_") {
		return function(name, func(A) (V, error) {
			if !n.h.Execute {
				return nil, nil
			}
			return nil, n.fail("adapter.%s would change a database: models only read", name)
		}), true
	}
	return nil, false
}

func (n *node) dialect() string {
	if len(n.h.Dialects) == 0 {
		return ""
	}
	return n.h.Dialects[0]
}

func (n *node) quote(b jinja.Bound) (V, error) {
	s, ok := b.Get("identifier").(string)
	if !ok {
		return nil, jinja.TypeErr("can only concatenate str (not \"%s\") to str", jinja.TypeName(b.Get("identifier")))
	}
	return n.h.Spelling.Ident(s), nil
}

func (n *node) columns(b jinja.Bound) (V, error) {
	out := jinja.NewList()
	if !n.h.Execute {
		return out, nil
	}
	r, ok := b.Get("relation").(*Relation)
	if !ok {
		return nil, &jinja.Error{Kind: "AttributeError", Msg: "'" + jinja.TypeName(b.Get("relation")) + "' object has no attribute 'identifier'"}
	}
	cols, _, err := n.describe(r)
	for _, c := range cols {
		out.Items = append(out.Items, c)
	}
	return out, err
}

func (n *node) missingColumns(b jinja.Bound) (V, error) {
	out := jinja.NewList()
	from, ok := b.Get("from_relation").(*Relation)
	to, ok2 := b.Get("to_relation").(*Relation)
	if !ok || !ok2 || !n.h.Execute {
		return out, nil
	}
	have, _, err := n.describe(to)
	if err != nil {
		return nil, err
	}
	cols, _, err := n.describe(from)
	for _, c := range cols {
		found := false
		for _, h := range have {
			found = found || h.Name == c.Name
		}
		if !found {
			out.Items = append(out.Items, c)
		}
	}
	return out, err
}
