package main

import (
	"bytes"
	"context"
	"encoding/json"
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

	"doorward/kv"

	"github.com/spf13/cobra"
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
	ID          int64    `json:"id"`
	Key         string   `json:"key"`
	Secret      string   `json:"secret,omitempty"`
	Name        string   `json:"name"`
	Level       string   `json:"level"`
	Permissions []string `json:"permissions"`
	ExpiresAt   *string  `json:"expires_at"`
	Rate        int      `json:"rate_limit,omitempty"`
	RevokedAt   *string  `json:"revoked_at,omitempty"`
}

func (m *Main) keysCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use: "keys", Short: "Make, list and revoke the keys of integrations and doors", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(m.keysAddCommand(set), m.keysListCommand(set), m.keysRevokeCommand(set))
	return cmd
}

func (m *Main) keysAddCommand(set *settings) *cobra.Command {
	var k newKey
	var expires string
	cmd := &cobra.Command{
		Use: "add", Short: "Make a key and print its secret, once", Args: cobra.NoArgs,
		Long: keysAddLong(), Example: keysAddExamples,
	}
	asJSON := jsonFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&k.Name, "name", "", "what the key is for")
	f.StringVar(&k.Level, "level", "", "how much it sees: denomination, regional:1, church:3,4 or event:7")
	f.StringSliceVar(&k.Permissions, "allow", []string{}, "what it may do, as people:GET,checkin:*; nothing = everything but admin and sync")
	f.StringVar(&expires, "expires", "", "how long it is good, as 48h or 30d, or its last day, as 2027-01-31; none = until it is revoked")
	f.IntVar(&k.Rate, "rate-limit", 0, "requests a minute; 0 = no limit")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.Changed("allow") && len(k.Permissions) == 0 {
			return usageError{fmt.Errorf("--allow: what the key may do is wanted; leave it out for everything but admin and sync")}
		}
		end, err := expiry(expires, time.Now(), set.zone)
		if err != nil {
			return usageError{err}
		}
		if !end.IsZero() {
			at := end.UTC().Format(time.RFC3339)
			k.ExpiresAt = &at
		}
		ctx, o := cmd.Context(), opening{settings: set, makes: true}
		if err := m.rehearse(ctx, o, func(c *control) error { _, err := c.makeKey(ctx, k); return err }); err != nil {
			return err
		}
		return m.on(ctx, o, func(c *control) error { return m.addKey(ctx, c, k, *asJSON) })
	}
	return cmd
}

// keysAddLong lists what a key can be allowed.
func keysAddLong() string {
	resources, methods := kv.PermissionWords()
	return "Make a key and print its secret, which is shown this once.\n\n" +
		"--level says how much the key sees: denomination is everything; regional:1, church:3,4 and event:7 are what belongs to these.\n" +
		"--allow says what it may do there, as RESOURCE:METHOD. * is every resource, or every method. Without --allow the key may do\n" +
		"everything but admin and sync.\n\n" +
		"Resources: " + strings.Join(resources, ", ") + "\n(checkin is the door; admin is everything below /admin/v1 that the others do not name; sync is replication.)\nMethods:   " + strings.Join(methods, ", ")
}

const keysAddExamples = `  # the first key, which may do everything
  doorward keys add --data data --name admin --level denomination --allow '*:*'
  # a door of one event, for two days
  doorward keys add --data data --name porta --level event:7 --allow 'checkin:*' --expires 48h
  # a website that reads the people of two churches, until the end of January
  doorward keys add --data data --name site --level church:3,4 --allow people:GET --expires 2027-01-31`

// expiry is when a key ends that is good for so long, or up to the end of a day; zero = never.
func expiry(text string, now time.Time, zone *time.Location) (time.Time, error) {
	wrong := fmt.Errorf("--expires %s: how long is wanted, as 48h or 30d, or a day to come, as %s", text, now.AddDate(0, 0, 30).Format(time.DateOnly))
	if text == "" || text == "0" {
		return time.Time{}, nil
	}
	var end time.Time
	if day, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		end = day.AddDate(0, 0, 1)
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

func (m *Main) addKey(ctx context.Context, c *control, k newKey, asJSON bool) error {
	signal.Ignore(syscall.SIGPIPE) // where nobody reads the secret the key is revoked
	made, err := c.makeKey(ctx, k)
	if errors.Is(err, errStopped) {
		return fmt.Errorf("%w; the key may have been made, and nobody has seen its secret: keys list shows it, keys revoke ends it", err)
	}
	if err != nil {
		return err
	}
	if err := m.printKey(made, asJSON); err != nil {
		return takeBack(context.WithoutCancel(ctx), c, made.ID, err)
	}
	return nil
}

func (c *control) makeKey(ctx context.Context, k newKey) (made key, err error) {
	body, err := json.Marshal(k)
	if err != nil {
		return key{}, err
	}
	answer, err := c.call(ctx, request{method: http.MethodPost, path: keysPath, body: bytes.NewReader(body), json: true})
	if err != nil {
		return key{}, err
	}
	if err := json.Unmarshal(answer, &made); err != nil {
		return key{}, fmt.Errorf("the server's answer: %w", err)
	}
	return made, nil
}

func (m *Main) printKey(k key, asJSON bool) error {
	if asJSON {
		return m.printJSON(k)
	}
	_, err := fmt.Fprintf(m.Stdout, "id      %d\nkey     %s\nsecret  %s\n\nThe secret is shown this once. A request carries both: curl -u KEY:SECRET …\n",
		k.ID, k.Key, k.Secret)
	return err
}

// takeBack revokes a key whose secret nobody has seen.
func takeBack(ctx context.Context, c *control, id int64, cause error) error {
	if err := c.revoke(ctx, id); err != nil {
		return fmt.Errorf("%w; the secret of key %d is lost, and the key could not be revoked: %w", cause, id, err)
	}
	return fmt.Errorf("%w; key %d, whose secret is lost, is revoked again", cause, id)
}

func (c *control) revoke(ctx context.Context, id int64) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: keysPath + strconv.FormatInt(id, 10) + "/"})
	return err
}

// isRevoked tells whether a key is one that was revoked before.
func (c *control) isRevoked(ctx context.Context, id int64) bool {
	keys, err := listAll[key](ctx, c, keysPath)
	return err == nil && slices.ContainsFunc(keys, func(k key) bool { return k.ID == id && k.RevokedAt != nil })
}

func (m *Main) keysListCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the keys", Args: cobra.NoArgs}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return m.on(cmd.Context(), opening{settings: set}, func(c *control) error {
			keys, err := listAll[key](cmd.Context(), c, keysPath)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return m.printJSON(map[string]any{"count": len(keys), "results": keys})
			}
			return m.printKeys(keys)
		})
	}
	return cmd
}

func (m *Main) printKeys(keys []key) error {
	w := tabwriter.NewWriter(m.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tKEY\tNAME\tLEVEL\tMAY\tEXPIRES\tREVOKED")
	for _, k := range keys {
		may := strings.Join(k.Permissions, ",")
		if may == "" {
			may = "all but admin and sync"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Key, k.Name, k.Level, may, orDash(k.ExpiresAt), orDash(k.RevokedAt))
	}
	return w.Flush()
}

func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func (m *Main) keysRevokeCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "revoke ID", Short: "End a key from its next request on", Args: words(1)}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil {
			return usageError{fmt.Errorf("%s is no key's ID; keys list shows them", args[0])}
		}
		return m.on(cmd.Context(), opening{settings: set}, func(c *control) error {
			said := "key %d is revoked\n"
			if err := c.revoke(cmd.Context(), id); err != nil {
				if !c.isRevoked(cmd.Context(), id) {
					return fmt.Errorf("key %d: %w", id, err)
				}
				said = "key %d is revoked already\n"
			}
			if *asJSON {
				return m.printJSON(map[string]any{"id": id, "revoked": true})
			}
			_, err := fmt.Fprintf(m.Stdout, said, id)
			return err
		})
	}
	return cmd
}
