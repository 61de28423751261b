package door

import "testing"

// A board that has read a commit before the store says that it is there is not behind.
func TestABoardThatIsAheadIsNotBehind(t *testing.T) {
	for _, test := range []struct{ upto, seq, want uint64 }{{5, 9, 4}, {9, 9, 0}, {10, 9, 0}} {
		if got := (&board{upto: test.upto}).behind(test.seq); got != test.want {
			t.Errorf("upto %d of %d: behind by %d, want %d", test.upto, test.seq, got, test.want)
		}
	}
}
