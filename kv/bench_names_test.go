package kv_test

import (
	"math/rand/v2"
	"strings"
)

// Names as they are common in Brazil, the most common first. The people made of them are invented.
var (
	givenNames = strings.Fields(`Maria José Ana João Antônio Francisco Carlos Paulo Pedro Lucas Luiz Marcos Luís Gabriel Rafael Francisca
		Daniel Marcelo Bruno Eduardo Felipe Raimundo Rodrigo Antônia Manoel Mateus André Fernando Fábio Leonardo Adriana Gustavo Guilherme
		Leandro Tiago Juliana Márcia Fernanda Patrícia Anderson Aline Sandra Camila Amanda Bruna Jéssica Letícia Júlia Luciana Vanessa
		Mariana Gabriela Vera Vitória Larissa Cláudia Beatriz Luana Rita Sônia Renata Eliane Josefa Simone Natália Cristiane Carla Débora
		Rosângela Jaqueline Rosa Daniela Aparecida Marlene Terezinha Raimunda Andréia Fabiana Lúcia Raquel Ângela Rafaela Luzia Joana
		Sebastião Vinícius Ricardo Jorge Roberto Sérgio Diego Alexandre Cícero Edson Vitor Mário Severino Geraldo Thiago Diogo Samuel
		Henrique Caio Otávio Murilo Enzo Davi Benício Heitor Joaquim Arthur Bernardo Cauã Yasmin Helena Valentina Sofia Lívia Isabela
		Manuela Laura Heloísa Cecília Eloá Lorena Alice Emanuelly Rebeca Sarah Ester Miriam Noemi Priscila Tatiane Elisângela Ivone
		Conceição Socorro Fátima Glória Graça Inês Irene Iracema Jandira Jurema Yara Nair Neusa Odete Olga Penha Quitéria Wagner
		Wellington Washington Valdir Valdemar Ubiratan Túlio Tomás Silvio Rui Renan Pérola Osvaldo Orlando Norberto Moacir Milton`)
	surnames = strings.Fields(`Silva Santos Oliveira Souza Rodrigues Ferreira Alves Pereira Lima Gomes Costa Ribeiro Martins Carvalho Almeida
		Lopes Soares Fernandes Vieira Barbosa Rocha Dias Nascimento Andrade Moreira Nunes Marques Machado Mendes Freitas Cardoso Ramos
		Gonçalves Santana Teixeira Araújo Moura Cavalcanti Campos Correia Pinto Monteiro Batista Castro Miranda Cunha Borges Melo Nogueira
		Pires Duarte Azevedo Barros Farias Reis Guimarães Tavares Sales Peixoto Fonseca Xavier Coelho Macedo Aguiar Assis Siqueira Viana
		Amaral Queiroz Medeiros Brito Pacheco Figueiredo Leite Antunes Bezerra Braga Neves Torres Conceição Jesus Menezes Magalhães
		Vasconcelos Toledo Rezende Leal Sampaio Paiva Bastos Lacerda Matos Dantas Esteves Franco Garcia Galvão Furtado Drummond
		Evangelista Dourado Damasceno Couto Camargo Caldeira Bittencourt Bernardes Barreto Bandeira Assunção Arruda Amorim Alencar
		Albuquerque Abreu Zanetti Wanderley Werneck Villela Veloso Vargas Valadares Uchoa Trindade Tenório Simões Severo Seixas Salgado
		Rangel Quintanilha Prado Portela Pimentel Pessoa Passos Parente Padilha Novaes Negreiros Muniz Meireles Maranhão Maciel Lustosa
		Linhares Lessa Lemos Lago Kubitschek Junqueira Jardim Imperial Hipólito Holanda Gusmão Guerra Gouveia Godoy Fontes Feitosa
		Espíndola Diniz Cordeiro Cerqueira Cabral Brandão Boaventura Belém Aragão Anjos Alcântara Aleixo Aires`)
	particles = []string{"da", "de", "do", "dos", "das"}
)

// fullName draws a name of three to five words and now and then a particle; common names come often.
func fullName(r *rand.Rand) string {
	words := []string{often(r, givenNames)}
	if r.IntN(2) == 0 {
		words = append(words, often(r, givenNames))
	}
	for range 2 + r.IntN(2) {
		if r.IntN(4) == 0 {
			words = append(words, particles[r.IntN(len(particles))])
		}
		words = append(words, often(r, surnames))
	}
	return strings.Join(words, " ")
}

// often draws from a list, its first ones most: the nth about as often as 1/(n+8).
func often(r *rand.Rand, from []string) string {
	total := 0.0
	for i := range from {
		total += 1 / float64(i+8)
	}
	at := r.Float64() * total
	for i := range from {
		if at -= 1 / float64(i+8); at < 0 {
			return from[i]
		}
	}
	return from[0]
}

// A slip is what people do to a name when they type it.
type slip struct {
	name   string
	recall float64 // wanted of a hundred first pages of ten
	make   func(r *rand.Rand, name string) string
}

var slips = []slip{
	{"as it is written", 1, func(_ *rand.Rand, name string) string { return name }},
	{"one wrong letter", 0.95, wrongLetter},
	{"a wrong first letter", 0.85, wrongFirst},
	{"words swapped", 0.98, swapped},
	{"without accents", 1, func(_ *rand.Rand, name string) string { return plain(name) }},
	{"three letters of each word", 0.95, begun},
}

// wrongLetter replaces one letter that begins no word.
func wrongLetter(r *rand.Rand, name string) string {
	text := []rune(name)
	for {
		i := 1 + r.IntN(len(text)-1)
		if text[i] != ' ' && text[i-1] != ' ' {
			return replaced(r, text, i)
		}
	}
}

// wrongFirst replaces the first letter of the first word.
func wrongFirst(r *rand.Rand, name string) string { return replaced(r, []rune(name), 0) }

// replaced writes another letter at a place.
func replaced(r *rand.Rand, text []rune, i int) string {
	old := []rune(plain(string(text[i])))[0]
	for {
		if c := rune('a' + r.IntN(26)); c != old {
			text[i] = c
			return string(text)
		}
	}
}

func swapped(r *rand.Rand, name string) string {
	words := strings.Fields(name)
	r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return strings.Join(words, " ")
}

// begun keeps three letters of each word, and drops the particles.
func begun(_ *rand.Rand, name string) string {
	var parts []string
	for _, word := range strings.Fields(name) {
		if letters := []rune(word); word[0] >= 'A' && word[0] <= 'Z' || len(word) != len(letters) {
			parts = append(parts, string(letters[:min(3, len(letters))]))
		}
	}
	return strings.Join(parts, " ")
}
