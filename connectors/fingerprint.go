package connectors

// Fingerprinter is a Dialect whose engine sums up the rows of a relation, so that a copy
// of some columns can be compared with them without moving a row. The sum does not
// depend on the order of rows and is the same on every engine: that of the copy is
// computed where the copy is. Without it no copy is kept (the index of {{ this }}).
//
// A row's mark is the number that the first 15 hexadecimal digits of an MD5 spell. The
// text that is digested has for each column, in order, n for NULL, else v, the length of
// the value in bytes and a colon (both left out for the last column), and the value:
//
//	integers            decimal digits
//	boolean             1 or 0
//	decimal             digits, with neither zeros at the end of a fraction nor its point alone
//	text                UTF-8
//	blob                hexadecimal digits, lower case
//	date                2024-02-29
//	timestamp           2024-02-29 23:59:59.000000, a TimestampTZ in UTC
//	uuid                lower case
//
// A value that an engine spells otherwise makes the sums differ, which costs a new copy
// and never a wrong one.
type Fingerprinter interface {
	// SelectFingerprint is a query of one row with two texts: how many rows t has, and
	// the sum of their marks over cols modulo 2^64, both in decimal digits. ok is false
	// when a column's type is not in the list or not spelled like that.
	SelectFingerprint(t *Table, cols []int) (q Query, ok bool)
}

// FingerprintParts are the texts of a row's columns that a Fingerprinter joins and
// digests, in SQL whose || of NULL is NULL. spelled gives a column's value as the list
// above says, length is the SQL of a text's bytes. ok is false if a column has no such
// spelling.
func FingerprintParts(cols []Column, spelled func(*Column) (string, bool), length func(value string) string) (parts []string, ok bool) {
	for i := range cols {
		value, ok := spelled(&cols[i])
		if !ok {
			return nil, false
		}
		head := "'v' || "
		if i < len(cols)-1 {
			head += length(value) + " || ':' || "
		}
		parts = append(parts, "coalesce("+head+value+", 'n')")
	}
	return parts, len(parts) > 0
}

// Pick are the columns of t at the given places.
func (t *Table) Pick(at []int) []Column {
	cols := make([]Column, len(at))
	for i, c := range at {
		cols[i] = t.Columns[c]
	}
	return cols
}

// FingerprintColumns are the columns of a fingerprint's query; text is how the engine
// describes a text.
func FingerprintColumns(text Column) []Column {
	cols := []Column{text, text}
	cols[0].Name, cols[1].Name = "rows", "marks"
	cols[0].Type, cols[1].Type = T(Varchar), T(Varchar)
	return cols
}
