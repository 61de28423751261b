package help

import (
	"embed"
	"regexp"
	"strings"
)

//go:embed *.md
var pages embed.FS

// order lists the topics as a reader meets them.
var order = []string{"operate", "door", "import", "integrate", "replicate", "erase", "recover", "performance", "proofs", "decisions"}

// Topic is a page of the manual.
type Topic struct {
	Name  string
	About string // one line
	Text  string // Markdown
}

// Topics returns all pages, in the order of the manual.
func Topics() []Topic {
	var all []Topic
	for _, name := range order {
		text, err := pages.ReadFile(name + ".md")
		if err != nil {
			panic(err) // an embedded file is missing
		}
		title, _, _ := strings.Cut(string(text), "\n")
		_, about, _ := strings.Cut(title, ": ")
		all = append(all, Topic{Name: name, About: about, Text: string(text)})
	}
	return all
}

// Find returns the page with this name. It returns false if there is none.
func Find(name string) (Topic, bool) {
	for _, t := range Topics() {
		if t.Name == name {
			return t, true
		}
	}
	return Topic{}, false
}

// call is where a line of commands calls the program.
var call = regexp.MustCompile(`(^|[$<]\(|[|;&{] *|\b(?:until|while) |^[A-Z_]+=\S+ )doorward `)

// Printed is the page as a terminal shows it. Blocks are indented instead of fenced; those of Python are not, so that they can be pasted.
// Commands call the program by the name that the reader has called it by.
func (t Topic) Printed(program string) string {
	var b strings.Builder
	block := "" // the mark of the block that the line is in; "" = none
	for line := range strings.Lines(t.Text) {
		if mark, fence := strings.CutPrefix(line, "```"); fence {
			if block != "" {
				mark = ""
			}
			block = mark
			continue
		}
		if strings.HasPrefix(block, "sh") {
			line = call.ReplaceAllStringFunc(line, func(s string) string { return strings.TrimSuffix(s, "doorward ") + program + " " })
		}
		if block != "" && line != "\n" && !strings.HasPrefix(block, "python") {
			line = "    " + line
		}
		b.WriteString(line)
	}
	return b.String()
}
