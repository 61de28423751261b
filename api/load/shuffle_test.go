package load_test

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"doorward/api/load"
	"doorward/api/load/columns"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest/proof"
)

func TestMain(m *testing.M) {
	flag.Parse()
	proof.Draws(200, 3000)
	os.Exit(m.Run())
}

// shuffledTitles are titles of columns that decide on admission, or may, and of some that do not.
var shuffledTitles = strings.Split("Status|Estado|Situação|Payment status|Pago|Pago em|Data de pagamento|Forma de pagamento|Valor pago|Total|Valor|Saldo|Balance due|Sinal|Recibo|"+
	"Parcela|Refund amount|Reembolso|Cancelled|Cancelado em|Bloqueado|Waitlist|Fila|Aprovado em|RSVP|Attending|Check-in|Vencimento|Quantidade|Notes|Tipo|Order status", "|")

// shuffledCells are cells that such columns have.
var shuffledCells = []string{"", "-", "n/a", "0", "50", "R$ 25,00", "-50", "1/3", "2026-11-02", "46000", "Pix", "sim", "não", "yes", "no", "x", "?", "pago", "paid", "confirmado",
	"pendente", "cancelado", "refunded", "não pago", "metade", "amanhã", "talvez", "ok", "Adulto", "vegetarian"}

// verdict is what becomes of a list: what is asked, or how many tickets have each state and how many rows are refused.
type verdict struct {
	Asked   []string
	States  map[string]int
	Refused int
}

func verdictOn(t *rapid.T, s *kv.Store, rows [][]string) (v verdict) {
	var file strings.Builder
	w := csv.NewWriter(&file)
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	src := load.Source{Kind: "ticket", Event: 7, DryRun: true, Reader: strings.NewReader(file.String())}
	rep, err := load.Import(context.Background(), s, auth.Operator(), src, nil)
	var asked columns.Questions
	if err != nil && !errors.As(err, &asked) {
		return verdict{Asked: []string{fmt.Sprintf("%T", err)}}
	}
	for _, q := range asked {
		v.Asked = append(v.Asked, q.Column)
	}
	slices.Sort(v.Asked)
	v.States, v.Refused = maps.Clone(rep.States), len(rep.Rejected)
	return v
}

// TestTheOrderOfATableDecidesNothing: in whatever order its columns and rows are, the same is asked, and the tickets get the same states.
func TestTheOrderOfATableDecidesNothing(t *testing.T) {
	s := congregation(t)
	rapid.Check(t, func(t *rapid.T) {
		titles := rapid.SliceOfNDistinct(rapid.SampledFrom(shuffledTitles), 1, 4, rapid.ID[string]).Draw(t, "titles")
		rows := [][]string{append([]string{"Code", "Name"}, titles...)}
		cells := make([]*rapid.Generator[string], len(titles))
		for i := range titles {
			cells[i] = rapid.SampledFrom(rapid.SliceOfN(rapid.SampledFrom(shuffledCells), 1, 3).Draw(t, "cells"))
		}
		for n := range rapid.IntRange(2, 7).Draw(t, "rows") {
			row := []string{fmt.Sprintf("KX7A%d", n), "Ana Sá"}
			for i := range titles {
				row = append(row, cells[i].Draw(t, "cell"))
			}
			rows = append(rows, row)
		}
		want := verdictOn(t, s, rows)
		shuffled := [][]string{rows[0]}
		shuffled = append(shuffled, rapid.Permutation(rows[1:]).Draw(t, "order")...)
		places := make([]int, len(rows[0]))
		for i := range places {
			places[i] = i
		}
		places = rapid.Permutation(places).Draw(t, "places")
		for n, row := range shuffled {
			moved := make([]string, len(row))
			for to, from := range places {
				moved[to] = row[from]
			}
			shuffled[n] = moved
		}
		if diff := cmp.Diff(want, verdictOn(t, s, shuffled)); diff != "" {
			t.Errorf("in another order (-as it was +shuffled):\n%s%q", diff, rows)
		}
	})
}
