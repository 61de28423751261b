package load

import (
	"fmt"
	"slices"
	"strings"

	"doorward/api/load/columns"
	"doorward/api/load/kinds"
	"doorward/api/load/profile"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/fault"
)

// Type is a type of tickets in a list: how many there are, and how many of them name their holder.
type Type struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	Named int    `json:"named"`
	Left  bool   `json:"left_out,omitempty"`
}

// ticketTypes has the types of the tickets in a list, and the types that the import takes.
type ticketTypes struct {
	all  []Type
	only []string // those that are taken, in plain form; nil = all
	test int      // tickets of test orders, which are left out
}

// report says how many tickets there are of each type. Types that the operator has left out are counted row by row.
func (tt *ticketTypes) report(rep *Report) {
	rep.Types = tt.all
	for _, one := range tt.all {
		if one.Left && tt.only == nil {
			rep.LeftOut += one.Count
		}
	}
}

// chooseTypes counts the types of tickets, and asks which are meant where some are hardly admissions: in a shop's list a T-shirt
// is a position like any other, but has no holder, or its name says so. Where all are goods, as at a dinner, nothing is asked.
func (t *tableFile) chooseTypes() error {
	if !t.ly.Has(kinds.Type) {
		if len(t.src.OnlyTypes) > 0 {
			return fmt.Errorf("%w: --only-type: the list has no column for the type; --map 'type=…' names it", ErrUsage)
		}
		return nil
	}
	if !t.ly.Origin.Types && len(t.src.OnlyTypes) == 0 && !t.mayHoldGoods() {
		return nil
	}
	if err := t.countTypes(); err != nil {
		return err
	}
	var names []string
	for _, one := range t.types.all {
		names = append(names, one.Name)
	}
	for _, only := range typeNames(t.src.OnlyTypes, names) {
		if !slices.ContainsFunc(names, func(n string) bool { return words.Plain(n) == words.Plain(only) }) {
			return fmt.Errorf("%w: --only-type %s: the list has no such type%s; it has %s", ErrUsage, only, words.DidYouMean(only, names), fault.Listed(names))
		}
		t.types.only = append(t.types.only, words.Plain(only))
	}
	if t.types.only == nil {
		return t.askForTypes()
	}
	for i := range t.types.all {
		t.types.all[i].Left = !slices.Contains(t.types.only, words.Plain(t.types.all[i].Name))
	}
	return nil
}

// mayHoldGoods tells whether some rows have no holder, or a type has a name of goods.
func (t *tableFile) mayHoldGoods() bool {
	for _, f := range t.ly.Feeds {
		if len(f.Parts) != 1 || len(f.Parts[0]) != 1 {
			continue
		}
		p := &t.ly.Profiles[f.Parts[0][0]]
		if f.Name == kinds.HolderName && p.Filled < p.Rows || f.Name == kinds.Type && p.Share(words.IsGoods) > 0 {
			return true
		}
	}
	return false
}

// typeNames lists the types of --only-type: each flag is one type, or several with commas between them.
func typeNames(flags, known []string) (out []string) {
	for _, flag := range flags {
		if slices.ContainsFunc(known, func(n string) bool { return words.Plain(n) == words.Plain(flag) }) {
			out = append(out, flag)
			continue
		}
		for one := range strings.SplitSeq(flag, ",") {
			out = append(out, strings.TrimSpace(one))
		}
	}
	return out
}

func (t *tableFile) countTypes() error {
	at := map[string]int{}
	return t.sound(func(row sheet.Row) {
		name := t.ly.Cell(kinds.Type, row.Texts)
		i, ok := at[name]
		if !ok {
			if len(t.types.all) == profile.MaxDistinct {
				return
			}
			i = len(t.types.all)
			at[name], t.types.all = i, append(t.types.all, Type{Name: name})
		}
		t.types.all[i].Count++
		if t.ly.Cell(kinds.HolderName, row.Texts) != "" {
			t.types.all[i].Named++
		}
	})
}

func (t *tableFile) askForTypes() error {
	var named, others []string
	var values []profile.Value
	names := slices.ContainsFunc(t.types.all, func(one Type) bool { return one.Named > 0 })
	for _, one := range t.types.all {
		if (one.Named > 0 || !names) && !words.IsGoods(one.Name) {
			named = append(named, one.Name)
			continue
		}
		others = append(others, one.Name)
		values = append(values, profile.Value{Value: one.Name, Count: one.Count})
	}
	if len(named) == 0 || len(others) == 0 {
		return nil
	}
	return columns.Questions{{
		Column: t.ly.Column(kinds.Type), Text: "has products on which nobody is named, or that are called as goods are: they may be no admissions", Values: values,
		Flags: []string{
			fmt.Sprintf("--only-type '%s' to leave them out", strings.Join(named, ",")),
			fmt.Sprintf("--only-type '%s' to let them in", strings.Join(append(named, others...), ",")),
		},
	}}
}
