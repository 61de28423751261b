package search

import "bytes"

// WholePhone is how many digits a typed phone has at least that is taken for a whole one, TailDigits how many of them a stored one
// must have then.
const (
	WholePhone = 8
	TailDigits = 4
)

// isEnd reports whether a phone ends with what was typed, or is, as a door has it, the end of a whole phone that was typed. Of a whole
// one it does not count how it is dialled.
func isEnd(phone []byte, typed string) bool {
	if ends(phone, typed) {
		return true
	}
	return len(typed) >= WholePhone && ends(national(phone), string(national([]byte(typed))))
}

// ends is isEnd of digits that are compared as they are.
func ends(phone []byte, typed string) bool {
	if n := len(typed) - len(phone); n > 0 {
		return len(typed) >= WholePhone && len(phone) >= TailDigits && typed[n:] == string(phone)
	}
	return string(phone[len(phone)-len(typed):]) == typed
}

// national is a Brazilian phone without what is dialled before its area code: 00 and the country's 55, the 0 of a long-distance call
// and the two digits of a carrier behind it. What would not leave a whole phone stays. 55 is an area code too: of ten or eleven digits
// it is no country's.
func national(digits []byte) []byte {
	rest := bytes.TrimPrefix(digits, []byte("00"))
	if local, ok := bytes.CutPrefix(rest, []byte("55")); ok && len(local) >= 10 {
		rest = local
	}
	if local, ok := bytes.CutPrefix(rest, []byte("0")); ok {
		rest = local
		if len(rest) > 11 {
			rest = rest[2:]
		}
	}
	if len(rest) < WholePhone {
		return digits
	}
	return rest
}
