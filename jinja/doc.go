// Package jinja renders Jinja2 templates with Python's values.
//
// dbt projects lean on Python: lists that macros share and append to, ordered
// dicts, None that is not undefined, '%' formatting, exact repr and division.
// The package therefore has its own value model (value*.go), written to give
// Jinja2's text byte for byte and Python's own error texts.
//
// A Template is immutable and may be rendered by many goroutines at once; a
// State belongs to one render. The package knows nothing of dbt: names come
// from a Resolver, further tags from Env.Tags, host objects from the small
// interfaces in host.go. Only what a host object exposes can be reached.
//
// It is not for HTML (no autoescape, no Markup) and has no loader: include,
// import, extends and block are errors. A template cannot read files, open
// sockets, or run or grow for ever: see limits.go.
package jinja
