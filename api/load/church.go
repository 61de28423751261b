package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/load/columns"
	"doorward/api/load/kinds"
	"doorward/api/load/profile"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/value"
)

// The reasons for which a row's church is refused.
const (
	faultNoChurch    = "no church has this name"
	faultTwoChurches = "more than one church has this name"
	faultNoChurchID  = "no church has this id"
	faultForeignIDs  = "the numbers of this column are not all ids of churches here"
)

// churchPage is how many churches are read at once.
const churchPage = 100

// churches finds the church that a cell means, by its name or its id. Names are equal if they are so after names.Fold.
type churches struct {
	named map[string][]int64
	ids   map[int64]bool
	// foreign tells that some numbers of the column are the id of no church: the column may hold the ids of another system.
	foreign bool
	numbers bool // the column holds only numbers, which may be ids
}

// openChurches reads the churches for a column that names churches. It returns nil if the table has no column of that kind.
func openChurches(s *desk.Desk, p auth.Principal, t *tableFile) (*churches, error) {
	f := t.ly.Feed(kinds.Church)
	if f == nil || !t.ly.NamesChurches(f) {
		return nil, nil
	}
	c := &churches{named: map[string][]int64{}, ids: map[int64]bool{}}
	for offset := 0; ; offset += churchPage {
		page, err := s.List(p, desk.Query{Surface: record.Admin, Kind: record.Church, Offset: offset, Limit: churchPage})
		if err != nil {
			return nil, fmt.Errorf("read the churches: %w", err)
		}
		if err := c.add(page.Results); err != nil {
			return nil, err
		}
		if offset+churchPage >= page.Count {
			break
		}
	}
	c.study(t, f.Columns())
	return c, nil
}

func (c *churches) add(page []byte) error {
	var all []struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	}
	if err := json.Unmarshal(page, &all); err != nil {
		return fmt.Errorf("read the churches: %w", err)
	}
	for _, one := range all {
		name := foldName(one.Name)
		c.named[name], c.ids[one.ID] = append(c.named[name], one.ID), true
	}
	return nil
}

func foldName(name string) string { return strings.TrimSpace(names.Fold(name)) }

// study decides whether the cells of some columns may be ids: all of them are numbers, and no other system has written the file.
func (c *churches) study(t *tableFile, among []int) {
	c.numbers = t.ly.Origin == columns.Unknown
	for _, i := range among {
		p := &t.ly.Profiles[i]
		c.numbers = c.numbers && p.IsWhole()
		for v := range p.Counts {
			id, ok := churchID(v)
			c.foreign = c.foreign || ok && !c.ids[id]
		}
	}
}

func churchID(cell string) (int64, bool) {
	id, err := strconv.ParseInt(cell, 10, 64)
	return id, err == nil
}

// find returns the id of the church that a cell means, or the reason why there is none.
func (c *churches) find(cell string) (jsontext.Value, string) {
	found := slices.Clone(c.named[foldName(cell)])
	id, isNumber := churchID(cell)
	if isNumber && c.numbers && c.ids[id] && !slices.Contains(found, id) && !(c.foreign && len(found) == 0) {
		found = append(found, id)
	}
	switch {
	case len(found) == 1:
		return value.Number(found[0]), ""
	case len(found) > 1:
		return nil, faultTwoChurches
	case isNumber && c.numbers && c.ids[id]:
		return nil, faultForeignIDs
	case isNumber && c.numbers:
		return nil, faultNoChurchID
	}
	return nil, faultNoChurch
}

// unknown adds a warning for each cell of a table that means no church.
func (c *churches) unknown(t *tableFile, rep *Report) {
	if f := t.ly.Feed(kinds.Church); len(f.Parts) == 1 {
		for _, i := range f.Columns() {
			c.unknownIn(t.ly, i, rep)
		}
	}
}

func (c *churches) unknownIn(ly *columns.Layout, column int, rep *Report) {
	for _, v := range ly.Profiles[column].Values() {
		if _, fault := c.find(v.Value); fault != "" && len(rep.Warnings) < columns.MaxAsked {
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("“%s” in the column “%s” (%s): %s; name the church as it is here, make it first, or say --ignore '%s'",
				profile.Sample(v.Value), ly.Name(column), counted(v.Count, "row", "rows"), fault, ly.Name(column)))
		}
	}
}
