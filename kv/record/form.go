package record

// Form is the kind of a request's body that is no record: it has Parse and Schema, and is stored nowhere.
func Form(name string, fields ...Field) *Kind {
	return table(Kind{Name: name, Version: 1, Fields: fields})
}
