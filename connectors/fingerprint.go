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

// FingerprintColumns are the columns of a fingerprint's query; text is how the engine
// describes a text.
func FingerprintColumns(text Column) []Column {
	cols := []Column{text, text}
	cols[0].Name, cols[1].Name = "rows", "marks"
	cols[0].Type, cols[1].Type = T(Varchar), T(Varchar)
	return cols
}
