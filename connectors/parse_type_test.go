package connectors

import "testing"

func TestParseType(t *testing.T) {
	for in, want := range map[string]string{
		"bigint": "BIGINT", "DECIMAL(18,4)": "DECIMAL(18,4)", "numeric( 10 )": "DECIMAL(10,0)", "decimal": "DECIMAL(18,3)",
		"varchar(20)": "VARCHAR", "timestamp(6) with time zone": "TIMESTAMP WITH TIME ZONE", "timestamptz": "TIMESTAMP WITH TIME ZONE",
		"double precision": "DOUBLE", "BIGINT[][]": "BIGINT[][]", `STRUCT(a INTEGER, "b c" VARCHAR[])`: `STRUCT("a" INTEGER, "b c" VARCHAR[])`,
		"MAP(VARCHAR, DECIMAL(3,1))": "MAP(VARCHAR, DECIMAL(3,1))",
	} {
		got, err := ParseType(in)
		if err != nil || got.String() != want {
			t.Errorf("ParseType(%q) = %v, %v; want %s", in, got, err, want)
		}
		if again, err := ParseType(got.String()); err != nil || !again.Equal(got) {
			t.Errorf("ParseType(%q) = %v, %v; want %s", got.String(), again, err, got)
		}
	}
	for _, in := range []string{"", "nope", "decimal(39,2)", "decimal(3,4)", "decimal(3", "int[3]", "struct(a)", "map(int)", "int x", `struct("a int)`} {
		if got, err := ParseType(in); err == nil {
			t.Errorf("ParseType(%q) = %v, want an error", in, got)
		}
	}
}
