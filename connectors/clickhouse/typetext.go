package clickhouse

import (
	"fmt"
	"strconv"
	"strings"
)

// chType is a parsed ClickHouse type.
type chType struct {
	name  string    // family: "Array", "DateTime64", …
	text  string    // as the server spells it
	args  []*chType // element, key and value, tuple elements, the nullable type
	names []string  // tuple elements; "" where the tuple does not name them
	prec  int       // Decimal: digits; DateTime64: digits of the second
	scale int       // Decimal
	size  int       // FixedString: bytes
	enum  []enumName
	zone  string
}

type enumName struct {
	name  string
	value int16
}

// parseType reads the type texts that servers print.
func parseType(text string) (*chType, error) {
	p := typeParser{s: text}
	t, err := p.typ()
	p.skip()
	if err == nil && p.i < len(p.s) {
		err = fmt.Errorf("unexpected %q", p.s[p.i:])
	}
	if err != nil {
		return nil, fmt.Errorf("type %q: %w", text, err)
	}
	return t, nil
}

type typeParser struct {
	s     string
	i     int
	depth int
}

func (p *typeParser) skip() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\n') {
		p.i++
	}
}

func (p *typeParser) is(c byte) bool { return p.i < len(p.s) && p.s[p.i] == c }

func (p *typeParser) accept(c byte) bool {
	p.skip()
	if p.is(c) {
		p.i++
		return true
	}
	return false
}

func (p *typeParser) expect(c byte) error {
	if !p.accept(c) {
		return fmt.Errorf("no %q at byte %d", c, p.i)
	}
	return nil
}

// word is an identifier, quoted or not.
func (p *typeParser) word() (string, error) {
	p.skip()
	if p.is('`') || p.is('"') {
		return p.quoted(p.s[p.i])
	}
	start := p.i
	for p.i < len(p.s) && (p.s[p.i] == '_' || p.s[p.i] == '.' || p.s[p.i] >= 0x80 || isAlnum(p.s[p.i])) {
		p.i++
	}
	if start == p.i {
		return "", fmt.Errorf("no name at byte %d", p.i)
	}
	return p.s[start:p.i], nil
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (p *typeParser) quoted(q byte) (string, error) {
	p.skip()
	if !p.is(q) {
		return "", fmt.Errorf("no %q at byte %d", q, p.i)
	}
	var b strings.Builder
	for p.i++; p.i < len(p.s); p.i++ {
		c := p.s[p.i]
		switch {
		case c == '\\' && p.i+1 < len(p.s):
			p.i++
			b.WriteByte(unescape(p.s[p.i]))
		case c == q && p.i+1 < len(p.s) && p.s[p.i+1] == q:
			p.i++
			b.WriteByte(q)
		case c == q:
			p.i++
			return b.String(), nil
		default:
			b.WriteByte(c)
		}
	}
	return "", fmt.Errorf("no closing %q", q)
}

func unescape(c byte) byte {
	if i := strings.IndexByte("bfnrt0", c); i >= 0 {
		return "\b\f\n\r\t\x00"[i]
	}
	return c
}

func (p *typeParser) number() (int, error) {
	p.skip()
	start := p.i
	for p.i < len(p.s) && (p.s[p.i] == '-' || '0' <= p.s[p.i] && p.s[p.i] <= '9') {
		p.i++
	}
	return strconv.Atoi(p.s[start:p.i])
}

func (p *typeParser) typ() (*chType, error) {
	if p.depth++; p.depth > 100 {
		return nil, fmt.Errorf("nested too deeply")
	}
	defer func() { p.depth-- }()
	p.skip()
	start := p.i
	name, err := p.word()
	if err != nil {
		return nil, err
	}
	t := &chType{name: name}
	p.skip()
	if p.is('(') {
		p.i++
		if err := p.args(t); err != nil {
			return nil, err
		}
	}
	t.text = strings.TrimSpace(p.s[start:p.i])
	return t, p.check(t)
}

// check fills in what a family implies.
func (p *typeParser) check(t *chType) error {
	want := map[string]int{"Nullable": 1, "LowCardinality": 1, "Array": 1, "Map": 2}
	if n, ok := want[t.name]; ok && len(t.args) != n {
		return fmt.Errorf("%s with %d parameters", t.name, len(t.args))
	}
	switch t.name {
	case "Nested": // the flattened columns are arrays; unflattened it is an array of tuples
		t.args, t.names = []*chType{{name: "Tuple", text: t.text, args: t.args, names: t.names}}, nil
		t.name = "Array"
	case "SimpleAggregateFunction": // stored and sent as its value
		if len(t.args) != 1 {
			return fmt.Errorf("SimpleAggregateFunction with %d types", len(t.args))
		}
		text := t.text
		*t = *t.args[0]
		t.text = text
	}
	return nil
}

func (p *typeParser) args(t *chType) error {
	switch t.name {
	case "Enum8", "Enum16":
		return p.enum(t)
	case "Decimal", "Decimal32", "Decimal64", "Decimal128", "Decimal256":
		return p.decimal(t)
	case "FixedString":
		return p.one(&t.size)
	case "DateTime":
		return p.timeZone(t)
	case "DateTime64":
		return p.dateTime64(t)
	case "Tuple", "Nested":
		return p.elements(t)
	case "SimpleAggregateFunction":
		return p.aggregate(t)
	case "Nullable", "LowCardinality", "Array", "Map":
		return p.list(func() error {
			a, err := p.typ()
			t.args = append(t.args, a)
			return err
		})
	}
	return p.unknown() // carried as a name only
}

func (p *typeParser) list(item func() error) error {
	if p.accept(')') {
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if p.accept(')') {
			return nil
		}
		if err := p.expect(','); err != nil {
			return err
		}
	}
}

func (p *typeParser) one(n *int) (err error) {
	if *n, err = p.number(); err != nil {
		return err
	}
	return p.expect(')')
}

func (p *typeParser) enum(t *chType) error {
	return p.list(func() error {
		name, err := p.quoted('\'')
		if err != nil {
			return err
		}
		if err := p.expect('='); err != nil {
			return err
		}
		v, err := p.number()
		t.enum = append(t.enum, enumName{name, int16(v)})
		return err
	})
}

func (p *typeParser) decimal(t *chType) (err error) {
	t.prec = map[string]int{"Decimal32": 9, "Decimal64": 18, "Decimal128": 38, "Decimal256": 76}[t.name]
	if t.prec != 0 {
		t.name = "Decimal"
		return p.one(&t.scale)
	}
	if t.prec, err = p.number(); err != nil {
		return err
	}
	if p.accept(')') {
		return nil
	}
	if err := p.expect(','); err != nil {
		return err
	}
	return p.one(&t.scale)
}

func (p *typeParser) timeZone(t *chType) (err error) {
	if t.zone, err = p.quoted('\''); err != nil {
		return err
	}
	return p.expect(')')
}

func (p *typeParser) dateTime64(t *chType) (err error) {
	if t.prec, err = p.number(); err != nil {
		return err
	}
	if p.accept(')') {
		return nil
	}
	if err := p.expect(','); err != nil {
		return err
	}
	return p.timeZone(t)
}

// elements reads "name Type, …" or "Type, …".
func (p *typeParser) elements(t *chType) error {
	return p.list(func() error {
		start := p.i
		name, err := p.word()
		if err != nil {
			return err
		}
		p.skip()
		if p.is(',') || p.is(')') || p.is('(') { // it was the type
			name, p.i = "", start
		}
		a, err := p.typ()
		t.args, t.names = append(t.args, a), append(t.names, name)
		return err
	})
}

// aggregate reads "function, Type"; the function may have parameters of its own.
func (p *typeParser) aggregate(t *chType) error {
	if _, err := p.word(); err != nil {
		return err
	}
	if p.accept('(') {
		if err := p.unknown(); err != nil {
			return err
		}
	}
	if err := p.expect(','); err != nil {
		return err
	}
	a, err := p.typ()
	if err != nil {
		return err
	}
	t.args = []*chType{a}
	return p.expect(')')
}

// unknown skips to the closing parenthesis.
func (p *typeParser) unknown() error {
	for depth := 1; p.i < len(p.s); p.i++ {
		switch c := p.s[p.i]; c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				p.i++
				return nil
			}
		case '\'', '`', '"':
			if _, err := p.quoted(c); err != nil {
				return err
			}
			p.i--
		}
	}
	return fmt.Errorf("no closing parenthesis")
}
