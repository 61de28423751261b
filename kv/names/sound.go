package names

import "unicode"

// Sound is the key of a folded word by its sound in Brazilian Portuguese: words of one key sound alike however they are spelled, as
// Thaynná and Tainá, Wesley and Uesley. Most rules are those of metaphoneBR (IPEA, github.com/ipeadata-lab/metaphonebr), a metaphone
// for Brazilian names. Ours are: vowels are kept, but e and y are i; two of one letter are one; and what stands at soundAt and
// trimSound about w, x, z and the beginnings and ends of words. Letters that no rule names stand for themselves.
func Sound(word string) string { return SoundOf([]rune(word)) }

func SoundOf(word []rune) string {
	var key [48]rune
	return string(AppendSound(key[:0], word))
}

// SoundLetters is how many letters a typed word has at least that is compared by its sound.
const SoundLetters = 3

// AppendSound appends the key of a folded word.
func AppendSound(dst, word []rune) []rune {
	start := len(dst)
	if beginsHard(word) {
		dst = append(dst, 'i') // Stefani, Estefany
	}
	for i := 0; i < len(word); {
		sound, letters := soundAt(word, i)
		if last := len(dst) - 1; sound != mute && (last < start || dst[last] != sound || !unicode.IsLetter(sound)) {
			dst = append(dst, sound)
		}
		i += letters
	}
	return trimSound(dst, start)
}

// SoundsAs reports whether a word has a sound that is not "".
func SoundsAs(word []rune, sound string) bool {
	var key [48]rune
	return sound != "" && Spells(AppendSound(key[:0], word), sound)
}

// FirstSound is the first letter of a word's sound, by which most words of another sound can be told; mute where it has none.
func FirstSound(word []rune) (first rune) {
	if beginsHard(word) {
		return 'i'
	}
	for i := 0; first == mute && i < len(word); {
		letters := 0
		first, letters = soundAt(word, i)
		i += letters
	}
	return first
}

// beginsHard tells a word that begins with s and another consonant, before which people say and often write an e.
func beginsHard(word []rune) bool {
	if len(word) < 2 || word[0] != 's' || !isConsonant(word[1]) {
		return false
	}
	sound, letters := soundAt(word, 0)
	return sound == 's' && letters == 1 && word[1] != 's'
}

// trimSound ends the key that begins at start: an becomes a, because Cauan and Kauã sound alike.
func trimSound(dst []rune, start int) []rune {
	if n := len(dst); n-start > 2 && dst[n-2] == 'a' && dst[n-1] == 'n' {
		return dst[:n-1]
	}
	return dst
}

// mute is the sound of a silent letter.
const mute = 0

// soundAt is the sound of a word's letter i, and how many letters make it.
func soundAt(word []rune, i int) (sound rune, letters int) {
	next, after := letterAt(word, i+1), letterAt(word, i+2)
	switch r := word[i]; r {
	case 'h':
		return mute, 1
	case 'e', 'y':
		return 'i', 1
	case 'c', 'k', 'q', 'x':
		return soundOfC(r, next, after)
	case 's':
		return soundOfS(next, after)
	case 'z':
		if i > 0 { // Souza, Luiz
			return 's', 1
		}
	case 'w': // Wesley, Kawan
		if i > 0 {
			return 'u', 1
		}
		return 'v', 1
	case 'u':
		if i == 0 && isVowel(next) { // Uesley
			return 'v', 1
		}
	case 'g':
		return soundOfG(word, i)
	case 'p':
		switch next {
		case 'h': // Raphael
			return 'f', 2
		case 't', 'c': // Baptista, Assumpção
			return mute, 1
		}
	case 'l', 'n':
		if next == 'h' && isVowel(after) { // Guilherme, Rosinha
			return unicode.ToUpper(r), 2
		}
	case 'm':
		if next == 0 || isConsonant(next) && next != 'm' && next != 'h' { // Miriam, Bomfim
			return 'n', 1
		}
	}
	return word[i], 1
}

// soundOfS is the sound of an s before two other letters.
func soundOfS(next, after rune) (sound rune, letters int) {
	switch {
	case next == 'c' && after == 'h': // Schmidt
		return 'x', 3
	case next == 'h': // Sheila
		return 'x', 2
	case next == 'c' && isFront(after): // Nascimento
		return mute, 1
	}
	return 's', 1
}

// soundOfC is the sound of a c, k, q or x before two other letters.
func soundOfC(r, next, after rune) (sound rune, letters int) {
	switch {
	case next == 's' && r != 'q': // Alecsandro, Alexsandro
		return 'x', 2
	case r == 'x':
		return 'x', 1
	case r == 'q' && next == 'u' && isFront(after): // Henrique
		return 'k', 2
	case r != 'c':
		return 'k', 1
	case next == 'h' && isVowel(after): // Michele
		return 'x', 2
	case next == 'h': // Christian
		return 'k', 2
	case isFront(next): // Célia
		return 's', 1
	case next == 't', next == 'k', next == 'q': // Victor, Patrick, Jacqueline
		return mute, 1
	}
	return 'k', 1
}

// soundOfG is the sound of a g, a word's letter i.
func soundOfG(word []rune, i int) (sound rune, letters int) {
	switch next := letterAt(word, i+1); {
	case next == 'u' && isFront(letterAt(word, i+2)): // Miguel
		return 'g', 2
	case isFront(next): // Geovana
		return 'j', 1
	case i == 1 && word[0] == 'i' && next == 'n': // Ignácio
		return mute, 1
	}
	return 'g', 1
}

// letterAt is a word's letter i; 0 behind its end.
func letterAt(word []rune, i int) rune {
	if i < len(word) {
		return word[i]
	}
	return 0
}

// isFront tells the vowels before which c and g are soft.
func isFront(r rune) bool { return r == 'e' || r == 'i' || r == 'y' }

func isVowel(r rune) bool { return isFront(r) || r == 'a' || r == 'o' || r == 'u' }

func isConsonant(r rune) bool { return 'a' <= r && r <= 'z' && !isVowel(r) }
