package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/kv/auth"
	"doorward/kv/value"
)

const keysPath = "/admin/v1/keys/"

// newKey is the request for a key.
type newKey struct {
	Name        string   `json:"name"`
	Level       string   `json:"level"`
	Permissions []string `json:"permissions"`
	ExpiresAt   *string  `json:"expires_at"`
	Rate        int      `json:"rate_limit,omitempty"`
}

// key is a key as the handler answers it.
type key struct {
	ID     int64  `json:"id"`
	Key    string `json:"key"`
	Secret string `json:"secret,omitempty"`
	newKey
	RevokedAt *string `json:"revoked_at,omitempty"`
}

func keysAddCommand(t *tool) *cobra.Command {
	var k newKey
	var expires string
	cmd := &cobra.Command{
		Use: "add", Short: "Make a key and print its secret, once", Args: words(0),
		Long: keysAddLong(), Example: keysAddExamples,
		Annotations: map[string]string{"level": "--level takes " + levelWords + ".", "permissions": "--allow takes RESOURCE:METHOD.\n" + permissionWords()},
	}
	t.jsonFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&k.Name, "name", "", "what the key is for")
	f.StringVar(&k.Level, "level", "", "how much it sees: "+levelWords)
	f.StringSliceVar(&k.Permissions, "allow", []string{}, "what it may do, as people:GET,checkin:*; nothing = everything but admin and sync")
	f.StringVar(&expires, "expires", "", "how long it is good, as 48h or 30d, or its last day, as 2030-01-31; none = until it is revoked")
	f.IntVar(&k.Rate, "rate-limit", 0, "requests a minute; 0 = no limit")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !f.Changed("name") {
			return console.Usage(errors.New("--name is missing: what the key is for"))
		}
		if f.Changed("allow") && len(k.Permissions) == 0 {
			return console.Usage(fmt.Errorf("--allow: what the key may do is wanted; leave it out for everything but admin and sync"))
		}
		end, err := expiry(expires, time.Now(), t.folder.Zone)
		if err != nil {
			return console.Usage(err)
		}
		if !end.IsZero() {
			at := end.UTC().Format(time.RFC3339)
			k.ExpiresAt = &at
		}
		ctx, o := cmd.Context(), t.open(control.Need{Creates: true})
		return control.With(ctx, o, func(l *control.Line) error { return addKey(ctx, t, l, k) })
	}
	return cmd
}

const levelWords = "denomination, regional:1, church:3,4 or event:7"

// permissionWords lists what permissions are made of.
func permissionWords() string {
	resources, methods := auth.PermissionWords()
	return "Resources: " + strings.Join(resources, ", ") + "\n(checkin is the door; admin is everything below /admin/v1 that the others do not name; sync is replication.)\nMethods:   " + strings.Join(methods, ", ")
}

// keysAddLong says what --level and --allow take.
func keysAddLong() string {
	return "Make a key and print its secret, which is shown this once.\n\n" +
		"--level says how much the key sees: denomination is everything; regional:1, church:3,4 and event:7 are what belongs to these.\n" +
		"--allow says what it may do there, as RESOURCE:METHOD. * is every resource, or every method. Without --allow the key may do\n" +
		"everything but admin and sync.\n\n" +
		permissionWords()
}

const keysAddExamples = `  # the first key, which may do everything
  doorward keys add --data data --name admin --level denomination --allow '*:*'
  # a door of one event, for two days
  doorward keys add --data data --name porta --level event:7 --allow 'checkin:*' --expires 48h
  # a website that reads the people of two churches, until the end of January
  doorward keys add --data data --name site --level church:3,4 --allow people:GET --expires 2030-01-31`

// expiry reads when a key ends: after a time, or at the end of a day; zero = never.
func expiry(text string, now time.Time, zone *time.Location) (time.Time, error) {
	wrong := fmt.Errorf("--expires %s: how long is wanted, as 48h or 30d, or a day to come, as %s", text, now.AddDate(0, 0, 30).Format(time.DateOnly))
	if text == "" || text == "0" {
		return time.Time{}, nil
	}
	var end time.Time
	if day, ok := value.ParseDate(text); ok {
		end = value.DayStart(day.AddDate(0, 0, 1), zone).In(zone)
	} else if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return time.Time{}, wrong
		}
		end = now.AddDate(0, 0, int(n))
	} else if long, err := time.ParseDuration(text); err == nil {
		end = now.Add(long)
	}
	if !end.After(now) {
		return time.Time{}, wrong
	}
	return end, nil
}

// addKey makes a key and prints its secret. A key with an unprinted secret is revoked.
func addKey(ctx context.Context, t *tool, l *control.Line, k newKey) error {
	signal.Ignore(syscall.SIGPIPE) // the write fails instead
	made, err := control.Ask[key](ctx, l, control.PostJSON(keysPath, k))
	if errors.Is(err, console.ErrStopped) {
		return fmt.Errorf("%w; the key may have been made, and nobody has seen its secret: keys list shows it, keys revoke ends it", err)
	}
	if err != nil {
		return err
	}
	if err := printKey(t, made); err != nil {
		return revokeUnseen(context.WithoutCancel(ctx), l, made.ID, err)
	}
	return nil
}

func printKey(t *tool, k key) error {
	if t.asJSON {
		return t.JSON(k)
	}
	_, err := fmt.Fprintf(t.Out, "id      %d\nkey     %s\nsecret  %s\n\nThe secret is shown this once. A request carries both: curl -u KEY:SECRET …\n",
		k.ID, k.Key, k.Secret)
	return err
}

// revokeUnseen revokes a key with an unprinted secret. cause is why it was not printed.
func revokeUnseen(ctx context.Context, l *control.Line, id int64, cause error) error {
	if err := revoke(ctx, l, id); err != nil {
		return fmt.Errorf("%w; the secret of key %d is lost, and the key could not be revoked: %w", cause, id, err)
	}
	return fmt.Errorf("%w; key %d, whose secret is lost, is revoked again", cause, id)
}

func revoke(ctx context.Context, l *control.Line, id int64) error {
	_, err := l.Call(ctx, control.Request{Method: http.MethodDelete, Path: keysPath + strconv.FormatInt(id, 10) + "/"})
	return err
}

// isRevoked reports whether a key was revoked before.
func isRevoked(ctx context.Context, l *control.Line, id int64) bool {
	keys, err := control.List[key](ctx, l, keysPath, nil)
	return err == nil && slices.ContainsFunc(keys, func(k key) bool { return k.ID == id && k.RevokedAt != nil })
}

func keysListCommand(t *tool) *cobra.Command {
	shape := func(keys []key) any { return map[string]any{"count": len(keys), "results": keys} }
	cmd := listCommand(t, "List the keys", keysPath, shape, printKeys)
	cmd.Long = "List the keys: what each may do, and when it ends. No list shows a secret."
	cmd.Example = "  doorward keys list --data data"
	return cmd
}

// listCommand lists what the handler has under a path. shape is what --json prints.
func listCommand[T any](t *tool, short, path string, shape func([]T) any, print func(*tool, []T)) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: short, Args: words(0)}
	t.jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), control.Need{}, func(l *control.Line) error {
			all, err := control.List[T](cmd.Context(), l, path, nil)
			if err != nil {
				return err
			}
			return t.tell(shape(all), func() { print(t, all) })
		})
	}
	return cmd
}

// moment is a time of an answer as a table shows it: in the congregation's time zone; - where there is none.
func (t *tool) moment(text *string) string {
	if text == nil {
		return "-"
	}
	at, err := time.Parse(time.RFC3339, *text)
	if err != nil {
		return *text
	}
	return at.In(t.folder.Zone).Format(time.DateTime)
}

func printKeys(t *tool, keys []key) {
	w := tabwriter.NewWriter(t.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tKEY\tNAME\tLEVEL\tMAY\tEXPIRES\tREVOKED")
	for _, k := range keys {
		may := strings.Join(k.Permissions, ",")
		if may == "" {
			may = "all but admin and sync"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Key, console.Printable(k.Name), k.Level, may, t.moment(k.ExpiresAt), t.moment(k.RevokedAt))
	}
	_ = w.Flush() // standard output keeps the error
}

func keysRevokeCommand(t *tool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "End a key from its next request on", Args: words(1), Example: "  doorward keys revoke 2 --data data",
		Long: "End a key from its next request on. keys list shows the ID. The key of a helper's phone is one of them.",
	}
	t.jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil {
			return console.Usage(fmt.Errorf("%s is no key's ID; keys list shows them", args[0]))
		}
		return t.with(cmd.Context(), control.Need{}, func(l *control.Line) error {
			said := "key %d is revoked\n"
			if err := revoke(cmd.Context(), l, id); err != nil {
				if !isRevoked(cmd.Context(), l, id) {
					return fmt.Errorf("key %d: %w", id, err)
				}
				said = "key %d is revoked already\n"
			}
			return t.tell(map[string]any{"id": id, "revoked": true}, func() { fmt.Fprintf(t.Out, said, id) })
		})
	}
	return cmd
}
