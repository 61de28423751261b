package record

// Form returns the kind of a request's body that is no record. It is for Parse and Schema; no store has it.
func Form(name string, fields ...Field) *Kind {
	return table(Kind{Name: name, Version: 1, Fields: fields})
}
