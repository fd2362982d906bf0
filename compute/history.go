package compute

import (
	"fmt"
	"strings"
	"time"
)

// The columns that dvt adds to the rows of a snapshot, under dbt's names.
const (
	ScdID     = "dbt_scd_id"
	ScdAt     = "dbt_updated_at"
	ScdFrom   = "dbt_valid_from"
	ScdTo     = "dbt_valid_to"
	ScdGone   = "dbt_is_deleted"
	scdDigest = "sha256"
)

// History builds the SQL of a type-2 history over two kept results: current, the rows
// that the model returns now, and open, the versions of the target that are not closed.
// Both have the target's types.
type History struct {
	Key       []string
	UpdatedAt string   // column of the timestamp strategy, "" under check
	Check     []string // columns whose change opens a version, under check
	Now       time.Time
	Digits    int    // of a second's fraction that the target keeps
	OpenUntil string // SQL of the valid_to of open versions, "" = NULL
	Close     bool   // close the versions whose key is gone
	Mark      bool   // and open a version that says so (dbt_is_deleted)
	Columns   []string
	// Fresh are columns that the target gets with this run: they are filled in for open
	// versions and open none by themselves.
	Fresh []string
	// Ended is a kept result with the last end of each key that may begin before it, as
	// dbt_valid_to beside the key's columns; "" = there is none.
	Ended string
}

func (h History) now() string {
	return "'" + h.Now.UTC().Truncate(h.unit()).Format("2006-01-02 15:04:05.000000") + "'::TIMESTAMP"
}

// unit is the smallest step of time that the target keeps.
func (h History) unit() time.Duration {
	unit := time.Second
	for range h.Digits {
		unit /= 10
	}
	return max(unit, time.Microsecond)
}

// until is the valid_to of an open version.
func (h History) until() string {
	if h.OpenUntil == "" {
		return "NULL::TIMESTAMP"
	}
	return "CAST((" + h.OpenUntil + ") AS TIMESTAMP)"
}

// OpenVersions selects the open versions of a history, sql being all of its rows.
func (h History) OpenVersions(sql string) string {
	where := quote(ScdTo) + " IS NULL"
	if h.OpenUntil != "" {
		where = "(" + where + " OR " + quote(ScdTo) + " = " + h.until() + ")"
	}
	return "SELECT * FROM (" + trimmed(sql) + "\n) AS __dvt_history WHERE " + where
}

// at is the time of the version that a row of alias begins.
func (h History) at(alias string) string {
	if h.UpdatedAt != "" {
		return "CAST(" + alias + "." + quote(h.UpdatedAt) + " AS TIMESTAMP)"
	}
	return h.now()
}

// id names a version: its key's parts, each with its length or a mark for NULL so that
// ('ab','c') and ('a','bc'), NULL and ” differ, and its time. tail makes the versions
// of keys that come back differ from those that were closed.
func (h History) id(alias, at, tail string) string {
	var parts []string
	for _, k := range h.Key {
		c := "CAST(" + alias + "." + quote(k) + " AS VARCHAR)"
		parts = append(parts, "CASE WHEN "+c+" IS NULL THEN 'n' ELSE 'v' || strlen("+c+") || ':' || "+c+" END")
	}
	parts = append(parts, "'@'", "strftime("+at+", '%Y-%m-%d %H:%M:%S.%f')")
	if tail != "" {
		parts = append(parts, "'#'", tail)
	}
	return scdDigest + "(" + strings.Join(parts, " || ") + ")"
}

// row is a SELECT list of a version: the model's columns of alias, then dvt's.
func (h History) row(alias, id, at, from, to, gone string) string {
	var exprs []string
	for _, c := range h.Columns {
		exprs = append(exprs, alias+"."+quote(c)+" AS "+quote(c))
	}
	for _, c := range h.Fresh {
		value := "NULL"
		if alias == "c" {
			value = "c." + quote(c)
		}
		exprs = append(exprs, value+" AS "+quote(c))
	}
	exprs = append(exprs, id+" AS "+quote(ScdID), at+" AS "+quote(ScdAt), from+" AS "+quote(ScdFrom), to+" AS "+quote(ScdTo))
	if h.Mark {
		exprs = append(exprs, gone+" AS "+quote(ScdGone))
	}
	return strings.Join(exprs, ", ")
}

// First gives the rows of a new history.
func (h History) First(current string) string {
	at := h.at("c")
	return "SELECT " + h.row("c", h.id("c", at, ""), at, at, h.until(), "'False'") + " FROM " + current + " AS c"
}

// MissingTime gives the key of one row without updated_at.
func (h History) MissingTime(current string) string {
	return "SELECT " + quoteAll(h.Key) + " FROM " + current + " WHERE " + quote(h.UpdatedAt) + " IS NULL LIMIT 1"
}

func (h History) match() string { return h.matches("o") }

// matches compares the keys of c and another row.
func (h History) matches(other string) string {
	var on []string
	for _, k := range h.Key {
		on = append(on, "c."+quote(k)+" IS NOT DISTINCT FROM "+other+"."+quote(k))
	}
	return strings.Join(on, " AND ")
}

// FirstComing gives, as text, the earliest time at which a row of current whose key has no
// open version would begin; no row when there is none such.
func (h History) FirstComing(current, open string) string {
	return "SELECT strftime(min(" + h.at("c") + "), '%Y-%m-%d %H:%M:%S.%f') FROM " + current + " AS c ANTI JOIN " + open + " AS o ON " + h.match() + " HAVING count(*) > 0"
}

// EndedVersions selects the keys and ends of the versions that ended after a time, sql
// being all rows of the history.
func (h History) EndedVersions(sql, after string) string {
	where := quote(ScdTo) + " > " + literal(after) + "::TIMESTAMP"
	if h.OpenUntil != "" {
		where += " AND " + quote(ScdTo) + " <> " + h.until()
	}
	return "SELECT " + quoteAll(h.Key) + ", " + quote(ScdTo) + " FROM (" + trimmed(sql) + "\n) AS __dvt_history WHERE " + where
}

// LastEnds makes the kept rows of EndedVersions what Ended is: types are those of the key's
// columns in the current state.
func (h History) LastEnds(ended string, types []string) string {
	var keys []string
	for i, k := range h.Key {
		keys = append(keys, "CAST("+quote(k)+" AS "+types[i]+") AS "+quote(k))
	}
	return "SELECT " + strings.Join(keys, ", ") + ", max(CAST(" + quote(ScdTo) + " AS TIMESTAMP)) AS " + quote(ScdTo) + " FROM " + ended + " GROUP BY ALL"
}

// changed holds for a row c and its open version o when a new version begins.
func (h History) changed() string {
	var any []string
	if h.UpdatedAt != "" {
		any = append(any, h.at("c")+" > o."+quote(ScdAt))
	}
	for _, k := range h.Check {
		any = append(any, "c."+quote(k)+" IS DISTINCT FROM o."+quote(k))
	}
	if h.Mark {
		any = append(any, "o."+quote(ScdGone)+" = 'True'")
	}
	if len(any) == 0 {
		return "false"
	}
	return "(" + strings.Join(any, " OR ") + ")"
}

// Changes gives the rows to merge on dbt_scd_id: versions that begin, and the open
// versions that end, with the time of the version that replaces them. A version never
// begins before the one it replaces, even if the clock went back or stood still.
func (h History) Changes(current, open string) string {
	begin := h.at("c")
	if h.UpdatedAt == "" {
		begin = fmt.Sprintf("greatest(%s, o.%s + INTERVAL %d MICROSECOND)", h.now(), quote(ScdFrom), h.unit()/time.Microsecond)
	}
	if h.UpdatedAt != "" {
		// A key that came back began when the run saw it, or after its mark did: at a time
		// that its rows' own times may not have reached when they change again.
		begin = fmt.Sprintf("CASE WHEN %[1]s > o.%[2]s THEN %[1]s ELSE o.%[2]s + INTERVAL %[3]d MICROSECOND END", begin, quote(ScdFrom), h.unit()/time.Microsecond)
	}
	ended := fmt.Sprintf("greatest(%s, o.%s)", h.now(), quote(ScdFrom))
	comes, coming := h.at("c"), current+" AS c ANTI JOIN "+open+" AS o ON "+h.match()
	if h.Ended != "" {
		// What a key had before ended when a run saw it gone. Its row's own time, or a clock
		// that went back, may lie before that.
		comes = "CASE WHEN e." + quote(ScdTo) + " > " + comes + " THEN greatest(" + h.now() + ", e." + quote(ScdTo) + ") ELSE " + comes + " END"
		coming = "(SELECT c.* FROM " + coming + ") AS c LEFT JOIN " + h.Ended + " AS e ON " + h.matches("e")
	}
	tail := "strftime(" + h.now() + ", '%Y-%m-%d %H:%M:%S.%f')"
	join := " FROM " + current + " AS c JOIN " + open + " AS o ON " + h.match()
	gone := " FROM " + open + " AS o ANTI JOIN " + current + " AS c ON " + h.match()
	same := func(to string) string {
		return h.row("o", "o."+quote(ScdID), "o."+quote(ScdAt), "o."+quote(ScdFrom), to, "o."+quote(ScdGone))
	}
	parts := []string{
		"SELECT " + h.row("c", h.id("c", comes, tail), h.at("c"), comes, h.until(), "'False'") + " FROM " + coming,
		"SELECT " + h.row("c", h.id("c", begin, ""), h.at("c"), begin, h.until(), "'False'") + join + " WHERE " + h.changed(),
		"SELECT " + same(begin) + join + " WHERE " + h.changed(),
	}
	if len(h.Fresh) > 0 {
		parts = append(parts, "SELECT "+h.row("c", "o."+quote(ScdID), "o."+quote(ScdAt), "o."+quote(ScdFrom), h.until(), "o."+quote(ScdGone))+join+" WHERE NOT "+h.changed())
	}
	if h.Close {
		live := ""
		if h.Mark {
			live = " WHERE o." + quote(ScdGone) + " IS DISTINCT FROM 'True'"
			after := fmt.Sprintf("greatest(%s, o.%s + INTERVAL %d MICROSECOND)", h.now(), quote(ScdFrom), h.unit()/time.Microsecond)
			ended = after
			parts = append(parts, "SELECT "+h.row("o", h.id("o", after, "'gone'"), after, after, h.until(), "'True'")+gone+live)
		}
		parts = append(parts, "SELECT "+same(ended)+gone+live)
	}
	return strings.Join(parts, "\nUNION ALL\n")
}
