package record

// Faults are what is wrong with a body: field → sentences, in the words of the contract.
type Faults map[string][]string

// Add notes one fault of a field.
func (f *Faults) Add(field, text string) { panic("record") }

// Error names the fields at fault, and no value.
func (f Faults) Error() string { panic("record") }

// SyntaxError says where a body stops being a JSON object. Line and Column count from 1.
type SyntaxError struct {
	Line, Column int
	Reason       string
}

func (e *SyntaxError) Error() string { panic("record") }
