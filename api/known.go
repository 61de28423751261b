package api

import (
	"net/http"

	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/record"

	"github.com/go-json-experiment/json"
)

// maxCodes is how many codes of one picture are looked up.
const maxCodes = 8

// codesForm is the body of a request that asks which codes are tickets'.
var codesForm = record.Form("codes_form",
	record.Field{Name: "codes", Type: record.Texts{}, Flags: record.Required},
)

// knownCode is a code that names a ticket.
type knownCode struct {
	Code     string `json:"code"`
	TicketID int64  `json:"ticket_id"`
}

// knownCodes are those of the codes asked about that name tickets, in the order given.
type knownCodes struct {
	Results []knownCode `json:"results"`
}

// codesOf answers POST /door/v1/event/{id}/codes/: which codes of a picture are those of tickets. It decides nothing about them.
func codesOf(x *exchange, event int64) error {
	codes, err := readCodes(x)
	if err != nil {
		return unlessMissing(x, event, err)
	}
	known, err := x.store().Door.Known(x.caller, event, codes)
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, viewKnown(known))
}

func viewKnown(known []door.Reading) knownCodes {
	v := knownCodes{Results: make([]knownCode, len(known))}
	for i, k := range known {
		v.Results[i] = knownCode{k.Code, k.Ticket.Int()}
	}
	return v
}

// readCodes reads the codes.
func readCodes(x *exchange) (codes []string, err error) {
	form, _, err := readForm(x, codesForm)
	if err != nil {
		return nil, err
	}
	given, _ := form.Value("codes")
	if len(form.Faults["codes"]) == 0 {
		err = json.Unmarshal(given, &codes)
	}
	if err != nil {
		return nil, err // the form holds a list of texts
	}
	if len(codes) > maxCodes {
		form.Faults.Add("codes", fault.TooMany(maxCodes))
	}
	return codes, form.Faults.Err()
}
