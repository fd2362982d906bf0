package mysql

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// The engines that a server can turn out to be.
const (
	engineMySQL   = "mysql"
	engineMariaDB = "mariadb"
)

// version is what a server says about itself.
type version struct {
	engine              string
	major, minor, patch int
	text                string
	foldNames           bool  // table names ignore case (lower_case_table_names)
	localInfile         bool  // LOAD DATA LOCAL is allowed
	maxPacket           int64 // max_allowed_packet
}

// guessVersion stands in until the server has been reached, for plans made without it.
func guessVersion(typ string) version {
	if strings.EqualFold(typ, engineMariaDB) {
		return version{engine: engineMariaDB, major: 10, minor: 6, text: "MariaDB"}
	}
	return version{engine: engineMySQL, major: 8, text: "MySQL"}
}

func (v *version) String() string { return v.text }

// atLeast compares within one engine.
func (v *version) atLeast(engine string, major, minor, patch int) bool {
	if v.engine != engine {
		return false
	}
	if v.major != major {
		return v.major > major
	}
	if v.minor != minor {
		return v.minor > minor
	}
	return v.patch >= patch
}

// binaryCollation is the collation of utf8mb4 under which text is equal only when its
// bytes are: under utf8mb4_bin 'a' = 'a ' still holds.
func (v *version) binaryCollation() string {
	if v.engine == engineMariaDB {
		return "utf8mb4_nopad_bin"
	}
	return "utf8mb4_0900_bin"
}

// server is what is known of the server.
func (c *Conn) server() *version {
	if v := c.facts.Load(); v != nil {
		return v
	}
	return &c.guess
}

// learn keeps what a new session was told (see sessionFactsSQL).
func (c *Conn) learn(row []cell) {
	v := parseVersion(row[1].s)
	v.foldNames = row[2].s != "0"
	v.localInfile = row[3].s != "0"
	v.maxPacket, _ = strconv.ParseInt(row[4].s, 10, 64)
	c.facts.Store(&v)
}

// parseVersion reads "10.11.19-MariaDB-0+deb12u1", "5.5.5-10.6.12-MariaDB" (as
// MariaDB writes it for old replicas) and "8.0.36-28.1".
func parseVersion(s string) version {
	v := version{engine: engineMySQL}
	name := "MySQL"
	num := s
	if strings.Contains(strings.ToLower(s), "mariadb") {
		v.engine, name = engineMariaDB, "MariaDB"
		if rest, ok := strings.CutPrefix(s, "5.5.5-"); ok {
			num = rest
		}
	}
	num, _, _ = strings.Cut(num, "-")
	part := strings.SplitN(num, ".", 3)
	for i, p := range []*int{&v.major, &v.minor, &v.patch} {
		if i < len(part) {
			*p, _ = strconv.Atoi(part[i])
		}
	}
	v.text = fmt.Sprintf("%s %s", name, num)
	return v
}

// checkTarget refuses servers that have no collation under which text keys are equal
// only by their bytes.
func (v *version) checkTarget() error {
	if v.atLeast(engineMariaDB, 10, 2, 0) || v.atLeast(engineMySQL, 8, 0, 17) {
		return nil
	}
	return fmt.Errorf("%w: %s; as a target dvt needs MariaDB 10.2 or MySQL 8.0.17", connectors.ErrTooOld, v.text)
}
