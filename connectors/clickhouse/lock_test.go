package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

func TestLock(t *testing.T) {
	f := newFixture(t, "")
	other := openConn(t, serverOutput(t, drivers()[0], f.db))
	ctx := context.Background()
	release, err := f.Lock(ctx, f.rel("t"), time.Second, func() { t.Error("had to wait for a free lock") })
	if err != nil {
		t.Fatal(err)
	}
	var waited int
	_, err = other.Lock(ctx, f.rel("t"), 700*time.Millisecond, func() { waited++ })
	var locked *connectors.LockedError
	if !errors.As(err, &locked) || waited != 1 {
		t.Fatalf("got %v, waiting called %d times", err, waited)
	}
	free, err := other.Lock(ctx, f.rel("t2"), 0, nil)
	if err != nil {
		t.Fatalf("another relation: %v", err)
	}
	free()
	time.AfterFunc(300*time.Millisecond, release)
	again, err := other.Lock(ctx, f.rel("t"), 10*time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	again()
	again() // harmless
	if left := f.tables(); len(left) > 0 {
		t.Errorf("left in the database: %q", left)
	}
}

// Many clients want one lock; never do two have it.
func TestLockExcludes(t *testing.T) {
	f := newFixture(t, "")
	var inside, total atomic.Int32
	var wg sync.WaitGroup
	for range 6 {
		c := openConn(t, serverOutput(t, drivers()[0], f.db))
		wg.Go(func() {
			release, err := c.Lock(context.Background(), f.rel("t"), 20*time.Second, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if inside.Add(1) != 1 {
				t.Error("two clients hold the lock")
			}
			time.Sleep(30 * time.Millisecond)
			inside.Add(-1)
			total.Add(1)
			release()
		})
	}
	wg.Wait()
	if total.Load() != 6 {
		t.Errorf("%d of 6 clients got the lock", total.Load())
	}
}

// A lock without a heartbeat for a minute is void, for one of those who want it.
func TestLockOfDeadRun(t *testing.T) {
	f := newFixture(t, "")
	rel := f.rel("t")
	dead := &tableLock{c: f.conn, owner: newOwner(), rel: connectors.Relation{Schema: f.db, Name: lockPrefix + relationHash(rel)}}
	if ok, err := dead.try(context.Background()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	f.exec("DROP TABLE " + dead.sqlName())
	f.exec(createLockSQL(dead.sqlName(), dead.owner))
	f.exec("INSERT INTO " + dead.sqlName() + " (at, " + ownerColumn(dead.owner) + ") SELECT now() - 61, 1")
	var inside atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		c := openConn(t, serverOutput(t, drivers()[0], f.db))
		wg.Go(func() {
			release, err := c.Lock(context.Background(), rel, 20*time.Second, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if inside.Add(1) != 1 {
				t.Error("two clients hold the lock")
			}
			time.Sleep(20 * time.Millisecond)
			inside.Add(-1)
			release()
		})
	}
	wg.Wait()
	if err := dead.beat(context.Background()); err == nil {
		t.Error("the former owner can still renew")
	}
	if left := f.tables(); len(left) > 0 {
		t.Errorf("left in the database: %q", left)
	}
}

// Other tables of the database come and go while a lock is looked for and a relation is
// described: 18.16 then says of the catalog's query that they do not exist.
func TestCatalogBesideDrops(t *testing.T) {
	f := newFixture(t, "")
	ctx := context.Background()
	f.exec("CREATE TABLE " + f.SQLName(f.rel("kept")) + " (id Int32) ENGINE = Memory")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 3 {
		c := openConn(t, serverOutput(t, drivers()[0], f.db))
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				a, b := f.SQLName(f.rel(fmt.Sprintf("a%d_%d", i, n))), f.SQLName(f.rel(fmt.Sprintf("b%d_%d", i, n)))
				for _, sql := range []string{"CREATE TABLE " + a + " (id Int32) ENGINE = Memory", "RENAME TABLE " + a + " TO " + b, "DROP TABLE " + b} {
					if err := c.Exec(ctx, sql); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for range 60 {
		release, err := f.Lock(ctx, f.rel("kept"), time.Second, nil)
		if err == nil {
			release()
			_, err = f.Describe(ctx, f.rel("kept"))
		}
		if err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	wg.Wait()
}
