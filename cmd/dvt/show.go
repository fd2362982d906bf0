package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/run"
)

func (a *app) showCommand() *cobra.Command {
	var inline, output string
	var limit int64
	c := &cobra.Command{Use: "show", Short: "Run a model or a query federated and print rows; nothing is written"}
	sel, exclude := selectFlags(c)
	c.Flags().StringVar(&inline, "inline", "", "SQL to run instead of a model; may use ref() and source()")
	c.Flags().Int64Var(&limit, "limit", 5, "rows to print, -1 for all")
	c.Flags().StringVar(&output, "output", "text", "text, json or csv")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		r, err := a.start(cmd.Context(), "show", run.Options{})
		if err != nil {
			return err
		}
		var nodes []*project.Node
		if inline != "" {
			n, err := r.Project.Inline(inline)
			if err != nil {
				return err
			}
			nodes = append(nodes, n)
		} else {
			if len(*sel) == 0 {
				return fmt.Errorf("dvt show needs a model (-s NAME) or a query (--inline 'select …')")
			}
			if nodes, err = a.selectNodes(r.Project, *sel, *exclude, "model"); err != nil {
				return err
			}
		}
		for _, n := range nodes {
			sink, err := newRowSink(output, a.stdout, n.Name)
			if err != nil {
				return err
			}
			if err := r.Show(cmd.Context(), n, limit, sink); err != nil {
				return &nodeError{err}
			}
			if err := sink.end(); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

type printer interface {
	run.RowSink
	end() error
}

func newRowSink(output string, w io.Writer, name string) (printer, error) {
	switch output {
	case "text":
		return &textTable{w: w, title: name}, nil
	case "json":
		return &jsonRows{w: w}, nil
	case "csv":
		return &csvRows{w: csv.NewWriter(w)}, nil
	}
	return nil, fmt.Errorf("--output %q: expected text, json or csv", output)
}

// textTable prints a table with columns as wide as their widest value.
type textTable struct {
	w     io.Writer
	title string
	cols  []connectors.Column
	rows  [][]string
}

func (t *textTable) Columns(cols []connectors.Column) error { t.cols = cols; return nil }

func (t *textTable) Row(values []*string) error {
	row := make([]string, len(values))
	for i, v := range values {
		if v != nil {
			row[i] = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`, "\x1b", `\e`).Replace(*v)
		}
	}
	t.rows = append(t.rows, row)
	return nil
}

func (t *textTable) end() error {
	widths := make([]int, len(t.cols))
	head := make([]string, len(t.cols))
	for i, c := range t.cols {
		head[i], widths[i] = c.Name, utf8.RuneCountInString(c.Name)
	}
	for _, r := range t.rows {
		for i, v := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(v))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Previewing node '%s':\n", t.title)
	rule := "|"
	for _, w := range widths {
		rule += strings.Repeat("-", w+2) + "|"
	}
	t.line(&b, widths, head)
	b.WriteString(rule + "\n")
	for _, r := range t.rows {
		t.line(&b, widths, r)
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

func (t *textTable) line(b *strings.Builder, widths []int, row []string) {
	b.WriteString("|")
	for i, v := range row {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(v))
		if isNumber(t.cols[i].Type.Kind) {
			v = pad + v
		} else {
			v += pad
		}
		b.WriteString(" " + v + " |")
	}
	b.WriteString("\n")
}

func isNumber(k connectors.Kind) bool { return k >= connectors.TinyInt && k <= connectors.Decimal }

// jsonRows prints an array of objects, keys in column order, numbers exact.
type jsonRows struct {
	w    io.Writer
	cols []connectors.Column
	n    int
}

func (j *jsonRows) Columns(cols []connectors.Column) error { j.cols = cols; return nil }

func (j *jsonRows) Row(values []*string) error {
	var b strings.Builder
	b.WriteString(map[bool]string{true: "[\n  {", false: ",\n  {"}[j.n == 0])
	j.n++
	for i, v := range values {
		key, err := json.Marshal(j.cols[i].Name)
		if err != nil {
			return err
		}
		value, err := jsonValue(j.cols[i].Type.Kind, v)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s%s: %s", map[bool]string{true: "", false: ", "}[i == 0], key, value)
	}
	b.WriteString("}")
	_, err := io.WriteString(j.w, b.String())
	return err
}

// jsonValue writes numbers and nested values as such and everything else as a string;
// NaN and infinities, which JSON has not, are strings too.
func jsonValue(kind connectors.Kind, v *string) ([]byte, error) {
	if v == nil {
		return []byte("null"), nil
	}
	raw := kind == connectors.Boolean || isNumber(kind) || kind == connectors.JSON || kind >= connectors.List
	if raw && json.Valid([]byte(*v)) {
		return []byte(*v), nil
	}
	return json.Marshal(*v)
}

func (j *jsonRows) end() error {
	text := "\n]\n"
	if j.n == 0 {
		text = "[]\n"
	}
	_, err := io.WriteString(j.w, text)
	return err
}

// csvRows prints CSV with a header; NULL is an empty field.
type csvRows struct{ w *csv.Writer }

func (c *csvRows) Columns(cols []connectors.Column) error {
	head := make([]string, len(cols))
	for i := range cols {
		head[i] = cols[i].Name
	}
	return c.w.Write(head)
}

func (c *csvRows) Row(values []*string) error {
	row := make([]string, len(values))
	for i, v := range values {
		if v != nil {
			row[i] = *v
		}
	}
	return c.w.Write(row)
}

func (c *csvRows) end() error {
	c.w.Flush()
	return c.w.Error()
}
