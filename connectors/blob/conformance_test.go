package blob_test

import (
	"testing"

	_ "github.com/dvt-dev/dvt/connectors/all"
	"github.com/dvt-dev/dvt/connectors/conformance"
)

func TestConformance(t *testing.T) { conformance.Connector(t, "s3") }
