package main

import (
	"time"

	"doorward/cmd/doorward/certificate"
	"doorward/cmd/doorward/serve"

	"github.com/spf13/cobra"
)

func serveCommand(t *tool, m *Main) *cobra.Command {
	c := serve.Config{Folder: t.folder, Console: t.Console, Version: versionText(), Certificate: &certificate.Files{}, Clock: m.Clock, Drain: m.Drain, Ready: m.Ready}
	cmd := &cobra.Command{
		Use: "serve", Short: "Answer requests until a signal ends it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve.Run(cmd.Context(), c) },
	}
	f := cmd.Flags()
	f.StringVar(&c.Listen, "listen", "127.0.0.1:8080", "the address to answer at")
	f.StringVar(&c.Metrics, "metrics-listen", "", "a second address, for /metrics alone")
	f.StringVar(&c.Certificate.Cert, "tls-cert", "", "a PEM file with the certificate, and those that it is signed by: the server is reached by https")
	f.StringVar(&c.Certificate.Key, "tls-key", "", "a PEM file with the certificate's key")
	f.StringSliceVar(&c.API.TrustedProxies, "trusted-proxy", nil, "the address or network of a proxy whose X-Forwarded-For, -Host and -Proto are believed")
	f.StringVar(&c.API.PublicURL, "public-url", "", "where clients reach the server, if not at the address they name")
	f.StringSliceVar(&c.API.AllowedHosts, "allowed-host", nil, "a further name that clients may use for the server")
	f.StringSliceVar(&c.API.CORSOrigins, "cors-origin", nil, "an origin whose pages may call the server")
	f.IntVar(&c.API.AuthFailures, "auth-failures", 20, "failed logins a minute and address before it has to wait; 0 = no limit")
	f.DurationVar(&c.Delay, "shutdown-delay", 0, "how long after a signal requests are answered still while /readyz fails, so that a proxy takes the server out of service")
	f.DurationVar(&c.DropAfter, "drop-after", 72*time.Hour, "how long after its end laptops drop an event of which the server has everything; 0 = never")
	return cmd
}
