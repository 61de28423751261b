package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptDawdle begins a request and sends nothing of its body. The server is at work on it once it asks for the body.
func scriptDawdle(ts *testscript.TestScript, _ bool, args []string) {
	u, err := url.Parse(args[1])
	ts.Check(err)
	conn, err := net.Dial("tcp", u.Host)
	ts.Check(err)
	ts.Defer(func() { _ = conn.Close() }) // the server has done so
	login := base64.StdEncoding.EncodeToString([]byte(ts.Getenv("KEY") + ":" + ts.Getenv("SECRET")))
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Basic %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n",
		args[0], u.Path, u.Host, login)
	ts.Check(err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	ts.Check(err)
	if !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		ts.Fatalf("the server answers %s", line)
	}
}
