// Package docpage writes the page of dvt docs: a project as one HTML file that loads
// nothing from anywhere. It is no server, asks no database and knows no project files: it
// is given plain data, and its script draws them.
package docpage

import (
	"crypto/sha256"
	_ "embed" // the page's parts
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"strings"
)

// Page is a project as the page shows it.
type Page struct {
	Project   string `json:"project"`
	Generated string `json:"generated"` // for people
	Version   string `json:"version"`
	// Nodes come in any order; Parents are ids of Nodes.
	Nodes []Node `json:"nodes"`
}

// Node is one model, source, seed, snapshot or test.
type Node struct {
	ID           string      `json:"id"`
	Name         string      `json:"name"`
	Type         string      `json:"type"` // model, source, seed, snapshot, test
	Package      string      `json:"package"`
	Path         string      `json:"path"`
	Description  string      `json:"description,omitempty"`
	Materialized string      `json:"materialized,omitempty"`
	Federated    bool        `json:"federated,omitempty"`
	Connection   string      `json:"connection,omitempty"`
	Engine       string      `json:"engine,omitempty"`
	Relation     string      `json:"relation,omitempty"`
	Tags         []string    `json:"tags,omitempty"`
	Facts        [][2]string `json:"facts,omitempty"` // more settings, as label and value
	Columns      []Column    `json:"columns,omitempty"`
	Constraints  []string    `json:"constraints,omitempty"` // the model's own
	Raw          string      `json:"raw,omitempty"`
	Compiled     string      `json:"compiled,omitempty"`
	Parents      []string    `json:"parents,omitempty"`
}

// Column is one column of a node. Type is the catalog's where the engine was asked, else
// what the project declares.
type Column struct {
	Name        string   `json:"name"`
	Type        string   `json:"type,omitempty"`
	Declared    string   `json:"declared,omitempty"` // where it differs from Type
	Description string   `json:"description,omitempty"`
	Notes       []string `json:"notes,omitempty"` // tests and constraints
	Tags        []string `json:"tags,omitempty"`
}

//go:embed page.css
var style string

//go:embed graph.js
var graph string

//go:embed page.js
var script string

//go:embed page.html
var frame string

// HTML is the page. redact is applied to the text of the data, in JSON.
func HTML(p Page, redact func(string) string) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // after redact, or a secret with an & would be missed
	if err := enc.Encode(p); err != nil {
		return "", fmt.Errorf("encoding the page's data: %w", err)
	}
	// These stand inside strings only; a < could otherwise end the element.
	data := strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(redact(b.String()))
	code := "\n" + graph + script
	sum := sha256.Sum256([]byte(code))
	return strings.NewReplacer(
		"{{TITLE}}", html.EscapeString(redact(p.Project)),
		"{{HASH}}", "sha256-"+base64.StdEncoding.EncodeToString(sum[:]),
		"{{STYLE}}", "\n"+style,
		"{{DATA}}", data,
		"{{SCRIPT}}", code,
	).Replace(frame), nil
}
