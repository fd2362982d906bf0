package mysql

import (
	"context"
	"fmt"

	"github.com/dvt-dev/dvt/connectors"
)

// trigger is a trigger as SHOW CREATE TRIGGER gives it.
//
// A trigger follows its table through RENAME, and its name is unique in the database,
// so that the new table can have it only after the old one has lost it. Its definition
// stands in a table meanwhile: a run that dies in between leaves it to the next.
type trigger struct{ name, mode, body string }

func (s *session) triggers(ctx context.Context, rel connectors.Relation) ([]trigger, error) {
	rows, err := s.rows(ctx, dialect{s.c}.triggersSQL(rel))
	if err != nil {
		return nil, err
	}
	var out []trigger
	for _, r := range rows {
		def, err := s.rows(ctx, showTriggerSQL(rel.Schema, r[0].s))
		if err != nil {
			return nil, err
		}
		if len(def) != 1 || len(def[0]) < 3 || def[0][2].null {
			return nil, fmt.Errorf("the definition of trigger %s cannot be read: the TRIGGER privilege is needed", r[0].s)
		}
		out = append(out, trigger{name: r[0].s, mode: def[0][1].s, body: def[0][2].s})
	}
	return out, nil
}

// saveTriggers writes the definitions into a table beside the staging table.
func (s *session) saveTriggers(ctx context.Context, rel connectors.Relation, all []trigger) error {
	if _, err := s.exec(ctx, dropTableSQL(rel)); err != nil {
		return err
	}
	if _, err := s.exec(ctx, saveTriggersSQL(rel)); err != nil {
		return err
	}
	for i, t := range all {
		if _, err := s.exec(ctx, saveTriggerSQL(rel, i, t)); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) savedTriggers(ctx context.Context, rel connectors.Relation) ([]trigger, error) {
	rows, err := s.rows(ctx, savedTriggersSQL(rel))
	if err != nil {
		return nil, err
	}
	var out []trigger
	for _, r := range rows {
		out = append(out, trigger{r[0].s, r[1].s, r[2].s})
	}
	return out, nil
}

// restoreTriggers makes each of all a trigger of rel, from wherever it is now.
func (s *session) restoreTriggers(ctx context.Context, all []trigger, rel connectors.Relation) error {
	for _, t := range all {
		home, err := s.rows(ctx, dialect{s.c}.triggerHomeSQL(rel.Schema, t.name))
		if err != nil {
			return err
		}
		if len(home) > 0 {
			if home[0][0].s == rel.Name {
				continue
			}
			// It may have gone meanwhile, with the last statement of a dead run.
			if _, err := s.exec(ctx, dropTriggerSQL(rel.Schema, t.name)); err != nil && !isCode(err, errNoTrigger) {
				return fmt.Errorf("moving trigger %s: %w", t.name, err)
			}
		}
		if _, err := s.exec(ctx, sqlModeSQL(t.mode)); err != nil {
			return err
		}
		_, err = s.exec(ctx, t.body)
		if _, merr := s.exec(ctx, sessionSetup[0]); err == nil {
			err = merr
		}
		if err != nil {
			return fmt.Errorf("recreating trigger %s: %w", t.name, err)
		}
	}
	return nil
}
