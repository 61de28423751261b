package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"doorward/api/load"
	"doorward/kv/fault"
)

// importing is what import is told.
type importing struct {
	kind    string
	event   int64
	from    string
	sheet   string
	maps    []string
	ignore  []string
	states  []string
	dates   string
	zone    string
	types   []string
	entered bool
	yes     bool
	dryRun  bool
	asJSON  bool
}

const importLong = `Read records from a CSV, NDJSON or XLSX file; - is standard input.

The columns are chosen by their titles and by what stands in them. Before anything is written, a table on standard error shows
which column gives which field, how many tickets there are of each state, and which rows would be refused. On a terminal the
command then asks. A column that may decide who gets in and that is not understood stops the import; the message says which
flag decides.`

const importExamples = `  # a list of tickets, from a ticket shop or a spreadsheet
  doorward import --data data --kind ticket --event 7 tickets.csv
  # only look
  doorward import --data data --kind ticket --event 7 --dry-run tickets.xlsx
  # the code stands in a column of another title; two columns make the name
  doorward import --data data --kind ticket --event 7 --map 'code=Convite' --map 'holder_name="First Name"+"Last Name"' list.csv
  # words for a state that are not known
  doorward import --data data --kind ticket --event 7 --map 'state=Andamento' --states 'Liberado=valid,Travado=blocked' list.csv
  # a column that decides nothing
  doorward import --data data --kind ticket --event 7 --ignore 'Status do convite' list.csv
  # of a shop's list only the tickets, and whoever came in is checked in
  doorward import --data data --kind ticket --event 7 --from pretix-positions --only-type 'Adulto,Criança' --checkins orders.csv
  # one sheet of several, the day before the month, times of another zone
  doorward import --data data --kind ticket --event 7 --sheet 'Lote 1' --dates dmy --zone America/Manaus list.xlsx
  # people, without being asked
  doorward import --data data --kind person --yes people.csv
  # what export wrote
  doorward import --data data all.ndjson`

func (m *Main) importCommand(set *settings) *cobra.Command {
	im := &importing{}
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Read records from a CSV, NDJSON or XLSX file; - is standard input", Args: words(1),
		Long: importLong, Example: importExamples,
	}
	asJSON := jsonFlag(cmd)
	im.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		im.asJSON = *asJSON
		file, err := m.source(args[0])
		if err != nil {
			return usageError{err}
		}
		defer file.close()
		answer, err := m.runImport(cmd.Context(), opening{settings: set, makes: true}, im, file)
		if err != nil || answer == nil {
			return err
		}
		return m.reportImport(answer, im)
	}
	return cmd
}

func (im *importing) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&im.kind, "kind", "", "what the rows are: ticket, person …; an export says it itself")
	f.Int64Var(&im.event, "event", 0, "the event of the tickets; it beats any column")
	f.StringVar(&im.from, "from", "", "the system that wrote the file: "+strings.Join(load.Origins(), ", "))
	f.StringVar(&im.sheet, "sheet", "", "the sheet of a workbook, where several hold a list")
	f.StringArrayVar(&im.maps, "map", nil, "field=column,…: which column holds a field, by its title, Title#2 or #3; A+B joins two")
	f.StringArrayVar(&im.ignore, "ignore", nil, "a column that is not read")
	f.StringArrayVar(&im.states, "states", nil, "word=state,…: what a word says of a ticket: valid, unpaid, blocked, refunded or cancelled")
	f.StringVar(&im.dates, "dates", "", "dmy, mdy or ymd: the order of day, month and year, where the dates do not show it")
	f.StringVar(&im.zone, "zone", "", "the time zone of times that name none; the server's, if not given")
	f.StringArrayVar(&im.types, "only-type", nil, "a type of tickets that is taken; the others are left out")
	f.BoolVar(&im.entered, "checkins", false, "check in the tickets that the file says were used")
	f.BoolVar(&im.yes, "yes", false, "do not ask")
	f.BoolVar(&im.dryRun, "dry-run", false, "decide everything and write nothing")
}

// runImport shows how the file is read, asks, and writes. Without an answer it was told not to.
func (m *Main) runImport(ctx context.Context, o opening, im *importing, f *source) (json.RawMessage, error) {
	if im.dryRun || !f.lines {
		answer, err := m.planImport(ctx, o, im, f)
		if err != nil || im.dryRun {
			return answer, err
		}
		if agreed, err := m.agreed(ctx, im, f); err != nil || !agreed {
			return nil, err
		}
	} else if !hasStore(o.data) {
		if err := m.rehearse(ctx, o, func(c *control) error { return c.tryImport(ctx, im, f) }); err != nil {
			return nil, err
		}
	}
	return m.sendImport(ctx, o, im, f)
}

// planImport decides everything and writes nothing, and shows it.
func (m *Main) planImport(ctx context.Context, o opening, im *importing, f *source) (json.RawMessage, error) {
	dry := *im
	dry.dryRun = true
	if !hasStore(o.data) {
		if err := m.checkStore(o.settings); err != nil {
			return nil, err
		}
		trialled, tidy, err := trial(o)
		if err != nil {
			return nil, err
		}
		defer tidy()
		o = trialled
	}
	answer, err := m.sendImport(ctx, o, &dry, f)
	if err != nil || im.asJSON {
		return answer, err
	}
	rep, err := readImportAnswer(answer)
	if err == nil && len(rep.Columns) > 0 {
		rep.plan(m.Stderr, f.name)
	}
	return answer, err
}

// agreed asks on a terminal whether what was shown shall be written. Elsewhere nobody is there to be asked: the server refuses what
// somebody should look at first.
func (m *Main) agreed(ctx context.Context, im *importing, f *source) (bool, error) {
	if im.yes || f.stdin || !isTerminal(m.Stdin) {
		return true, nil
	}
	fmt.Fprint(m.Stderr, "Write this? Type yes: ")
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(m.Stdin).ReadString('\n') // what cannot be read is no yes
		answered <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return false, errStopped
	case line := <-answered:
		im.yes = slices.Contains([]string{"yes", "y", "sim", "s", "sí", "si"}, line)
	}
	if !im.yes {
		fmt.Fprintln(m.Stderr, "nothing was written")
	}
	return im.yes, nil
}

func (m *Main) sendImport(ctx context.Context, o opening, im *importing, f *source) (answer json.RawMessage, err error) {
	body, err := f.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // it was only read
	err = m.on(ctx, o, func(c *control) error {
		answer, err = c.follow(ctx, im.request(body, f.size))
		return err
	})
	if errors.Is(err, errStopped) {
		err = errors.New("stopped; what was sent so far is kept or still being written, and the same command goes on from there")
	}
	return answer, err
}

// tryImport finds what is wrong with an import as a whole. Of a file that is not small it looks at the flags alone.
func (c *control) tryImport(ctx context.Context, im *importing, f *source) error {
	dry := *im
	dry.dryRun = true
	if f.start == nil {
		_, err := c.follow(ctx, dry.request(strings.NewReader(""), 0))
		if usage := new(usageError); errors.As(err, usage) {
			return err
		}
		return nil // that nothing is no file of records, we know
	}
	_, err := c.follow(ctx, dry.request(bytes.NewReader(f.start), f.size))
	return err
}

func (im *importing) request(body io.Reader, size int64) request {
	return request{method: http.MethodPost, path: "/control/import", query: im.query(), body: body, size: size}
}

func (im *importing) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"kind": im.kind, "from": im.from, "sheet": im.sheet, "dates": im.dates, "zone": im.zone} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if im.event != 0 {
		q.Set("event", strconv.FormatInt(im.event, 10))
	}
	for name, set := range map[string]bool{"dry_run": im.dryRun, "checkins": im.entered, "yes": im.yes} {
		if set {
			q.Set(name, "true")
		}
	}
	for name, values := range map[string][]string{"map": im.maps, "ignore": im.ignore, "states": im.states, "only_type": im.types} {
		if len(values) > 0 {
			q[name] = values
		}
	}
	return q
}

// reportImport prints what became of a file's rows; rows refused make the command fail.
func (m *Main) reportImport(answer json.RawMessage, im *importing) error {
	rep, err := readImportAnswer(answer)
	if err != nil {
		return err
	}
	if im.asJSON {
		if err := m.printJSON(answer); err != nil {
			return err
		}
	} else {
		if im.dryRun {
			fmt.Fprint(m.Stdout, "a dry run, nothing is written: ")
		}
		m.printImport(&rep)
	}
	if len(rep.Rejected) > 0 {
		return errSaid
	}
	return nil
}

func (m *Main) printImport(rep *importAnswer) {
	fmt.Fprintf(m.Stdout, "created %s, updated %s, unchanged %s, rejected %s\n",
		number(rep.Created), number(rep.Updated), number(rep.Unchanged), number(rep.refused()))
	if rep.LeftOut > 0 {
		fmt.Fprintf(m.Stdout, "left out %s of other types\n", number(rep.LeftOut))
	}
	if rep.Admitted > 0 {
		fmt.Fprintf(m.Stdout, "checked in %s\n", number(rep.Admitted))
	}
	for _, r := range rep.Rejected {
		column := ""
		if r.Column != "" {
			column = ", column " + r.Column
		}
		fmt.Fprintf(m.Stdout, "line %d%s: %s\n", r.Line, column, r.Reason)
	}
	if rep.More > 0 {
		fmt.Fprintf(m.Stdout, "and %s further rows\n", number(rep.More))
	}
	if len(rep.Ignored) > 0 {
		fmt.Fprintf(m.Stdout, "columns that were not read: %s\n", fault.Listed(rep.Ignored))
	}
	for _, w := range rep.Warnings {
		fmt.Fprintf(m.Stdout, "note: %s\n", w)
	}
}
