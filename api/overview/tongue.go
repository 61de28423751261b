package overview

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// tongue is the language of an overview's sentences: what it says for each English text. Where it says nothing the English text stays.
type tongue map[string]string

// tongues are the languages besides English.
var tongues = map[string]tongue{"pt-BR": portuguese}

// say is a sentence, or a part of one.
func (t tongue) say(format string, args ...any) string {
	if said, ok := t[format]; ok {
		return fmt.Sprintf(said, args...)
	}
	return fmt.Sprintf(format, args...)
}

// word is a text without arguments.
func (t tongue) word(text string) string {
	if said, ok := t[text]; ok {
		return said
	}
	return text
}

// words are several of them.
func (t tongue) words(texts []string) string {
	var all []string
	for _, text := range texts {
		all = append(all, t.word(text))
	}
	return strings.Join(all, ", ")
}

// many is a number of something, of which the plural ends in s.
func (t tongue) many(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + t.word(what)
}

func (t tongue) are(n int) string {
	if n == 1 {
		return t.word("is")
	}
	return t.word("are")
}

// lasting is Lasting in this language.
func (t tongue) lasting(d time.Duration) string {
	number, unit, _ := strings.Cut(Lasting(d), " ")
	return number + " " + t.word(unit)
}

// aside is where a clock is against this one, which is so far ahead of it.
func (t tongue) aside(ahead time.Duration) string {
	if ahead > 0 {
		return t.say("%s behind", t.lasting(ahead))
	}
	return t.say("%s ahead of", t.lasting(ahead))
}

// ago says how long ago a moment was.
func (s needs) ago(at time.Time) string { return s.lasting(s.now.Sub(at)) }

// oldest says how old the oldest of some changes is.
func (s needs) oldest(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return s.say(" (the oldest %s old)", s.ago(at))
}

// ends says when something ends or has ended.
func (s needs) ends(at time.Time) string {
	if left := at.Sub(s.now); left > 0 {
		return s.say("ends in %s", s.lasting(left))
	}
	return s.say("has ended %s ago", s.ago(at))
}

// Lasting is a time as people say it, in English.
func Lasting(d time.Duration) string {
	in := func(unit time.Duration, name string) string {
		return strconv.FormatInt(int64(d.Round(unit)/unit), 10) + " " + name
	}
	switch d = d.Abs(); {
	case d < 2*time.Minute:
		return in(time.Second, "s")
	case d < 2*time.Hour:
		return in(time.Minute, "min")
	case d < 48*time.Hour:
		return in(time.Hour, "h")
	}
	return in(24*time.Hour, "days")
}

// portuguese is what the overview says in Portuguese, as it is spoken in Brazil.
var portuguese = tongue{
	"No server runs on this folder: no door is answered here.":                                                        "Nenhum servidor roda nesta pasta: aqui nenhuma porta recebe resposta.",
	"The store has stopped writing and doors are refused: %s. Mend the disk, start serve again, and check the store.": "O banco de dados parou de gravar e as portas são recusadas: %s. Conserte o disco, inicie o serve de novo e verifique o banco de dados.",
	"The disk is nearly full: refused are %s. Make room on it; all goes on by itself.":                                "O disco está quase cheio: estão recusados %s. Libere espaço; tudo continua sozinho.",
	"imports":  "importações",
	"creates":  "registros novos",
	"checkins": "check-ins",
	"Stored values are damaged: they are served to nobody, and figures here may be missing.":                          "Há valores danificados no banco de dados: ninguém os recebe, e aqui podem faltar números.",
	"This machine's clock is doubted: %s. Look at it and set it. If it is right already, have this program trust it.": "O relógio desta máquina está em dúvida: %s. Confira-o e acerte-o. Se já estiver certo, mande este programa confiar nele.",
	"it is %s that of another machine":                                                                "está %s do de outra máquina",
	"it is earlier than this program was built":                                                       "está antes da data em que este programa foi feito",
	"it is more than two minutes from a peer's clock":                                                 "está a mais de dois minutos do relógio de outra máquina",
	"it is earlier than when it was last right":                                                       "está antes da última hora em que estava certo",
	"what was known of it is damaged in the store":                                                    "o que se sabia dele está danificado no banco de dados",
	"%s could not be erased; nobody is shown them, and it is tried again. The log of serve says why.": "Não foi possível apagar %s; ninguém os vê, e tenta-se de novo. O log do serve diz por quê.",
	", and %s%s cannot be sent":                                                                       ", e falta enviar %s%s",
	"This laptop is revoked at its centre: check-ins are marked for review, and nothing new comes. If it may go on, enrol it again there.": "Este notebook foi revogado na sua central: os check-ins são marcados para revisão, e nada de novo chega. Se ele puder continuar, cadastre-o de novo lá.",
	"The credential of this laptop %s: enrol it again.":                                                                                                                    "A credencial deste notebook %s: cadastre-o de novo.",
	"The centre %s was never met%s. Look at the network; doors go on.":                                                                                                     "A central %s nunca foi alcançada%s. Confira a rede; as portas continuam.",
	"The centre %s was not met for %s%s. Look at the network; doors go on.":                                                                                                "A central %s não é alcançada há %s%s. Confira a rede; as portas continuam.",
	"The centre is met%s. The log of serve says why.":                                                                                                                      "A central responde%s. O log do serve diz por quê.",
	"This laptop is ready for no event: what it was enrolled for is not here.":                                                                                             "Este notebook não está pronto para nenhum evento: aquilo para que foi cadastrado não está aqui.",
	"The clocks of all laptops that were met are about %s this one: this machine's own may be wrong. Look at it first.":                                                    "Os relógios de todos os notebooks vistos estão cerca de %s deste: o desta máquina pode estar errado. Confira-o primeiro.",
	"Laptop %s was revoked %s ago and was last met %s ago: it still holds its data. Have it clear its folder when it is met.":                                              "O notebook %s foi revogado há %s e visto pela última vez há %s: ele ainda tem os dados. Mande-o limpar a pasta quando for visto.",
	"Laptop %s was revoked %s ago and is still in use, met %s ago: its check-ins are kept, marked for review. Take it off the door, then have it clear its folder.":        "O notebook %s foi revogado há %s e continua em uso, visto há %s: os check-ins dele ficam guardados, marcados para revisão. Tire-o da porta e depois mande-o limpar a pasta.",
	"Laptop %s was revoked %s ago and was not met since: it still holds its data. Have it clear its folder when it is met.":                                                "O notebook %s foi revogado há %s e não foi visto desde então: ele ainda tem os dados. Mande-o limpar a pasta quando for visto.",
	"The clock of laptop %s is %s this one: it judges no ticket by its times. Set the wrong clock right. If that of %s is right already, have the program there trust it.": "O relógio do notebook %s está %s deste: ele não julga nenhum ingresso pelo horário. Acerte o relógio errado. Se o de %s já estiver certo, mande o programa de lá confiar nele.",
	"Laptop %s has %s that %s not here%s, and was not met for %s. Look at its power and network, then at its own status.":                                                  "O notebook %s tem %s que não %s aqui%s, e não é visto há %s. Confira a energia e a rede dele; depois, o status dele mesmo.",
	"Laptop %s is met, but %s cannot be sent%s. The log of its serve says why, and its own status tells more.":                                                             "O notebook %s é visto, mas falta enviar %s%s. O log do serve dele diz por quê, e o status dele mesmo diz mais.",
	"Laptop %s was not met for %s while its event is on: its check-ins of that time are not here. Look at its power and network, then at its own status.":                  "O notebook %s não é visto há %s, durante o seu evento: os check-ins desse tempo não estão aqui. Confira a energia e a rede dele; depois, o status dele mesmo.",
	"The credential of laptop %s %s: enrol it again.":                                                                                                                      "A credencial do notebook %s %s: cadastre-o de novo.",
	"The door %s of %s has scanned nobody for %s, while others do. Look at it.":                                                                                            "A porta %s de %s não lê ninguém há %s, e outras leem. Veja o que há.",
	"The key %s of %s %s. Make another one if it is needed longer.":                                                                                                        "A chave %s de %s %s. Faça outra se for preciso por mais tempo.",
	"Let in twice at %s, or with a ticket that is cancelled: %s. Nobody is turned out; look at who it was.":                                                                "Entrada repetida em %s, ou com um ingresso cancelado: %s. Ninguém é posto para fora; veja quem foi.",
	"To be reviewed at %s: %s of a revoked laptop or a doubted clock.":                                                                                                     "Para rever em %s: %s de um notebook revogado ou com o relógio em dúvida.",
	"%s to be decided: two people changed one field.":                                                                                                                      "%s para decidir: duas pessoas mudaram o mesmo campo.",
	"%s of laptops or other stores to be applied or dropped.":                                                                                                              "%s de notebooks ou de outros bancos de dados, para aplicar ou descartar.",
	"The last check of every value found %s.":                                                                                                                              "A última verificação de todos os valores encontrou %s.",
	"The certificate by which clients reach this server %s. Put the next one in the place of its files.":                                                                   "O certificado pelo qual se alcança este servidor %s. Ponha o próximo no lugar dos arquivos dele.",
	"The bytes of %s are still in the file, since %s ago.":                                                                                                                 "Os bytes de %s ainda estão no arquivo, há %s.",
	"No backup was ever made of this store. Make one, on another disk.":                                                                                                    "Nunca se fez um backup deste banco de dados. Faça um, em outro disco.",
	"The last backup is %s old. Make one, on another disk.":                                                                                                                "O último backup tem %s. Faça um, em outro disco.",
	"change":               "alteração",
	"changes":              "alterações",
	"record":               "registro",
	"records":              "registros",
	"scan":                 "leitura",
	"scans":                "leituras",
	"check-in":             "check-in",
	"check-ins":            "check-ins",
	"conflict":             "conflito",
	"conflicts":            "conflitos",
	"refused document":     "documento recusado",
	"refused documents":    "documentos recusados",
	"fault":                "falha",
	"faults":               "falhas",
	"erased record":        "registro apagado",
	"erased records":       "registros apagados",
	"is":                   "está",
	"are":                  "estão",
	"days":                 "dias",
	"%s behind":            "%s atrás",
	"%s ahead of":          "%s à frente",
	" (the oldest %s old)": " (a mais antiga de há %s)",
	"ends in %s":           "termina em %s",
	"has ended %s ago":     "terminou há %s",
}
