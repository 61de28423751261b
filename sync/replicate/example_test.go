package replicate_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/sync/replicate"
)

// openNotes opens a store with a free database and some documents.
func openNotes(number ...merge.DocWrite) (notes *replicate.Local, done func()) {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	store, err := kv.Open(kv.Config{Dir: dir})
	if err == nil {
		err = store.Docs.CreateDatabase(auth.Operator(), "notes")
	}
	var db *docs.Database
	if err == nil {
		db, err = store.Docs.Database(auth.Operator(), "notes")
	}
	if err == nil {
		_, err = db.Write(number)
	}
	if err != nil {
		log.Fatal(err)
	}
	return replicate.NewLocal(store, db), func() {
		_ = store.Close()
		_ = os.RemoveAll(dir)
	}
}

// Two databases of one process are the simplest peers. A second run finds nothing to copy.
func ExampleRun() {
	source, done := openNotes(merge.DocWrite{ID: "song", Body: []byte(`{"title":"Aleluia"}`)})
	defer done()
	target, done := openNotes()
	defer done()
	for range 2 {
		out, err := replicate.Run(context.Background(), replicate.Job{Source: source, Target: target})
		fmt.Println("written:", out.History[0].Written, "nothing new:", out.NoChanges, err)
	}
	// Output:
	// written: 1 nothing new: false <nil>
	// written: 0 nothing new: true <nil>
}
