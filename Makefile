# Every target works from a clean clone with Go, a C compiler and make. Those that
# need PostgreSQL, MariaDB and ClickHouse start private ones through bin/servers,
# which installs missing Debian packages when it runs as root.

SHELL := /bin/bash -euo pipefail

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GOLANGCI_VERSION := v2.14.0
GOVULNCHECK_VERSION := v1.9.0
GOLANGCI := bin/tools/golangci-lint-$(GOLANGCI_VERSION)

# TAGS are build tags; RACE_SKIP matches packages that are too slow under -race, or start
# no goroutine: run and cmd/dvt are what uses those at once;
# FUZZTIME bounds each fuzz target; BENCH selects benchmarks; PKGS what is tested.
TAGS ?=
RACE_SKIP ?= /(connectors/conformance|planner|jinja|jinja/dbt|chunker|watermark|internal/docpage)$$
RACE_SKIP_TESTS ?= ^TestLimits$$|^TestConformance$$|^TestCase
FUZZTIME ?= 20s
BENCH ?= .
PKGS ?= ./...

# DVT_BENCH_ROWS are the rows of make bench's wide table, COMPARE the figures of an
# earlier run to print beside the new ones.
DVT_BENCH_ROWS ?= 5000000
COMPARE ?=
BENCH_FLAGS ?=

# The big suites have a target of their own, for they come in two sizes.
ACCEPTANCE := ^TestAcceptance
ACCEPTANCE_PKGS = $$(grep -rlE --include='*_test.go' '^func TestAcceptance' . | xargs -n 1 dirname | sort -u)

# Half the time of linking a test is the text for a debugger.
TEST := go test -count=1 -ldflags '-s -w' -tags '$(TAGS)'
SERVERS := bin/servers --

export DVT_DATA ?= $(abspath ../shared/data)

.PHONY: all build demo test race lint vuln bench gobench fuzz acceptance acceptance-full clean FORCE

all: build

build: bin/dvt

bin/dvt: FORCE
	go build -tags '$(TAGS)' -ldflags '-s -w -X main.version=$(VERSION)' -o $@ ./cmd/dvt

bin/servers: FORCE
	go build -o $@ ./internal/servers/cmd/servers

demo: build
	dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; dvt=$(abspath bin/dvt); cd "$$dir"; \
	"$$dvt" init demo; cd demo; "$$dvt" run; "$$dvt" show -s revenue_by_country --limit 8

test: bin/servers
	$(SERVERS) $(TEST) -skip "$(ACCEPTANCE)" -timeout 10m $(PKGS)

race: bin/servers
	pkgs=$$(go list -tags '$(TAGS)' $(PKGS) | grep -vE '$(RACE_SKIP)'); \
	$(SERVERS) $(TEST) -race -short -skip "$(ACCEPTANCE)|$(RACE_SKIP_TESTS)" -timeout 15m $$pkgs

lint: $(GOLANGCI)
	out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt -w is due:"; echo "$$out"; exit 1; fi
	go vet -tags '$(TAGS)' ./...
	$(GOLANGCI) run --build-tags '$(TAGS)' ./...

# Installed under its version, so that a new pin is a new file.
$(GOLANGCI):
	mkdir -p bin/tools
	GOBIN=$(abspath bin/tools) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv bin/tools/golangci-lint $@

# Exit code 3 means that vulnerable code is reached; anything else, that the database
# could not be asked.
vuln:
	code=0; go run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) -tags '$(TAGS)' ./... || code=$$?; \
	case $$code in 0) ;; 3) exit 3 ;; *) echo "govulncheck did not run (exit code $$code)" ;; esac

# BENCH_FLAGS: -parts routes, -routes '^pg-', -runs 1 … (see internal/bench); COMPARE is
# the file that an earlier run saved as bin/bench.json.
bench: bin/servers build
	go build -tags '$(TAGS)' -o bin/bench ./internal/bench
	$(SERVERS) bin/bench -rows $(DVT_BENCH_ROWS) -doc docs/performance.md $(if $(COMPARE),-compare $(COMPARE)) $(BENCH_FLAGS)

# The Go benchmarks of the packages.
gobench: bin/servers
	$(SERVERS) $(TEST) -run '^$$' -bench '$(BENCH)' -benchmem -timeout 2h $(PKGS)

# go test fuzzes one target of one package at a time.
fuzz: bin/servers
	for file in $$(grep -rlE --include='*_test.go' '^func Fuzz' . || true); do \
	  for target in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*).*/\1/p' "$$file"); do \
	    $(SERVERS) $(TEST) -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")"; \
	  done; \
	done

acceptance: bin/servers
	DVT_ACCEPTANCE=sample $(SERVERS) $(TEST) -run "$(ACCEPTANCE)" -timeout 15m $(ACCEPTANCE_PKGS)

acceptance-full: bin/servers
	DVT_ACCEPTANCE=full $(SERVERS) $(TEST) -run "$(ACCEPTANCE)" -timeout 24h $(ACCEPTANCE_PKGS)

clean:
	rm -rf bin coverage*
