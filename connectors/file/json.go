package file

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// jsonRow is the size in bytes that a row of a JSON file may have unless the output says
// otherwise.
const jsonRow = 16 << 20

func (c *conn) json(files []string) jsonFiles {
	if c.rowLimit > 0 {
		return jsonFiles{files, c.rowLimit}
	}
	return jsonFiles{files, jsonRow}
}

// lookJSON finds the types of JSON rows. Numbers that neither BIGINT nor DOUBLE holds
// stay as they are written, as JSON.
func (c *conn) lookJSON(ctx context.Context, s connectors.Session, files []string) (func([]string) string, error) {
	objects := c.json(files)
	rows, err := queryTexts(ctx, s, jsonStructure(objects))
	if err != nil {
		return nil, err
	}
	if rows[0][0] == "" {
		return nil, fmt.Errorf("%s has no rows, and JSON without rows has no columns: declare them", files[0])
	}
	fields, err := parseStructure(rows[0][0])
	if err != nil {
		return nil, err
	}
	var names, types, numbers []string
	var at []int
	for i, f := range fields {
		names, types = append(names, f.name), append(types, f.typ)
		if f.typ == number {
			numbers, at = append(numbers, f.name), append(at, i)
		}
	}
	if len(numbers) > 0 {
		found, err := queryTexts(ctx, s, jsonProbe(objects, numbers))
		if err != nil {
			return nil, err
		}
		for i, field := range at {
			switch {
			case found[0][2*i] == "true":
				types[field] = "BIGINT"
			case found[0][2*i+1] == "true":
				types[field] = "DOUBLE"
			default:
				types[field] = "JSON"
			}
		}
	}
	return func(files []string) string { return readJSON(c.json(files), names, types) }, nil
}

// number is the type of a field whose values are numbers, to be looked at.
const number = "number"

type jsonField struct{ name, typ string }

// parseStructure reads what json_group_structure says of objects. The fields keep the
// order in which they first come.
func parseStructure(text string) ([]jsonField, error) {
	d := stdjson.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != stdjson.Delim('{') {
		return nil, fmt.Errorf("the rows are no objects but %s", connectors.Shorten(text))
	}
	var fields []jsonField
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var raw stdjson.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		typ, err := structureType(raw, true)
		if err != nil {
			return nil, err
		}
		fields = append(fields, jsonField{name: key.(string), typ: typ})
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("the rows have no fields")
	}
	return fields, nil
}

// structureType is a DuckDB type. Numbers inside of lists and objects are not looked at
// one by one: with them the field stays JSON unless they are small integers or bounded
// ones, which the structure tells apart.
func structureType(raw stdjson.RawMessage, top bool) (string, error) {
	raw = bytes.TrimSpace(raw)
	switch raw[0] {
	case '"':
		var name string
		if err := stdjson.Unmarshal(raw, &name); err != nil {
			return "", err
		}
		return scalarType(name, top), nil
	case '[':
		var elems []stdjson.RawMessage
		if err := stdjson.Unmarshal(raw, &elems); err != nil || len(elems) != 1 {
			return "JSON", err
		}
		elem, err := structureType(elems[0], false)
		if elem == "JSON" {
			return "JSON", err
		}
		return elem + "[]", err
	}
	return structType(raw)
}

func scalarType(name string, top bool) string {
	switch name {
	case "BOOLEAN", "VARCHAR":
		return name
	case "BIGINT", "UBIGINT", "HUGEINT", "DOUBLE":
		if top {
			return number
		}
		if name == "BIGINT" || name == "UBIGINT" {
			return name
		}
	}
	return "JSON"
}

func structType(raw stdjson.RawMessage) (string, error) {
	d := stdjson.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return "", err
	}
	var parts []string
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", err
		}
		var value stdjson.RawMessage
		if err := d.Decode(&value); err != nil {
			return "", err
		}
		typ, err := structureType(value, false)
		if err != nil {
			return "", err
		}
		parts = append(parts, quote(key.(string))+" "+typ)
	}
	if len(parts) == 0 {
		return "JSON", nil
	}
	return "STRUCT(" + strings.Join(parts, ", ") + ")", nil
}
