package mysql

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

const (
	// swapWait: a RENAME waits for the transactions that use the table, and every new
	// reader queues behind it. It gives up soon and tries again.
	swapWaitSQL  = "SET SESSION lock_wait_timeout = 2"
	noForeignSQL = "SET SESSION foreign_key_checks = 0"
	beginSQL     = "START TRANSACTION"
	commitSQL    = "COMMIT"
	rollbackSQL  = "ROLLBACK"
)

func (d dialect) kindSQL(rel connectors.Relation) string {
	return "SELECT TABLE_TYPE FROM information_schema.TABLES WHERE " + d.tableWhere("", rel)
}

func (d dialect) indexSQL(rel connectors.Relation) string {
	return "SELECT INDEX_NAME, NON_UNIQUE, COLUMN_NAME, SUB_PART, INDEX_TYPE, COLLATION, INDEX_COMMENT FROM information_schema.STATISTICS WHERE " +
		d.tableWhere("", rel) + " ORDER BY INDEX_NAME, SEQ_IN_INDEX"
}

const foreignColumns = "SELECT k.CONSTRAINT_NAME, k.COLUMN_NAME, k.TABLE_SCHEMA, k.TABLE_NAME," +
	" k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME"

// foreignSQL lists the foreign keys of rel.
func (d dialect) foreignSQL(rel connectors.Relation) string {
	return foreignColumns + ", r.UPDATE_RULE, r.DELETE_RULE FROM information_schema.KEY_COLUMN_USAGE k" +
		" JOIN information_schema.REFERENTIAL_CONSTRAINTS r ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA" +
		" AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME WHERE " + d.tableWhere("k.", rel) +
		" AND " + d.nameIs("r.CONSTRAINT_SCHEMA", rel.Schema) + " AND " + d.nameIs("r.TABLE_NAME", rel.Name) + // constants, or every table is opened
		" AND k.REFERENCED_TABLE_NAME IS NOT NULL ORDER BY k.CONSTRAINT_NAME, k.ORDINAL_POSITION"
}

// referencesSQL lists the foreign keys that point to rel.
func (d dialect) referencesSQL(rel connectors.Relation) string {
	return foreignColumns + " FROM information_schema.KEY_COLUMN_USAGE k WHERE " +
		d.nameIs("k.REFERENCED_TABLE_SCHEMA", rel.Schema) + " AND " + d.nameIs("k.REFERENCED_TABLE_NAME", rel.Name) +
		" ORDER BY k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION"
}

// referencedSQL counts them from InnoDB's own list, which does not open every table of
// the server but needs the PROCESS privilege.
func referencedSQL(rel connectors.Relation) string {
	return "SELECT COUNT(*) FROM information_schema.INNODB_SYS_FOREIGN WHERE REF_NAME = " + str(rel.Schema+"/"+rel.Name)
}

func (d dialect) checksSQL(rel connectors.Relation) string {
	if d.c.server().engine == engineMariaDB {
		return "SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS WHERE " +
			d.nameIs("CONSTRAINT_SCHEMA", rel.Schema) + " AND " + d.nameIs("TABLE_NAME", rel.Name) + " ORDER BY CONSTRAINT_NAME"
	}
	return "SELECT c.CONSTRAINT_NAME, c.CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS c JOIN information_schema.TABLE_CONSTRAINTS t" +
		" ON t.CONSTRAINT_SCHEMA = c.CONSTRAINT_SCHEMA AND t.CONSTRAINT_NAME = c.CONSTRAINT_NAME WHERE t.ENFORCED = 'YES' AND " +
		d.tableWhere("t.", rel) + " ORDER BY c.CONSTRAINT_NAME"
}

func (d dialect) triggersSQL(rel connectors.Relation) string {
	return "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE " + d.nameIs("EVENT_OBJECT_SCHEMA", rel.Schema) +
		" AND " + d.nameIs("EVENT_OBJECT_TABLE", rel.Name) + " ORDER BY ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER"
}

func (d dialect) triggerHomeSQL(schema, name string) string {
	return "SELECT EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS WHERE " + d.nameIs("TRIGGER_SCHEMA", schema) + " AND " + d.nameIs("TRIGGER_NAME", name)
}

func showTriggerSQL(schema, name string) string {
	return "SHOW CREATE TRIGGER " + relation(connectors.Relation{Schema: schema, Name: name})
}

func dropTriggerSQL(schema, name string) string {
	return "DROP TRIGGER " + relation(connectors.Relation{Schema: schema, Name: name})
}

func sqlModeSQL(mode string) string { return "SET SESSION sql_mode = " + str(mode) }

func saveTriggersSQL(rel connectors.Relation) string {
	return "CREATE TABLE " + relation(rel) + " (`pos` int PRIMARY KEY, `name` varchar(64) NOT NULL, `mode` text NOT NULL, `body` longtext NOT NULL)" +
		" ENGINE=InnoDB CHARACTER SET utf8mb4"
}

func saveTriggerSQL(rel connectors.Relation, pos int, t trigger) string {
	return "INSERT INTO " + relation(rel) + " VALUES (" + strconv.Itoa(pos) + ", " + str(t.name) + ", " + str(t.mode) + ", " + str(t.body) + ")"
}

func savedTriggersSQL(rel connectors.Relation) string {
	return "SELECT `name`, `mode`, `body` FROM " + relation(rel) + " ORDER BY `pos`"
}

func deleteAllSQL(rel connectors.Relation) string { return "DELETE FROM " + relation(rel) }

// copySQL matches columns by name.
func copySQL(to, from connectors.Relation, cols []string) string {
	list := quoteAll(cols)
	return "INSERT INTO " + relation(to) + " (" + list + ") SELECT " + list + " FROM " + relation(from)
}

// orphanSQL finds a child row whose parent is gone from rel.
func orphanSQL(rel connectors.Relation, f foreign) string {
	on, set := make([]string, len(f.columns)), make([]string, len(f.columns))
	for i, c := range f.columns {
		on[i] = "c." + quote(c) + " = p." + quote(f.refColumns[i])
		set[i] = "c." + quote(c) + " IS NOT NULL"
	}
	return "SELECT 1 FROM " + relation(f.table) + " c LEFT JOIN " + relation(rel) + " p ON " + strings.Join(on, " AND ") +
		" WHERE p." + quote(f.refColumns[0]) + " IS NULL AND " + strings.Join(set, " AND ") + " LIMIT 1"
}

// alterSQL applies all of parts at once, "" for none.
func alterSQL(rel connectors.Relation, parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return "ALTER TABLE " + relation(rel) + " " + strings.Join(parts, ", ")
}

func modifyPart(t *target, notNull bool, attributes, comment string) string {
	s := "MODIFY " + quote(t.col.Name) + " " + t.ddl
	switch {
	case notNull:
		s += " NOT NULL"
	default:
		s += " NULL"
	}
	if attributes != "" {
		s += " " + attributes
	} else if !notNull {
		s += " DEFAULT NULL"
	}
	if comment != "" {
		s += " COMMENT " + str(comment)
	}
	return s
}

// defaultText is DEFAULT and ON UPDATE as the catalog has them. MariaDB lists an
// expression, quoted where it is text; MySQL a bare value unless it says
// DEFAULT_GENERATED.
func (d dialect) defaultText(x extra, base string) string {
	var s string
	attr := strings.ToUpper(x.attribute)
	switch v := x.deflt.s; {
	case x.deflt.null:
	case d.c.server().engine == engineMariaDB:
		if v != "NULL" {
			s = "DEFAULT " + v
		}
	case strings.Contains(attr, "DEFAULT_GENERATED") && !strings.HasPrefix(strings.ToUpper(v), "CURRENT_TIMESTAMP"):
		s = "DEFAULT (" + v + ")"
	case strings.Contains(attr, "DEFAULT_GENERATED"), base == "bit":
		s = "DEFAULT " + v
	default:
		s = "DEFAULT " + str(v)
	}
	if i := strings.Index(attr, "ON UPDATE "); i >= 0 && s != "" {
		s += " " + attr[i:]
	}
	return s
}

func commentPart(comment string) string { return "COMMENT = " + str(comment) }
func checkPart(name, clause string) string {
	if name == "" {
		return "ADD CHECK (" + clause + ")"
	}
	return "ADD CONSTRAINT " + quote(name) + " CHECK (" + clause + ")"
}

func foreignPart(f foreign, name string) string {
	s := "ADD "
	if name != "" {
		s += "CONSTRAINT " + quote(name) + " "
	}
	return s + "FOREIGN KEY (" + quoteAll(f.columns) + ") REFERENCES " + relation(f.refTable) + " (" + quoteAll(f.refColumns) + ")" +
		" ON UPDATE " + f.onUpdate + " ON DELETE " + f.onDelete
}

func indexPart(ix index) string {
	parts := make([]string, len(ix.columns))
	for i, c := range ix.columns {
		parts[i] = quote(c.name)
		if c.prefix > 0 {
			parts[i] += fmt.Sprintf("(%d)", c.prefix)
		}
		if c.desc {
			parts[i] += " DESC"
		}
	}
	s, using := "ADD ", ""
	switch {
	case ix.name == "PRIMARY":
		s += "PRIMARY KEY"
	case ix.unique:
		s += "UNIQUE KEY " + quote(ix.name)
	case ix.kind == "FULLTEXT", ix.kind == "SPATIAL":
		s += ix.kind + " KEY " + quote(ix.name)
	default:
		s += "KEY " + quote(ix.name)
	}
	if ix.kind == "HASH" { // a b-tree is what there is otherwise
		using = " USING HASH"
	}
	s += " (" + strings.Join(parts, ", ") + ")" + using
	if ix.comment != "" {
		s += " COMMENT " + str(ix.comment)
	}
	return s
}
