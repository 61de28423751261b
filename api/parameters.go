package api

import "doorward/kv/record"

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
func parametersOf(filters []filter) []parameterDoc {
	list := windowParameters[:len(windowParameters):len(windowParameters)]
	for _, f := range filters {
		list = append(list, parameterDoc{name: f.name, schema: f.schema()})
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

// schema is what a filter takes.
func (f filter) schema() map[string]any {
	switch f.sort {
	case byID:
		return map[string]any{"type": "array", "items": map[string]any{"type": "integer"}}
	case byIDOrNull:
		return map[string]any{"type": "array", "items": map[string]any{"type": []string{"integer", "null"}}}
	case byBool:
		return map[string]any{"type": "boolean"}
	case byText:
		return map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
	}
	return map[string]any{"type": "string", "description": "A date-time, or a date: the whole day counts. Inclusive."}
}

// searchParameters are what the document says of searching a list of people.
func (c *collection) searchParameters() []parameterDoc {
	flag := map[string]any{"type": "boolean"}
	list := []parameterDoc{
		{name: "search", schema: map[string]any{"type": "string"},
			text: "Terms, all of which a name, e-mail, phone or membership number must match."},
		{name: "fuzzy", schema: flag,
			text: "Where the search finds nobody, forgive one edit in each term of at least four letters, in names. X-Search then says fuzzy."},
	}
	if c.surface == record.Admin {
		list = append(list, parameterDoc{name: "ranked", schema: flag,
			text: "Search as people type: words of a name in any order, whole, begun or mistyped, the likeliest first."})
	}
	return list
}
