package names_test

import (
	"fmt"

	"doorward/kv/names"
)

func Example() {
	const name = "João D'Ávila Jr."
	fmt.Println(names.Fold(name))
	fmt.Printf("%q %q\n", names.Words(name), names.WrittenWords(name))
	fmt.Println(names.Label(name), names.Sound("thaynna") == names.Sound("taina"))
	// Output:
	// joao d'avila jr.
	// ["joao" "davila" "junior"] ["joao" "d'avila" "jr"]
	// João J. true
}
