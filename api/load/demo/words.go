package demo

import "strings"

// The words of which the demo makes names of people, churches and events. A real person has one of these names only by chance, the
// area code 00 does not exist, and example.org has no mailboxes.

var womensNames = list(`Adalina Belmira Clarinda Dorotéia Elisandra Florinda Graciela Herminda Iracilda Jacinara Ludimila Marilda
	Noêmia Otília Perpétua Quirina Rosimara Salvina Tarcila Ursulina Valdirene Zenaide Alcione Brígida Corália Delmira
	Eudóxia Felismina Genoveva Hilarina Janaína Lindaura`)

var mensNames = list(`Adalmir Belarmino Clodoaldo Dorival Elpídio Florisvaldo Genivaldo Hermínio Irineu Jacinto Leocádio Maurílio
	Norberto Olegário Percival Quirino Raimundo Salvino Tarcísio Ubirajara Valdemiro Zenóbio Alcebíades Benevides Cândido
	Deoclécio Eugênio Firmino Godofredo Heráclito Jurandir Laurindo`)

// Surnames are a head and a tail.
var surnameHeads = list(`Alb Barr Cal Durv Espir Fagund Galv Hort Itam Jord Lind Monf Nogar Oliv Pinh Quint Rosm Salg Tavir Urb Vald Xer
	Zamb Brand Castr Figu Mirand Palm Serr Vilar`)

var surnameTails = list(`ão ares eira ellos enda eral eto iano ico ilva ino osa ouro uda unes`)

var placeNames = list(`Sereno Alegre Claro Novo Verde Formoso Bonito Dourado Santo Manso`)

var placeKinds = list(`Vale Monte Campo Porto Jardim Lago Bosque Rio Horizonte Recanto`)

var regionNames = list(`Norte Sul Leste Oeste Centro Serra Litoral Planalto Fronteira Sertão`)

var roleNames = list(`Pastor Presbítero Diácono Missionária Regente Tesoureira Secretário Professora Recepcionista Obreiro`)

var groupNames = list(`Casais Jovens Adolescentes Mulheres Homens Louvor Acolhida Intercessão Crianças Universitários`)

var occupations = list(`costureira padeiro professora enfermeiro pedreiro contadora motorista cozinheira estudante agricultor`)

var accountNames = []string{"Caixa", "Conta corrente", "Conta de missões"}

var categoryNames = []string{"Dízimos", "Ofertas", "Manutenção", "Pessoal", "Missões", "Eventos"}

var subcategoryNames = []string{"Regular", "Especial"}

var costCenterNames = []string{"Geral", "Templo", "Ação social", "Ensino"}

var unitNames = []string{"Sede", "Campo missionário"}

var eventNames = []string{"Noite de Louvor", "Congresso da Colheita", "Retiro de Verão", "Festa das Nações", "Encontro de Casais",
	"Semana da Família", "Acampamento de Jovens", "Concerto de Natal", "Seminário de Líderes", "Almoço da Primavera"}

var typesDrawn = []string{"Adulto", "Adulto", "Adulto", "Meia", "Criança", "Voluntário"}

// ticketStates are drawn with these chances in a hundred; valid is the rest.
var ticketStates = []struct {
	state  string
	chance int
}{{"unpaid", 4}, {"cancelled", 3}, {"refunded", 2}, {"blocked", 1}}

// list cuts a text into its words.
func list(text string) []string { return strings.Fields(text) }
