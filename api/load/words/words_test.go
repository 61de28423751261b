package words

import "testing"

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"codigo", "codgio", 1}, {"code", "cod", 1}, {"kitten", "sitting", 3}, {"same", "same", 0}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%s, %s) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestHeading(t *testing.T) {
	for text, want := range map[string]string{
		"LISTA DE ESPERA": "out", "Cancelados": "out", "WAITING LIST": "out", "Não pagos": "out", "Expirados (3)": "out", "AGUARDANDO PAGAMENTO": "out",
		"Inscrições expiradas:": "out", "Pedidos em aberto": "out", "*** EXCLUÍDOS ***": "out", "Refunds": "out", "Orders declined": "out", "Suplentes": "out", "Cadastro de reserva": "out", "Faltam confirmar": "out", "Aguardam pagamento": "out", "Alternates": "out", "Backup list": "out", "Lista suplente": "out",
		"Sem pagamento": "out", "NÃO PAGARAM": "out", "Reservas": "out", "Confirmados": "in", "PAGOS (120)": "in", "Ingressos emitidos": "in", "Attending": "in",
		"Mesa 4": "", "Lote 1": "", "Ana Souza": "", "Lista": "", "": "", "KX7QP2M9": "", "12": "", "Total pago": "", "Reserva de mesas": "", "Adultos": "",
	} {
		out, in := Heading(Plain(text))
		if got := map[[2]bool]string{{true, false}: "out", {false, true}: "in", {false, false}: ""}[[2]bool{out, in}]; got != want {
			t.Errorf("Heading(%s) = %q, want %q", text, got, want)
		}
	}
}

// TestPlainTitle: programs write the words of a title as one.
func TestPlainTitle(t *testing.T) {
	for title, want := range map[string]string{
		"phoneNumber": "phone number", "isActive": "is active", "TicketID": "ticket id", "orderStatus": "order status", "checkedIn": "checked in",
		"WhatsApp": "whatsapp", "FirstName": "firstname", "HomePhone": "homephone", "Order #": "order number", "Nº do Pedido": "n do pedido", "CPF": "cpf",
	} {
		if got := PlainTitle(title); got != want {
			t.Errorf("PlainTitle(%s) = %q, want %q", title, got, want)
		}
	}
}
