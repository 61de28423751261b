package replicate

// StickTaker is the answer to GET /sync/_stick: the laptop takes files of its centre.
type StickTaker struct {
	Centre string `json:"centre"` // its address
	Node   string `json:"node"`   // the laptop's own
}

// StickReport is the answer to POST /sync/_stick, whose body is a file of changes: what the laptop has taken of it.
type StickReport struct {
	Databases []StickDatabase `json:"databases"`
	LeftOut   []string        `json:"left_out,omitempty"` // databases that the laptop does not take along
	Again     bool            `json:"again,omitzero"`     // it takes some of them now: their event has come after their records
	Error     string          `json:"error,omitempty"`    // why the file was not read to its end; what came before was taken
}

// StickDatabase is what was taken of one database.
type StickDatabase struct {
	DB      string   `json:"db"`
	Read    int      `json:"read"`
	Written int      `json:"written"`
	Refused int      `json:"refused"`
	Denied  []Denial `json:"denied,omitempty"` // the first of them
}
