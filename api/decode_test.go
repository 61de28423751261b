package api_test

import (
	"fmt"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/skip2/go-qrcode"
)

const decodePath = "/door/v1/decode/"

func TestDecodeReadsThePhotoOfATicket(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "K7QP2M9D4RSX1ABC", "")
	photo, err := qrcode.Encode("K7QP2M9D4RSX1ABC", qrcode.Medium, 240)
	if err != nil {
		t.Fatal(err)
	}
	door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	for _, media := range []string{"image/png", "image/jpeg", "IMAGE/PNG; q=1", "application/octet-stream"} { // the bytes say what it is
		a := door.status(door.do("POST", decodePath, string(photo), header("Content-Type", media), invalid), http.StatusOK)
		if got := a.text(t, "codes.0.text"); got != "K7QP2M9D4RSX1ABC" || a.text(t, "codes.0.format") != "qr" {
			t.Errorf("as %s: %s", media, a.body)
		}
	}
	if a := w.do("GET", doorPath(w.event, "status"), ""); a.text(t, "admitted") != "0" {
		t.Errorf("reading a photo let somebody in: %s", a.body)
	}
	reader := w.as(fmt.Sprintf("event:%d", w.event), "checkin:GET")
	reader.status(reader.do("POST", decodePath, string(photo), header("Content-Type", "application/octet-stream")), http.StatusForbidden)
}

func TestDecodeRefusesWhatIsNoPhoto(t *testing.T) {
	w := newWorld(t)
	blank, err := qrcode.Encode("A", qrcode.Low, 30)
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]struct {
		body, media string
		want        int
	}{
		"text":               {"K7QP2M9D4RSX1ABC", "image/png", 400},
		"nothing":            {"", "image/jpeg", 400},
		"half a picture":     {string(blank[:len(blank)/2]), "image/png", 400},
		"JSON":               {"{}", "application/json", 415},
		"a form":             {string(blank), "multipart/form-data; boundary=x", 415},
		"more than 8 MiB":    {strings.Repeat("\xff", 8<<20+1), "image/jpeg", 413},
		"no code on a photo": {emptyPhoto(t), "image/png", 200},
	} {
		a := w.do("POST", decodePath, try.body, header("Content-Type", try.media), invalid)
		if a.status != try.want {
			t.Errorf("%s: %d, want %d: %s", name, a.status, try.want, a.body)
		}
		if try.want == http.StatusOK && a.body != `{"codes":[]}` {
			t.Errorf("%s: %s", name, a.body)
		}
	}
}

// emptyPhoto shows nothing.
func emptyPhoto(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 320, 240))); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
