package names_test

import (
	"testing"

	"doorward/kv/names"
)

func TestLabel(t *testing.T) {
	for name, want := range map[string]string{
		"Ana Souza": "Ana S.", "Ana": "Ana", "": "", "  ": "", "Ana da Silva": "Ana S.", "Ana Maria de Souza e Silva": "Ana S.",
		"ana  souza": "ana S.", "Ana DA": "Ana", "João d'Ávila": "João D.", "Ana E\u0301lia": "Ana É.", "Ana (Nina)": "Ana N.", "Ana 2": "Ana",
		"Ana Souza dos": "Ana S.", "李 明": "李 明.",
		"Ana,Souza": "Ana S.", "Ana_Souza": "Ana S.", "ana.souza@example.org": "ana O.", "Ana/Souza": "Ana S.", "Ana–Souza": "Ana S.",
		"Ana\u200dSouza": "Ana S.", "Ana\u00a0Souza": "Ana S.", "Ana\u200bSouza": "Ana S.", "Ana🎉Souza": "Ana S.",
		"Ana-Maria Souza": "Ana-Maria S.", "Ana\u2011Maria Souza": "Ana\u2011Maria S.", "Ana -Souza": "Ana S.", "Ana 'Souza'": "Ana S.", "Ana -": "Ana",
		"'": "", "🎉": "", "João Paulo 2º": "João P.", "João Paulo 2 º": "João P.", "Ana 1a": "Ana", "Ana Mª": "Ana M.", "Convidado 12": "Convidado",
		"王小明": "王.", "王": "王.", "山田　太郎": "山田 太.", "ジョン・スミス": "ジョン ス.", "さくら": "さ.", "김민수": "김.", "王小明 2": "王.", "สมชาย": "ส.",
	} {
		if got := names.Label(name); got != want {
			t.Errorf("Label(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestLabelsLeaveTitlesOut reads names as lists have them, and in capitals too.
func TestLabelsLeaveTitlesOut(t *testing.T) {
	for name, want := range map[string]string{
		"Pr. Paulo Reis": "Paulo R.", "Pra. Marta Reis": "Marta R.", "Dra. Lia Prado": "Lia P.", "Irmão Tomé Luz": "Tomé L.", "Pb. Davi Melo": "Davi M.",
		"Bispo Elias Nunes": "Elias N.", "Bispo Nilo Braga": "Nilo B.", "Sra. Rute Dias": "Rute D.", "Pe. Marcelo Paz": "Marcelo P.", "Souza, Ana Maria": "Ana S.", "LIMA, Beto": "Beto L.",
		"Prof. Dr. Caio Reis": "Caio R.", "PR. PAULO REIS": "PAULO R.", "IRMÃ ANA SOUZA": "ANA S.", "SOUZA, ANA MARIA": "ANA S.", "Pr.Paulo Reis": "Paulo R.",
		"Pr. Reis, Paulo": "Paulo R.", "Reis, Pr. Paulo": "Paulo R.", "Ana Souza, Dra.": "Ana S.", "Souza, Ana, Dra.": "Ana S.", "Souza e Silva, Ana": "Ana S.", "Dra. da Silva": "Silva",
		"Prof.ª Ana Souza": "Ana S.", "Sr. e Sra. Souza": "Souza", "Hno. Luis Peña": "Luis P.", "Rev. John Smith": "John S.", "Pastor": "Pastor", "Pr.": "Pr", "Dr., Prof.": "Dr P.",
		"Don Smith": "Don S.", "Don Pedro López": "Pedro L.", "Irma Dias": "Irma D.", "Irma Ana Dias": "Ana D.", "Elder Souza": "Elder S.", "Junior Souza": "Junior S.", "Ana Bispo": "Ana B.",
		"Ana, Beto, Caio": "Ana C.", "王, 小明": "小明 王.",
	} {
		if got := names.Label(name); got != want {
			t.Errorf("Label(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestPhoneTail(t *testing.T) {
	for phone, want := range map[string]string{"+55 11 98765-4321": "4321", "123": "", "12-34": "1234", "": ""} {
		if got := names.PhoneTail(phone); got != want {
			t.Errorf("PhoneTail(%q) = %q, want %q", phone, got, want)
		}
	}
}
