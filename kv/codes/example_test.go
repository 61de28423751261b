package codes_test

import (
	"fmt"

	"doorward/kv/codes"
)

func ExampleRead() {
	fmt.Printf("%q\n", codes.Read("https://example.org/t/k7qp-2m/").Exact)
	fmt.Printf("%q\n", codes.Read(" k7qp-2m ").Normal)
	// Output:
	// ["https://example.org/t/k7qp-2m/" "k7qp-2m"]
	// ["K7QP2M"]
}
