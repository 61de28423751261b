package record_test

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
