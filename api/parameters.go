package api

import (
	"doorward/api/query"
	"doorward/kv/record"
)

// parameterDoc is what the document says of one parameter.
type parameterDoc struct {
	name     string
	schema   map[string]any
	text     string
	required bool
}

// windowParameters are the query string of every list.
var windowParameters = []parameterDoc{
	{name: "limit", schema: map[string]any{"type": "integer"}, text: "Results a page: 10 if not given, at most 100."},
	{name: "offset", schema: map[string]any{"type": "integer"}, text: "Results before the page."},
}

// parametersOf are the query string of a list with filters.
func parametersOf(filters []query.Filter) []parameterDoc {
	list := windowParameters[:len(windowParameters):len(windowParameters)]
	for _, f := range filters {
		schema, text := describeFilter(f)
		list = append(list, parameterDoc{name: f.Name, schema: schema, text: text})
	}
	return list
}

// parameters are the query string of a collection's list.
func (c *collection) parameters() []parameterDoc {
	list := parametersOf(c.filters)
	if c.kind == record.Person {
		list = append(list, c.searchParameters()...)
	}
	return list
}

// describeFilter is the schema of what a filter takes, and what it means.
func describeFilter(f query.Filter) (schema map[string]any, text string) {
	const several = "Any of these values. The parameter may be repeated."
	id := map[string]any{"type": "integer"}
	switch f.Sort {
	case query.ByID:
		return list(id), several
	case query.ByIDOrNull:
		none := map[string]any{"type": "string", "enum": []string{"null"}}
		return list(map[string]any{"anyOf": []any{id, none}}), several + " The word null finds the records that have none."
	case query.ByBool:
		return map[string]any{"type": "boolean"}, ""
	case query.ByText:
		return list(map[string]any{"type": "string"}), several
	case query.ByStart:
		return map[string]any{"type": "string"}, "From this date-time on. Of a date, the whole day counts."
	}
	return map[string]any{"type": "string"}, "Until this date-time. Of a date, the whole day counts."
}

// searchParameters are what the document says of searching a list of people.
func (c *collection) searchParameters() []parameterDoc {
	flag := map[string]any{"type": "boolean"}
	list := []parameterDoc{
		{name: "search", schema: map[string]any{"type": "string"},
			text: "Terms, all of which a name, e-mail, phone or membership number must match."},
		{name: "fuzzy", schema: flag,
			text: "Where the search finds nothing, forgive one edit in each term of at least four letters, in names. X-Search then says fuzzy."},
	}
	if c.surface == record.Admin {
		list = append(list, parameterDoc{name: "ranked", schema: flag,
			text: "Search as people type, the likeliest first: words of a name in any order, whole, begun, mistyped or of the same sound; " +
				"a phone or its end; a whole CPF; the beginning of an e-mail."})
	}
	return list
}
