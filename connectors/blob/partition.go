package blob

import (
	"fmt"
	"math/big"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// part is the value that the name of a folder gives to a column.
type part struct {
	name, value string
	null        bool
}

// nullFolder is how writers spell NULL as the name of a folder.
const nullFolder = "__HIVE_DEFAULT_PARTITION__"

// partsOf reads the folders of a key that look like year=2024.
func partsOf(key string) ([]part, error) {
	segments := strings.Split(key, "/")
	var out []part
	for _, s := range segments[:len(segments)-1] {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			continue
		}
		p := part{null: value == nullFolder}
		var err error
		if p.name, err = url.PathUnescape(name); err != nil {
			return nil, err
		}
		if p.value, err = url.PathUnescape(value); err != nil {
			return nil, err
		}
		for _, o := range out {
			if strings.EqualFold(o.name, p.name) {
				return nil, fmt.Errorf("two folders give the column %s", p.name)
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// samePartitions makes sure that all objects have the same partition columns.
func samePartitions(objects []object) error {
	names := func(o object) string {
		var out []string
		for _, p := range o.parts {
			out = append(out, p.name)
		}
		return strings.Join(out, ", ")
	}
	for _, o := range objects {
		if first := names(objects[0]); names(o) != first {
			return fmt.Errorf("partition folders differ: %s has (%s), %s has (%s)", objects[0].key, first, o.key, names(o))
		}
	}
	return nil
}

var (
	wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
	isoDate     = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
)

// partitionColumns are the columns that folders give: BIGINT or DATE where the value of
// that type says all that each folder's name says, else VARCHAR.
func partitionColumns(objects []object) []connectors.Column {
	var out []connectors.Column
	for i, p := range objects[0].parts {
		whole, dates, some := true, true, false
		for _, o := range objects {
			if p := o.parts[i]; !p.null {
				some = true
				_, err := strconv.ParseInt(p.value, 10, 64)
				whole = whole && err == nil && wholeNumber.MatchString(p.value)
				_, ok := dayOf(p.value)
				dates = dates && ok
			}
		}
		typ := connectors.T(connectors.Varchar)
		switch {
		case some && whole:
			typ.Kind = connectors.BigInt
		case some && dates:
			typ.Kind = connectors.Date
		}
		out = append(out, connectors.Column{Name: p.name, Type: typ, Native: typ.String(), Nullable: true})
	}
	return out
}

// dayOf counts the days from 1970 to a date.
func dayOf(s string) (int64, bool) {
	t, err := time.Parse(time.DateOnly, s)
	return t.Unix() / 86400, err == nil && isoDate.MatchString(s) && t.Year() > 0
}

// bounds of a partition column: its one value.
func (p part) bounds(t connectors.Type) bounds {
	b := bounds{noNulls: !p.null, allNulls: p.null}
	switch {
	case p.null:
	case t.Kind == connectors.BigInt:
		n, _ := new(big.Int).SetString(p.value, 10)
		b.class, b.lo, b.hi = whole, n, n
	case t.Kind == connectors.Date:
		if day, ok := dayOf(p.value); ok {
			b.class, b.lo, b.hi = days, big.NewInt(day), big.NewInt(day)
		}
	case t.Kind == connectors.Varchar:
		b.class, b.textLo, b.textHi = texts, p.value, p.value
	}
	return b
}
