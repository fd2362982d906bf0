package planner

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// obj is one object of DuckDB's JSON. The accessors below give zero values for what is
// missing or of another kind: DuckDB's serialization is no stable interface, and what
// is not understood must end as "not pushed", not as a panic.
type obj = map[string]any

func str(o obj, k string) string { s, _ := o[k].(string); return s }
func list(o obj, k string) []any { a, _ := o[k].([]any); return a }
func sub(o obj, k string) obj    { m, _ := o[k].(obj); return m }

// num is an integer, -1 if there is none or it does not fit (DuckDB writes the largest
// uint64 for "none").
func num(o obj, k string) int {
	n, ok := o[k].(json.Number)
	if !ok {
		return -1
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil {
		return -1
	}
	return int(i)
}

// decodeJSON decodes DuckDB's JSON: integers stay exact, and NaN and the infinities,
// which are no JSON, become the texts "NaN", "+Inf" and "-Inf".
func decodeJSON(text string) (obj, error) {
	if strings.Contains(text, "NaN") || strings.Contains(text, "Infinity") {
		text = quoteNonFinite(text)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v obj
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decoding DuckDB's analysis: %w", err)
	}
	return v, nil
}

func quoteNonFinite(text string) string {
	var b strings.Builder
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		rest := text[i:]
		switch {
		case inString && c == '\\' && i+1 < len(text):
			b.WriteByte(c)
			i++
			c = text[i]
		case c == '"':
			inString = !inString
		case inString:
		case strings.HasPrefix(rest, "NaN"):
			b.WriteString(`"NaN"`)
			i += len("NaN") - 1
			continue
		case strings.HasPrefix(rest, "-Infinity"):
			b.WriteString(`"-Inf"`)
			i += len("-Infinity") - 1
			continue
		case strings.HasPrefix(rest, "Infinity"):
			b.WriteString(`"+Inf"`)
			i += len("Infinity") - 1
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
