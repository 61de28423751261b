package api_test

import (
	"strings"
	"testing"

	"doorward/api"
	"doorward/api/web"
)

// TestTheGuideIsServedInItsReadersLanguage: the language that the address asks for, else the browser's, below the mount, with the policy of all pages.
func TestTheGuideIsServedInItsReadersLanguage(t *testing.T) {
	titles := map[string]string{"en": "At the door", "pt-BR": "Na porta"}
	for prefix, url := range map[string]string{"": "", "/doorward": "http://127.0.0.1/doorward"} {
		w := newWorld(t, func(c *api.Config) { c.PublicURL = url })
		for _, try := range []struct{ query, accept, language string }{
			{"", "", "en"}, {"?language=pt-BR", "en", "pt-BR"}, {"?language=en", "pt-BR", "en"}, {"?language=%3Cscript%3E", "de", "en"}, {"?language=fr", "pt", "pt-BR"},
			{"", "pt-PT,en", "pt-BR"}, {"", "fr, pt;q=0.8, en;q=0.5", "pt-BR"}, {"", "%%", "en"},
		} {
			page := w.status(w.do("GET", prefix+"/door/help"+try.query, "", anybody, header("Accept-Language", try.accept)), 200)
			for _, want := range []string{`<html lang="` + try.language + `">`, titles[try.language], `src="` + prefix + `/door/assets/look.js"`, `href="` + prefix + `/door/assets/guide.css"`} {
				if !strings.Contains(page.body, want) {
					t.Errorf("%+v: %s/door/help does not have %q", try, prefix, want)
				}
			}
			if got := page.header.Get("Content-Language"); got != try.language {
				t.Errorf("%+v: the guide says that it is in %q", try, got)
			}
			if page.header.Get("Content-Security-Policy") != web.Policy || strings.Contains(page.body, "<script>") || strings.Contains(page.body, " style=") || strings.ContainsAny(page.body, "{}") {
				t.Errorf("%+v: the guide has something inline, or no policy: %v", try, page.header)
			}
		}
		if head := w.status(w.do("HEAD", prefix+"/door/help", "", anybody), 200); head.body != "" || head.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("the head of the guide: %q %v", head.body, head.header)
		}
		w.status(w.do("GET", prefix+"/door/help/more", ""), 404)
		w.status(w.do("POST", prefix+"/door/help", "{}", invalid), 405)
	}
}
