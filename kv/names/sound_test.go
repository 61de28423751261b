package names_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv/names"
)

func TestNamesThatSoundAlike(t *testing.T) {
	sounds := map[string]string{} // which group has a sound
	for _, group := range []string{
		"Tainá Thaynná Thayná Taynah", "Kauã Cauan Kauan Kawan Cauã", "Wesley Uesley Weslei Wesllei", "Luís Luiz", "Raphael Rafael Raffael", "Vitor Victor Vittor",
		"Matheus Mateus Mattheus", "Sousa Souza", "Camila Kamilla Kamila", "Felipe Philipe Phillipe Filipe", "Jeferson Jefferson Gefferson", "Wagner Vagner Vaghner",
		"Stefani Estefany Stephanie", "Giovanna Geovana Jeovana", "Michele Mishelly Michelly", "Christian Cristian Kristian", "Corrêa Correia", "Nascimento Nassimento",
		"Assumpção Assunção", "Baptista Batista", "Alexsandro Alecsandro Aleksandro", "Jaqueline Jacqueline Jakeline", "Ignácio Inácio", "Miguel Migguel", "Yasmim Iasmin",
		"Helena Elena Hellena", "Santana Santanna", "Queiroz Queirós", "Célia Sélia", "Zélia", "Xavier Chavier", "Thiago Tiago", "Sylvia Silvia", "Sheila Cheila Xeila",
		"Henrique Enrique", "Jonathan Johnatan Jhonatan", "Emanuelly Emmanuele", "Bomfim Bonfim", "Schmidt Shmidt", "Guilherme Guilhermi", "Rosinha", "Rosina", "Ana Hanna Anna", "Ane",
		"Bruna", "Bruno", "Breno", "Paulo", "Paula", "Marcos", "Marcus", "Renan", "Renato", "Gabriel", "Gabriela", "Daniel", "Danilo", "Maria", "Mário", "Diego", "Thiego", "Caio", "Gaio",
	} {
		for i, name := range strings.Fields(group) {
			sound := names.Sound(names.Fold(name))
			if have, ok := sounds[sound]; ok != (i > 0) || ok && have != group {
				t.Errorf("%s of %q sounds %q, as %q", name, group, sound, have)
			}
			sounds[sound] = group
		}
	}
}

// TestSoundsOfAnything: a sound is one word, and of no letter that only accents part.
func TestSoundsOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := strings.ReplaceAll(names.Fold(rapid.StringMatching(`[a-zA-ZãéÇ0-9Ж李]{0,12}`).Draw(t, "word")), " ", "")
		sound := names.Sound(word)
		if len(sound) > 2*len(word) || strings.ContainsAny(sound, " \x00h") {
			t.Errorf("Sound(%q) = %q", word, sound)
		}
		digits := func(r rune) rune {
			if r < '0' || r > '9' {
				return -1
			}
			return r
		}
		if strings.Map(digits, sound) != strings.Map(digits, word) {
			t.Errorf("Sound(%q) = %q has other digits", word, sound)
		}
	})
}
