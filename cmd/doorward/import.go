package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"doorward/api/load/columns"
	"doorward/api/load/demo"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/importer"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const importLong = `Read records from a CSV, NDJSON or XLSX file; - is standard input.

The columns are chosen by their titles and by what stands in them. Before anything is written, a table on standard error shows
which column gives which field, how many tickets there are of each state, and which rows would be refused. On a terminal the
command then asks. A column that may decide who gets in and that is not understood stops the import; the message says which
flag decides. A row that would let in a ticket that is blocked, refunded or cancelled here is refused.`

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
  # staff have blocked tickets here, and the list decides all the same
  doorward import --data data --kind ticket --event 7 --reinstate tickets.csv
  # one sheet of several, the day before the month, times of another zone
  doorward import --data data --kind ticket --event 7 --sheet 'Lote 1' --dates dmy --zone America/Manaus list.xlsx
  # people, without being asked
  doorward import --data data --kind person --yes people.csv
  # what export wrote
  doorward import --data data all.ndjson`

func importCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Read records from a CSV, NDJSON or XLSX file; - is standard input", Args: words(1),
		Long: importLong, Example: importExamples,
	}
	t.jsonFlag(cmd)
	asked := importFlags()
	cmd.Flags().AddFlagSet(asked)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := importer.Open(args[0], t.In)
		if err != nil {
			return console.Usage(err)
		}
		defer file.Close()
		q := queryOf(asked)
		answer, notes, err := runImport(cmd.Context(), t, q, file)
		if err != nil || answer == nil {
			return err
		}
		return reportImport(t, answer, q, notes)
	}
	return cmd
}

// importFlags are the flags of import that the handler is asked with.
func importFlags() *pflag.FlagSet {
	f := pflag.NewFlagSet("import", pflag.ContinueOnError)
	f.String("kind", "", "what the rows are: ticket, person …; an export says it itself")
	f.Int64("event", 0, "the event of the tickets; it beats any column")
	f.String("from", "", "the system that wrote the file: "+strings.Join(columns.Origins(), ", "))
	f.String("sheet", "", "the sheet of a workbook, where several hold a list")
	f.StringArray("map", nil, "field=column,…: which column holds a field, by its title, Title#2 or #3; A+B joins two")
	f.StringArray("ignore", nil, "a column that is not read")
	f.StringArray("states", nil, "word=state,…: what a word says of a ticket: valid, unpaid, blocked, refunded or cancelled")
	f.String("dates", "", "dmy, mdy or ymd: the order of day, month and year, where the dates do not show it")
	f.String("zone", "", "the time zone of times that name none; the server's, if not given")
	f.StringArray("only-type", nil, "a type of tickets that is taken; the others are left out")
	f.Bool("checkins", false, "check in the tickets that the file says were used")
	f.Bool("reinstate", false, "let in again tickets that are blocked, refunded or cancelled here, where the file says so")
	f.Bool("yes", false, "do not ask")
	f.Bool("dry-run", false, "decide everything and write nothing")
	return f
}

// queryOf has the flags that were given, as the handler names them.
func queryOf(flags *pflag.FlagSet) url.Values {
	q := url.Values{}
	flags.VisitAll(func(f *pflag.Flag) {
		name := strings.ReplaceAll(f.Name, "-", "_")
		if list, is := f.Value.(pflag.SliceValue); is && len(list.GetSlice()) > 0 {
			q[name] = list.GetSlice()
		} else if !is && f.Value.String() != f.DefValue {
			q.Set(name, f.Value.String())
		}
	})
	return q
}

// dry is the query of an import that writes nothing.
func dry(q url.Values) url.Values {
	q = maps.Clone(q)
	q.Set("dry_run", "true")
	return q
}

// runImport shows how the file is read, asks, and writes. The answer is nil if the operator does not say yes. The notes are those of planImport.
func runImport(ctx context.Context, t *tool, q url.Values, f *importer.Source) (answer json.RawMessage, notes []string, err error) {
	if q.Has("dry_run") || !f.Lines {
		answer, notes, err = planImport(ctx, t, q, f)
		if err != nil || q.Has("dry_run") {
			return answer, notes, err
		}
		if agreed, err := agreed(ctx, t, q, f); err != nil || !agreed {
			return nil, nil, err
		}
	}
	answer, err = sendImport(ctx, t.open(control.Need{Creates: true}), q, f)
	return answer, notes, err
}

// planImport decides everything and writes nothing, and shows it. It returns the notes that it has shown in the place of the result, which need
// not repeat them.
func planImport(ctx context.Context, t *tool, q url.Values, f *importer.Source) (answer json.RawMessage, notes []string, err error) {
	o := t.open(control.Need{Creates: true})
	tidy, err := o.Spare()
	if err != nil {
		return nil, nil, err
	}
	defer tidy()
	answer, err = sendImport(ctx, o, dry(q), f)
	if err != nil || t.asJSON {
		return answer, nil, err
	}
	var rep importer.Report
	err = control.Read(answer, &rep)
	if err == nil && len(rep.Columns) > 0 {
		rep.PrintPlan(t.Err, f.Name)
		if console.AreOne(t.Out, t.Err) {
			notes = rep.Warnings
		}
	}
	return answer, notes, err
}

// agreed asks on a terminal whether to write the import. Elsewhere it does not ask, and the server refuses an import that a person must look at
// first.
func agreed(ctx context.Context, t *tool, q url.Values, f *importer.Source) (bool, error) {
	if q.Has("yes") || f.Stdin || !console.IsTerminal(t.In) {
		return true, nil
	}
	line, err := t.Ask(ctx, "Write this? Type yes: ")
	if err != nil {
		return false, err
	}
	if !slices.Contains([]string{"yes", "y", "sim", "s", "sí", "si"}, strings.ToLower(line)) {
		fmt.Fprintln(t.Err, "nothing was written")
		return false, nil
	}
	q.Set("yes", "true")
	return true, nil
}

func sendImport(ctx context.Context, o control.Opening, q url.Values, f *importer.Source) (answer json.RawMessage, err error) {
	body := f.Reader()
	defer func() { _ = body.Close() }() // it was only read
	err = control.With(ctx, o, func(l *control.Line) error {
		answer, err = l.Follow(ctx, control.Request{Method: http.MethodPost, Path: "/control/import", Query: q, Body: body, Size: f.Size})
		return err
	})
	if errors.Is(err, console.ErrStopped) {
		err = errors.New("stopped; what was sent so far is kept or still being written, and the same command goes on from there")
	}
	return answer, err
}

// reportImport prints the result of a file's rows, without notes that stand above it. Refused rows make the command fail.
func reportImport(t *tool, answer json.RawMessage, q url.Values, notes []string) error {
	var rep importer.Report
	if err := control.Read(answer, &rep); err != nil {
		return err
	}
	return t.report(answer, func() {
		if q.Has("dry_run") {
			fmt.Fprint(t.Out, "a dry run, nothing is written: ")
		}
		rep.Print(t.Out, notes)
	}, len(rep.Rejected) == 0)
}

func demoCommand(t *tool) *cobra.Command {
	var size string
	var seed int64
	cmd := &cobra.Command{
		Use: "demo", Short: "Fill an empty store with a fictional congregation", Args: words(0), Example: "  doorward demo --data data",
		Long: "Fill an empty store with a fictional congregation, to try things out. It prints codes of tickets that can be scanned.",
	}
	t.jsonFlag(cmd)
	cmd.Flags().StringVar(&size, "size", "s", "s, m, l or xl: 300, 5,000, 50,000 or 1,000,000 people")
	cmd.Flags().Int64Var(&seed, "seed", 1, "another number makes another congregation")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !slices.Contains([]string{"s", "m", "l", "xl"}, size) {
			return console.Usage(errors.New("--size: one of s, m, l and xl is wanted"))
		}
		return t.with(cmd.Context(), control.Need{Creates: true}, func(l *control.Line) error {
			q := url.Values{"size": {size}, "seed": {strconv.FormatInt(seed, 10)}}
			answer, err := l.Follow(cmd.Context(), control.Post("/control/demo", q))
			if err != nil {
				return err
			}
			var rep demo.Report
			return t.show(answer, &rep, func() error {
				return t.Printf("made %s records: %s people, %s tickets\nevent %d is open; codes to try: %s\n", console.Number(rep.Records),
					console.Number(rep.People), console.Number(rep.Tickets), rep.Event, strings.Join(rep.Codes, " "))
			})
		})
	}
	return cmd
}
