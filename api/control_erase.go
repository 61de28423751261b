package api

import (
	"net/http"
	"path/filepath"
	"time"

	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/table"
)

// erasedView counts what an erasure has removed, and names the older files that still hold it.
type erasedView struct {
	ID          int64    `json:"id"`
	Tickets     int      `json:"tickets"`
	Memberships int      `json:"memberships"`
	Conflicts   int      `json:"conflicts"`
	Refusals    int      `json:"refusals"`
	Answers     int      `json:"answers"`
	MoreFree    int      `json:"free_databases_more,omitzero"`
	Free        []string `json:"free_databases"` // the first 100; the program does not read their documents, so the operator must look for the person there
	olderFiles  `json:",inline"`
}

type olderFiles struct {
	Files []string `json:"older_files"`
}

// controlToErase names the person to erase, and the day of an earlier erasure.
func controlToErase(x *exchange, r *http.Request) error {
	id, err := parseID(record.Person, r.URL.Query().Get("id"))
	if err != nil {
		return err
	}
	who, err := x.store().Erasures.Preview(x.caller, id)
	if err != nil {
		return err
	}
	view := struct {
		ID       int64   `json:"id"`
		Name     string  `json:"full_name"`
		ErasedAt *string `json:"erased_at"`
	}{ID: id.Int(), Name: who.Name}
	if !who.ErasedAt.IsZero() {
		day := who.ErasedAt.In(x.store().Tables.Clock.Zone()).Format(time.DateOnly)
		view.ErasedAt = &day
	}
	return x.answer(http.StatusOK, view)
}

// controlErase erases a person for good.
func controlErase(x *exchange, r *http.Request) error {
	id, err := parseID(record.Person, r.URL.Query().Get("id"))
	if err != nil {
		return err
	}
	e, err := x.store().Erasures.Erase(x.caller, record.Person, id)
	if err != nil {
		return err
	}
	older, err := findOlderFiles(x)
	if err != nil {
		return err
	}
	free, err := freeDatabases(x)
	if err != nil {
		return err
	}
	free, more := fault.First(free)
	return x.answer(http.StatusOK, erasedView{id.Int(), e.Tickets, e.Memberships, e.Conflicts, e.Refusals, e.Answers, more, free, older})
}

// freeDatabases are the names of the databases that hold documents of other programs.
func freeDatabases(x *exchange) ([]string, error) {
	names := []string{}
	all, err := x.store().Docs.Databases(x.caller)
	for _, d := range all {
		if d.Free() {
			names = append(names, d.Name)
		}
	}
	return names, err
}

// findOlderFiles names the files that hold what the store held before now.
func findOlderFiles(x *exchange) (older olderFiles, err error) {
	found, err := x.store().Files.OlderFiles(x.caller, x.store().Tables.Clock.Now())
	return olderFiles{append([]string{}, found...)}, err
}

// controlOlderFiles names the files that hold what the store held before, and says how many erasures its own file holds still.
func controlOlderFiles(x *exchange, _ *http.Request) error {
	older, err := findOlderFiles(x)
	if err != nil {
		return err
	}
	due, _, err := x.store().Erasures.Uncompacted()
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, struct {
		olderFiles `json:",inline"`
		Due        int `json:"uncompacted"`
	}{older, due})
}

// controlNoteBackup remembers where a backup was written to.
func controlNoteBackup(x *exchange, r *http.Request) error {
	file := r.URL.Query().Get("file")
	if !filepath.IsAbs(file) {
		return table.ErrNotFound
	}
	if err := x.store().Files.NoteBackup(x.caller, file); err != nil {
		return err
	}
	return x.answer(http.StatusOK, struct{}{})
}
