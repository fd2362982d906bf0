package state

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
	_ "github.com/dvt-dev/dvt/connectors/all"
	"github.com/dvt-dev/dvt/internal/enginetest"
)

// stores are the places in which state is kept, one of each kind.
var stores = map[string]func(*testing.T) Store{
	"folder": func(t *testing.T) Store {
		s, _ := local(t)
		return s
	},
	"table":  tableStore,
	"bucket": bucketStore,
}

func unique() string {
	var b [5]byte
	_, _ = rand.Read(b[:])
	return "state_" + hex.EncodeToString(b[:])
}

// named opens a state on an output of type typ.
func named(t *testing.T, value, typ string, keys map[string]any) Store {
	t.Helper()
	kind, err := connectors.Lookup(typ)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := kind.Open(connectors.Output{Name: "out", Type: typ, Keys: keys}, connectors.Env{ProjectDir: t.TempDir(), RunID: "state"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := Open(value, t.TempDir(), []string{"out"}, func(string) (connectors.Conn, error) { return conn, nil })
	if err != nil {
		t.Fatal(err)
	}
	return p.Store
}

func tableStore(t *testing.T) Store {
	db, err := enginetest.Open("pg", "")
	if err != nil {
		t.Fatal(err)
	}
	schema := unique()
	if err := db.Exec("CREATE SCHEMA " + schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = db.Exec("DROP SCHEMA " + schema + " CASCADE")
		_ = db.Close()
	})
	keys := map[string]any{}
	for key, name := range map[string]string{"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD", "dbname": "DATABASE"} {
		keys[key] = os.Getenv("DVT_TEST_PG_" + name)
	}
	return named(t, "out/"+schema, "postgres", keys)
}

func bucketStore(t *testing.T) Store {
	bucket, err := enginetest.OpenS3()
	if err != nil {
		t.Fatal(err)
	}
	prefix := unique()
	t.Cleanup(func() {
		if err := bucket.Clean(prefix + "/"); err != nil {
			t.Error(err)
		}
		bucket.Close()
	})
	return named(t, "out/dvt/state", "s3", bucket.Keys(prefix))
}
