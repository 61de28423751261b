package record

// CodeForms are what a scanned or typed text may mean as a ticket code, in the order they are tried (contract.md §10): the
// trimmed text, of a URL its last path segment that is not empty; and the normal form of each.
type CodeForms struct {
	Exact  []string
	Normal []string // NFKC, upper case, no spaces or hyphens; without those equal to one before
}

// ReadCode reads a scan.
func ReadCode(text string) CodeForms { panic("record") }

// NormalCode is the normal form of one code.
func NormalCode(code string) string { panic("record") }

// Label is what a door may show of a name: "Ana S." of "Ana Souza".
func Label(fullName string) string { panic("record") }

// PhoneTail is the last four digits of a phone number; "" where it has fewer.
func PhoneTail(phone string) string { panic("record") }

// MakeCode draws a ticket code: 16 characters of Crockford's alphabet out of 10 random bytes.
func MakeCode(random [10]byte) string { panic("record") }
