package main

import (
	"context"
	"errors"
	"fmt"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/transfer"
	"doorward/kv/fault"

	"github.com/spf13/cobra"
)

const replicateHelp = `Copy documents from SRC to DST, each a folder, an address, or a file that ends in .ndjson.zst.

What DST has already is not copied again, and a command that was cut off goes on where it was. A folder may be one that serve runs
on. SRC may also be a store's file that ends in .db, as one that restore has kept. An address ends with the name of a database, or with /sync and means all that the server shows. It may hold KEY:SECRET@;
--key and --secret-file keep them out of the command line. It is https://, or http:// on this machine.

Without --db these databases are copied: the one that an address or a file names; else "records" and all free databases that SRC
shows. Into a file goes one database, "records" unless --db says another. Free databases that DST lacks are made.

A laptop that has joined a centre takes of a file of its centre what it takes along from there, and the command names what it leaves
out. --for writes a file of nothing else.`

const replicateExamples = `  # all records and free databases, from folder to folder
  doorward replicate data copy
  # into a file on a stick, and out of it elsewhere
  doorward replicate data stick.ndjson.zst
  doorward replicate stick.ndjson.zst other
  # for a laptop that no line reaches, what it takes along and no more; then at the laptop
  doorward replicate data stick.ndjson.zst --for "North door"
  doorward replicate stick.ndjson.zst laptop
  # a database of a server
  doorward replicate https://centre.example/sync/notes other --key dw_… --secret-file secret.txt`

func replicateCommand(t *tool) *cobra.Command {
	var c transfer.Config
	cmd := &cobra.Command{
		Use: "replicate SRC DST", Short: "Copy documents between folders, servers and files", Long: replicateHelp, Example: replicateExamples, Args: words(2),
		Annotations: map[string]string{noStore: "it names its own"},
	}
	t.jsonFlag(cmd)
	certain := certainFlag(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&c.Databases, "db", nil, "copy this database; may be given several times")
	f.BoolVar(&c.Live, "live", false, "go on with what comes later, until a signal ends it")
	f.BoolVar(&c.Plain, "plain", false, "speak with every server as with a strange one")
	f.StringVar(&c.For, "for", "", "write to a file what this laptop takes along; its ID or name, as venue list prints them")
	f.StringVar(&c.Since, "since", "", "begin after this sequence of SRC, where nothing says how far an earlier run came")
	f.StringVar(&c.Key, "key", "", "the key to log in with")
	f.StringVar(&c.SecretFile, "secret-file", "", "a file that holds the key's secret")
	f.BoolVar(&c.Insecure, "insecure", false, "allow http:// to other machines, where everybody on the way can read all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := findZone(t.folder); err != nil {
			return console.Usage(err)
		}
		c.Opening, c.Laptop = t.open(control.Need{Certain: *certain}), laptopID
		all, err := transfer.Run(cmd.Context(), c, args[0], args[1])
		if err != nil && !errors.Is(err, console.ErrSaid) {
			return console.Stopped(cmd.Context(), err)
		}
		return t.report(all, func() { printCopied(t, &all) }, err == nil)
	}
	return cmd
}

// laptopID finds the id of a laptop of a centre, by its id or its name.
func laptopID(ctx context.Context, centre *control.Line, named string) (int64, error) {
	v, err := findLaptop(ctx, centre, named)
	switch {
	case err != nil:
		return 0, err
	case v.Revoked:
		return 0, fmt.Errorf("laptop %d is revoked: it gets nothing more", v.ID)
	}
	return v.ID, nil
}

func printCopied(t *tool, all *transfer.Report) {
	for _, one := range all.Databases {
		fmt.Fprintf(t.Out, "%s: %d copied, %d refused\n", one.DB, one.Written, one.Refused)
		for _, d := range one.Denied {
			fmt.Fprintf(t.Err, "  refused %s %s: %s\n", d.ID, d.Rev, d.Reason)
		}
		if one.Error != "" {
			fmt.Fprintf(t.Err, "doorward: %s: %s\n", one.DB, one.Error)
		}
	}
	if len(all.LeftOut) > 0 {
		fmt.Fprintf(t.Out, "left out, because the laptop does not take them along: %s\n", fault.Listed(all.LeftOut))
	}
}
