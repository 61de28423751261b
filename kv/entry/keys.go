package entry

import "crypto/rand"

func Draw10() (b [10]byte) {
	rand.Read(b[:])
	return b
}
