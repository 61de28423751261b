package load

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"doorward/kv"
	"doorward/kv/record"
)

// Export writes every record of a kind, or of all importable kinds, as p sees them: one JSON object a line whose first member
// names its kind, each kind after those it refers to, so that Import reads it into an empty store. Whoever reads the lines
// can count them.
func Export(ctx context.Context, s *kv.Store, p kv.Principal, w io.Writer, o ExportOptions) error {
	list := forms()
	if o.Kind != "" {
		f, err := formOf(o.Kind)
		if err != nil {
			return err
		}
		list = []form{f}
	}
	e := &exporter{ctx: ctx, w: bufio.NewWriterSize(w, headSize)}
	for _, f := range list {
		if err := e.kind(s, p, f.kind); err != nil {
			return fmt.Errorf("export %s: %w", f.kind.Name, err)
		}
	}
	return e.w.Flush()
}

// ExportOptions say what to export.
type ExportOptions struct {
	Kind string // "" = all
}

type exporter struct {
	ctx context.Context
	w   *bufio.Writer
}

func (e *exporter) kind(s *kv.Store, p kv.Principal, k *record.Kind) error {
	head := `{"` + nameKind + `":"` + k.Name + `",`
	return s.Export(p, k, func(json []byte) error {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		_, _ = e.w.WriteString(head) // a failure stays with the writer
		_, _ = e.w.Write(json[1:])
		return e.w.WriteByte('\n')
	})
}
