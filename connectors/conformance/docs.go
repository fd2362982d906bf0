package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Matrix is what became of every column of every source in every target.
type Matrix struct {
	versions []string
	sections []section
	notes    []*Rule // in the order in which the text meets them
}

type section struct {
	title string
	rows  []matrixRow
}

type matrixRow struct {
	native, kind string
	cells        []string
}

// Run moves every source into every target.
func (b *Bench) Run(engines []string) *Matrix {
	b.Helper()
	m := &Matrix{}
	for _, e := range engines {
		m.versions = append(m.versions, b.Site(e).Version())
	}
	for i, from := range engines {
		s := b.Source(from, nil)
		cells := map[string][]*Cell{}
		for _, to := range engines {
			cells[to] = s.Pair(to)
		}
		m.add(m.versions[i], s, engines, cells)
	}
	return m
}

func (m *Matrix) add(title string, s *Source, engines []string, cells map[string][]*Cell) {
	sec := section{title: title}
	for i, c := range s.Columns {
		row := matrixRow{native: label(s.Site.Engine, c.Native), kind: s.staged.Columns[i+1].Type.String()}
		if c.As != "" {
			row.kind += ", as declared"
		}
		for _, to := range engines {
			row.cells = append(row.cells, m.cell(cells[to][i]))
		}
		sec.rows = append(sec.rows, row)
	}
	for _, c := range s.Refused {
		what := label(s.Site.Engine, c.Native)
		if !c.Type {
			what += " " + clean(connectors.Shorten(c.Values[0]))
		}
		sec.rows = append(sec.rows, matrixRow{native: what, cells: []string{"error: " + clean(c.Reason)}})
	}
	for _, c := range sourceColumns[s.Site.Engine]() {
		if why := s.Lacks[c.Name]; why != "" {
			sec.rows = append(sec.rows, matrixRow{native: label(s.Site.Engine, c.Native), cells: []string{"not run: " + title + " lacks " + why}})
		}
	}
	m.sections = append(m.sections, sec)
}

// label is a source's type without what says only that it may be NULL.
func label(engine, native string) string {
	native = strings.ReplaceAll(native, "{schema}.", "")
	if engine == "clickhouse" {
		if inner, ok := strings.CutPrefix(native, "Nullable("); ok {
			native = strings.TrimSuffix(inner, ")")
		}
	}
	if native == "" {
		return "(no type)"
	}
	return "`" + clean(native) + "`"
}

func clean(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "`", "'").Replace(s)
}

func (m *Matrix) cell(c *Cell) string {
	var parts []string
	if c.Exact > 0 || len(c.Notes)+len(c.Errors) == 0 {
		parts = append(parts, "exact")
	}
	for _, list := range [][]*Rule{c.Notes, c.Errors} { // in the order of the rules, not of the rows
		slices.SortFunc(list, func(a, b *Rule) int { return a.place() - b.place() })
	}
	for _, r := range c.Notes {
		parts = append(parts, m.ref(r))
	}
	for _, r := range c.Errors {
		parts = append(parts, "error: "+m.ref(r))
	}
	text := strings.Join(parts, ", ")
	if c.Native != "" {
		text += " `" + clean(c.Native) + "`"
	}
	return text
}

// ref numbers notes; two rules with one text are one note.
func (m *Matrix) ref(r *Rule) string {
	i := slices.IndexFunc(m.notes, func(n *Rule) bool { return n.Note == r.Note })
	if i < 0 {
		i = len(m.notes)
		m.notes = append(m.notes, r)
	}
	return fmt.Sprintf("[%d]", i+1)
}

const matrixIntro = `# Types

What becomes of a column of each type in each target. This page is made by

    go test ./connectors/conformance -run TestMatrix -update

from what happened: edge values are written in each source's own SQL, read, staged, loaded, and compared with what the
target's own driver shows. Do not edit it by hand.

A cell names the type that the target gives the column, and

- **exact**: values arrive as they are. Where other words follow, they are about some values, the others arrive exactly;
- **[n]**: note n below says what changes;
- **error: [n]**: values that note n names are refused, with column, value and row, before the target is touched;
- **not run**: the server of this run lacks the type.

`

// Text is docs/types.md.
func (m *Matrix) Text() string {
	var b strings.Builder
	b.WriteString(matrixIntro)
	fmt.Fprintf(&b, "This run: %s.\n", strings.Join(m.versions, ", "))
	for _, sec := range m.sections {
		fmt.Fprintf(&b, "\n## From %s\n\n| type | in models | %s |\n|%s\n", sec.title, strings.Join(m.versions, " | "), strings.Repeat("---|", len(m.versions)+2))
		for _, r := range sec.rows {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", r.native, clean(r.kind), strings.Join(r.cells, " | "))
		}
	}
	b.WriteString("\n## Notes\n\n")
	for i, r := range m.notes {
		fmt.Fprintf(&b, "%d. %s\n", i+1, r.Note)
	}
	return b.String()
}

// Count counts cells by what is in them.
func (m *Matrix) Count() (exact, documented, refused, notRun int) {
	for _, sec := range m.sections {
		for _, r := range sec.rows {
			for _, c := range r.cells {
				switch {
				case strings.HasPrefix(c, "not run"):
					notRun++
				case strings.HasPrefix(c, "error"):
					refused++
				case strings.Contains(c, "[") && strings.Contains(strings.SplitN(c, "`", 2)[0], "["):
					documented++
				default:
					exact++
				}
			}
		}
	}
	return exact, documented, refused, notRun
}
