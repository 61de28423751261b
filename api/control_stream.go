package api

import (
	"errors"
	"net/http"
	"time"

	"doorward/api/load"

	"github.com/go-json-experiment/json"
)

const typeNDJSON = "application/x-ndjson"

// stream is an answer in lines of JSON: progress as it comes, then one result or one error.
type stream struct {
	x    *exchange
	last time.Time
}

func newStream(x *exchange) *stream { return &stream{x: x, last: time.Now()} }

// progressLine is one line of a stream.
type progressLine struct {
	Progress struct {
		Done  int64 `json:"done"`
		Total int64 `json:"total"`
	} `json:"progress"`
}

// progress writes a line, unless the last is younger than a tenth of a second.
func (s *stream) progress(done, total int64) {
	now := time.Now()
	if now.Sub(s.last) < progressPause {
		return
	}
	s.last = now
	var line progressLine
	line.Progress.Done, line.Progress.Total = done, total
	_ = s.line(line) // a client that is gone ends the work by its context
}

// end writes the last line. If no line was written yet, it returns an error of the request, which is answered by its status. A fault in the
// content of a file is a line: the request itself was good.
func (s *stream) end(result any, err error) error {
	if err != nil {
		return s.fail(err)
	}
	return s.line(struct {
		Result any `json:"result"`
	}{result})
}

func (s *stream) fail(err error) error {
	if s.x.request.Context().Err() != nil {
		return errGone
	}
	if s.x.status == 0 && !errors.Is(err, load.ErrSource) {
		return err
	}
	body, err := envelope(s.x.explain(err))
	if err != nil {
		return err
	}
	return s.write(body)
}

func (s *stream) line(v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	return s.write(b)
}

func (s *stream) write(b []byte) error {
	if s.x.status == 0 {
		s.x.Header().Set("Content-Type", typeNDJSON)
	}
	if _, err := s.x.Write(append(b, '\n')); err != nil {
		return errGone
	}
	return http.NewResponseController(s.x).Flush()
}
