# make run    build, make a demo congregation on first use, serve it
# make lint   gofmt, vet and staticcheck
# make test   a quick check, on a fresh machine too; under 5 minutes on two cores
# make race   the race detector over every test; ROOMS='./kv/... ./index/...': over those of some packages
# make proof  what make test leaves out: full counts of kills, power cuts, simulation and all that is drawn; 32 bits, other systems
# make bench  the benchmarks; MINUTES=10: a mixed load for so long, too
# make torture HOURS=n  what breaks things, for so long; prints the table of doorward help proofs
# make build  the program: ./doorward

GO      ?= go
DATA    ?= data
LISTEN  ?= 127.0.0.1:8080
SIZE    ?= s
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# The commit's time, or that of go.mod without git: a build without a change links nothing.
BUILT   ?= $(shell TZ=UTC git show -s --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -r go.mod +%Y-%m-%dT%H:%M:%SZ)

export CGO_ENABLED := 0

.PHONY: run lint test race proof bench build torture

build:
	$(GO) build -trimpath -ldflags '-X main.version=$(VERSION) -X main.built=$(BUILT)' -o doorward ./cmd/doorward

run: build
	@GO='$(GO)' DATA='$(DATA)' LISTEN='$(LISTEN)' SIZE='$(SIZE)' bash .ci/demo

lint:
	@GO='$(GO)' bash .ci/check lint

test:
	@GO='$(GO)' bash .ci/check test

race:
	@GO='$(GO)' ROOMS='$(ROOMS)' bash .ci/check race

proof:
	@GO='$(GO)' bash .ci/check proof

bench:
	DOORWARD_BENCH=1 DOORWARD_BENCH_MINUTES='$(MINUTES)' $(GO) test -count=1 -p 1 -timeout 30m -run '^(TestBench|TestTheWaysThroughTheHouse)$$' -v ./kv ./sync ./sync/venue ./cmd/doorward

torture:
	@GO='$(GO)' HOURS='$(HOURS)' bash .ci/torture
