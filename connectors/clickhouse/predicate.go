package clickhouse

import "github.com/dvt-dev/dvt/connectors"

// class is how a column compares.
type class int

const (
	classNone class = iota
	classInt
	classDecimal
	classFloat
	classText
	classDate
	classTime
	classEnum
	classUUID
	classBool
)

func classOf(col *connectors.Column) (class, *chType) {
	return classNone, nil
}

// Leaf answers for one leaf of a predicate.
func (d *dialect) Leaf(p *connectors.Pred, t *connectors.Table) connectors.Answer {
	return connectors.Answer{Verdict: connectors.No, Reason: "not sent to ClickHouse"}
}
