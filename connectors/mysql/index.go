package mysql

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const (
	indexPrefix = "dvt_"
	indexBytes  = 3072 // the longest index entry of InnoDB
	longPrefix  = 255  // characters of a text that an index which is not unique holds
)

// wanted builds the indexes that the model asks for, and those on its unique key and
// watermark, by which deltas cost what the delta costs.
func (k *keep) wanted() error {
	o := &k.st.spec.Options
	for _, w := range o.Indexes {
		ix := index{unique: w.Unique, kind: strings.ToUpper(w.Type)}
		switch ix.kind {
		case "", "BTREE", "HASH", "FULLTEXT":
		default:
			return fmt.Errorf("index on %s: unknown type %q: known are btree, hash, fulltext", strings.Join(w.Columns, ", "), w.Type)
		}
		sum := sha256.Sum256([]byte(strings.Join(w.Columns, "\x00")))
		ix.name = indexPrefix + "ix_" + hex.EncodeToString(sum[:6])
		k.want(ix, w.Columns)
	}
	if len(o.UniqueKey) > 0 {
		k.want(index{name: indexPrefix + "key"}, o.UniqueKey)
	}
	if o.Watermark != "" {
		k.want(index{name: indexPrefix + "watermark"}, []string{o.Watermark})
	}
	if o.NullsRead != "" {
		k.want(index{name: indexPrefix + "open"}, []string{o.NullsRead})
	}
	return nil
}

func (k *keep) want(ix index, columns []string) {
	for _, c := range columns {
		ix.columns = append(ix.columns, indexColumn{name: c})
	}
	for _, have := range k.built {
		words := have.kind == "FULLTEXT" || have.kind == "SPATIAL"
		if have.sameColumns(ix) && (have.unique || !ix.unique) && words == (ix.kind == "FULLTEXT") {
			return
		}
	}
	k.build(ix)
}

// prefixes shortens the text columns of an index to what the engine can hold. A unique
// index is left whole: over prefixes it would refuse values that differ further on.
func (k *keep) prefixes(ix *index) {
	if ix.kind == "FULLTEXT" || ix.kind == "SPATIAL" {
		for i := range ix.columns {
			ix.columns[i].prefix = 0
		}
		return
	}
	total, texts := 0, 0
	for i := range ix.columns {
		c := &ix.columns[i]
		t := k.staged(c.name)
		if t == nil {
			continue // the server names the missing column
		}
		switch long := isLong(t.nat.base); {
		case !long && !isCharacter(t.nat.base) && !strings.HasSuffix(t.nat.base, "binary"):
			c.prefix = 0
		case long && c.prefix == 0 && !ix.unique:
			c.prefix = longPrefix
		case !long && c.prefix >= max(t.chars, 1):
			c.prefix = 0
		}
		n := 8
		if c.prefix > 0 {
			n = 4 * c.prefix
			texts++
		} else if t.chars > 0 {
			n = 4 * t.chars
			texts++
		}
		total += n
	}
	if total <= indexBytes || ix.unique || texts == 0 {
		return
	}
	share := (indexBytes - 8*(len(ix.columns)-texts)) / texts / 4
	for i := range ix.columns {
		c := &ix.columns[i]
		if t := k.staged(c.name); t != nil && (c.prefix > share || c.prefix == 0 && t.chars > share) {
			c.prefix = share
		}
	}
}
