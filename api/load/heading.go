package load

import (
	"fmt"

	"doorward/api/load/profile"
	"doorward/kv/record"
)

// checkHeadings stops an import of rows below a heading that refuses admission, where no column says a state.
func (t *tableFile) checkHeadings() error {
	_, decided := t.src.States[""]
	if len(t.headings) == 0 || decided || len(t.ly.Deciders) > 0 || t.ly.Form.Kind != record.Ticket {
		return nil
	}
	h := t.headings[0]
	where := fmt.Sprintf("line %d", h.Line)
	if h.Line == 0 {
		where = "the sheet's name"
	}
	return fmt.Errorf("%w: %s says “%s”, and no column says who gets in: give each row its state, or say --states '=valid' to let all rows in, or '=unpaid' or '=blocked' to keep all out",
		ErrSource, where, profile.Sample(h.Text))
}
