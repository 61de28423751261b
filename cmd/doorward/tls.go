package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"doorward/cmd/doorward/authority"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/folder"
	"doorward/cmd/doorward/invite"
	"doorward/kv/disk"
)

// trusted is a local authority as --json prints it.
type trusted struct {
	Name        string    `json:"name"`
	Fingerprint string    `json:"fingerprint"`
	Expires     time.Time `json:"expires_at"`
	URLs        []string  `json:"urls"` // of the page that installs it on phones; empty = no server runs
}

func tlsInitCommand(t *tool) *cobra.Command {
	var name string
	var replace bool
	cmd := &cobra.Command{
		Use: "init", Short: "Make the authority of this folder, which church-owned phones then trust", Args: words(0),
		Long: "Make the authority of this folder. It signs for one name and for private addresses alone. serve then answers http and https at its one\n" +
			"address, and renews its certificate by itself. Phones that have installed the authority get the camera on the door's page.",
		Example: "  doorward tls init --data data --name porta",
	}
	t.jsonFlag(cmd)
	cmd.Flags().StringVar(&name, "name", "", "the name by which phones find this machine, as porta for porta.local; left out: the machine's own")
	cmd.Flags().BoolVar(&replace, "replace", false, "make another authority in the place of the one that is there: each phone installs it again")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		a, err := t.makeAuthority(name, replace)
		if err != nil {
			return err
		}
		return t.tell(trustedOf(a, nil), func() {
			fmt.Fprintf(t.Out, "%s is made, until %s. Its SHA-256 fingerprint:\n  %s\nStart serve again, so that it answers https too. Then this shows how phones trust it:\n  doorward tls show --data %s\n",
				a.Host(), a.Ends().In(t.folder.Zone).Format(time.DateOnly), a.Fingerprint(), t.folder.Dir)
		})
	}
	return cmd
}

// makeAuthority makes the folder's authority. One that is there is replaced only on demand.
func (t *tool) makeAuthority(name string, replace bool) (*authority.Authority, error) {
	if name == "" {
		name, _ = os.Hostname() // a machine without a name is asked for one
		name, _, _ = strings.Cut(name, ".")
	}
	host, err := authority.Name(name)
	if err != nil {
		return nil, fmt.Errorf("--name: %w", err)
	}
	if err := t.folder.CheckStore(); err != nil {
		return nil, err
	}
	if authority.Exists(t.folder.Dir) && !replace {
		return nil, fmt.Errorf("the folder %s has an authority, which phones may trust; with --replace another one takes its place, and each phone installs that", t.folder.Dir)
	}
	if err := disk.MakeFolder(t.folder.Dir); err != nil {
		return nil, err
	}
	if err := folder.CheckWritable(t.folder.Dir); err != nil {
		return nil, err
	}
	return authority.Make(t.folder.Dir, host, time.Now())
}

func tlsShowCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show", Short: "Show the QR code of the page by which a phone learns to trust this laptop", Args: words(0),
		Long:    "Show the QR code of the page by which a phone learns to trust this laptop. serve must run, and must have begun after tls init.",
		Example: "  doorward tls show --data data",
	}
	t.jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := t.folder.CheckStore(); err != nil {
			return err
		}
		a, err := authority.Open(t.folder.Dir)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the folder %s has no authority; tls init makes one", t.folder.Dir)
		} else if err != nil {
			return err
		}
		var urls []string
		if control.Answers(cmd.Context(), t.folder.Dir) {
			site, err := control.Ask[invite.Site](cmd.Context(), control.ViaSocket(t.open(control.Need{})), control.Get("/control/site", nil))
			if err != nil {
				return err
			}
			if site.Authority {
				urls = site.URLs("/door/trust")
			}
		}
		return t.tell(trustedOf(a, urls), func() { t.printTrusted(a, urls) })
	}
	return cmd
}

func trustedOf(a *authority.Authority, urls []string) trusted {
	return trusted{a.Host(), a.Fingerprint(), a.Ends(), append([]string{}, urls...)}
}

// printTrusted shows an authority, and the page that installs it on phones.
func (t *tool) printTrusted(a *authority.Authority, urls []string) {
	fmt.Fprintf(t.Out, "%s, until %s. The phone shows the same SHA-256 fingerprint:\n  %s\n", a.Host(), a.Ends().In(t.folder.Zone).Format(time.DateOnly), a.Fingerprint())
	if len(urls) == 0 {
		fmt.Fprintln(t.Out, "No server uses it now: start serve (again). Then this command shows a QR code.")
		return
	}
	fmt.Fprintln(t.Out, "On a church-owned phone, once:")
	invite.Draw(t.Out, urls[0])
	for _, address := range urls {
		fmt.Fprintln(t.Out, address)
	}
}
